#include <attest/case/number.hpp>
#include <attest/case/print.hpp>
#include <attest/case/words.hpp>

#include "defaults.hpp"

#include <bit>
#include <string_view>

namespace attest::cases {

namespace {

class Printer {
  public:
    Printer& key(std::string_view name) {
        out_ += name;
        out_ += " =";
        return *this;
    }
    Printer& word(std::string_view text) {
        if (!out_.empty() && out_.back() != '\n') out_ += ' ';
        out_ += text;
        return *this;
    }
    Printer& count(std::uint64_t value) { return word(std::to_string(value)); }
    Printer& maybe(std::string_view name, const std::optional<std::uint64_t>& value) {
        return value ? word(name).count(*value) : *this;
    }
    void end() { out_ += '\n'; }
    Printer& step(const Step& step);
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

Printer& Printer::step(const Step& step) {
    const Form form = form_of(step.verb);
    word(to_text(step.verb));
    if (form.count == CountUse::required || (form.count == CountUse::optional && step.count != 0))
        count(step.count);
    if (form.tensor) word(to_text(step.tensor));
    if (form.variant) word(to_text(step.variant));
    maybe("rank", step.rank).maybe("rows", step.rows).maybe("batch", step.batch).maybe("width", step.width);
    if (!step.expect.empty()) word("expect").word(step.expect);
    return *this;
}

std::string place_of(const Set& set) {
    std::string out(to_text(set.tensor));
    if (is_family(set.tensor)) out.append(".").append(to_text(set.of));
    out += "[" + std::to_string(set.index[0]) + "," + std::to_string(set.index[1]);
    if (set.tensor == Tensor::x) out += "," + std::to_string(set.index[2]);
    return out + "]";
}

}  // namespace

std::string print(const Step& step) {
    return Printer{}.step(step).take();
}

std::string print(const Case& one) {
    Printer out;
    for (const std::string& comment : one.comments) {
        out.word("#");
        if (!comment.empty()) out.word(comment);
        out.end();
    }
    out.key("law").word(one.law).end();
    out.key("type").word(to_text(one.type)).end();
    if (one.storage != KvStorage::computing) out.key("storage").word(to_text(one.storage)).end();
    out.key("batch").count(one.batch).end();
    out.key("width").count(one.width).end();
    out.key("heads").count(one.heads).end();
    out.key("kv_heads").count(one.kv_heads).end();
    if (one.head_width != default_head_width(one)) out.key("head_width").count(one.head_width).end();
    out.key("rope").word(to_text(one.rope.pairs)).word("width").count(one.rope.width).word("base");
    out.word(print_number(std::bit_cast<std::uint64_t>(one.rope.base), ElementType::float64));
    out.word("positions").count(one.rope.positions).word("first").count(one.rope.first).end();
    out.key("capacity").count(one.capacity).end();
    if (!one.expect.empty()) out.key("expect").word(one.expect).end();
    out.key("values").word(to_text(one.values.filling)).word("seed").count(one.values.seed).end();
    for (const Fill& fill : one.fills)
        out.key("fill").word(to_text(fill.tensor)).word(to_text(fill.filling)).maybe("seed", fill.seed).end();
    for (const Set& set : one.sets)
        out.key("set").word(place_of(set)).word(print_number(set.bits, one.type)).end();
    for (const Step& step : one.steps)
        out.key("step").step(step).end();
    return out.take();
}

}  // namespace attest::cases
