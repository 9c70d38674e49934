#include "npy_header.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attest::dump {

namespace {

using Done = std::expected<void, Error>;

std::unexpected<Error> refuse(ErrorCode code, std::string reason) {
    return std::unexpected(Error{code, {}, {}, std::move(reason)});
}
std::unexpected<Error> malformed(std::string reason) {
    return refuse(ErrorCode::InvalidNpyHeader, std::move(reason));
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Reads the few literals that the dictionary may hold.
class Literals {
  public:
    explicit Literals(std::string_view text) : rest_(text) {}

    char peek() {
        const auto start = rest_.find_first_not_of(" \n\t\r");
        rest_.remove_prefix(std::min(start, rest_.size()));
        return rest_.empty() ? '\0' : rest_.front();
    }
    bool take(std::string_view token) {
        peek();
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    bool at_end() { return peek() == '\0' && rest_.empty(); }

    // In either kind of quotes; an escape is more than any name here needs.
    std::optional<std::string_view> string() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') return std::nullopt;
        const auto stop = rest_.find(quote, 1);
        if (stop == std::string_view::npos) return std::nullopt;
        const auto text = rest_.substr(1, stop - 1);
        if (text.find('\\') != std::string_view::npos) return std::nullopt;
        rest_.remove_prefix(stop + 1);
        return text;
    }

    // Decimal, 64 bits; Python 2 wrote an L behind long ones.
    std::optional<std::uint64_t> count() {
        if (!is_digit(peek())) return std::nullopt;
        std::uint64_t value = 0;
        std::size_t digits = 0;
        for (; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
            const auto digit = static_cast<std::uint64_t>(rest_[digits] - '0');
            if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
            value = value * 10 + digit;
        }
        if (digits > 1 && rest_.front() == '0') return std::nullopt;
        rest_.remove_prefix(digits);
        if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);
        return value;
    }

  private:
    std::string_view rest_;
};

std::optional<std::uint64_t> parse_size(std::string_view text) {
    // Between literals white space is nothing; inside a type's name it is no size.
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    Literals literals(text);
    const auto size = literals.count();
    if (!size || !literals.at_end() || text.back() == 'L') return std::nullopt;
    return size;
}

struct Kind {
    std::string_view name;  // kind and size behind the byte order
    Dtype dtype;
};
constexpr auto kKinds = std::to_array<Kind>({
    {"b1", Dtype::BOOL},
    {"i1", Dtype::I8},
    {"i2", Dtype::I16},
    {"i4", Dtype::I32},
    {"i8", Dtype::I64},
    {"u1", Dtype::U8},
    {"u2", Dtype::U16},
    {"u4", Dtype::U32},
    {"u8", Dtype::U64},
    {"f2", Dtype::F16},
    {"f4", Dtype::F32},
    {"f8", Dtype::F64},
});

// '<f8', '|b1', '>U12' …
Done parse_descr(std::string_view descr, NpyHeader& header) {
    const std::string quoted = "descr '" + std::string(descr) + "'";
    if (descr.size() < 2) return refuse(ErrorCode::UnknownDtype, quoted);
    const char order = descr.front();
    const auto kind = descr.substr(1);
    if (order != '<' && order != '>' && order != '|')
        return refuse(ErrorCode::UnknownDtype, quoted + " names no byte order");
    header.big_endian = order == '>';
    if (kind.front() == 'O') return refuse(ErrorCode::ObjectArray, "pickled objects are never run");
    const auto found =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& one) { return one.name == kind; });
    if (found != kKinds.end()) {
        header.dtype = found->dtype;
        header.item_size = size_of(found->dtype);
        if (order == '|' && header.item_size > 1)
            return refuse(ErrorCode::UnknownDtype, quoted + " names no byte order");
        return {};
    }
    const auto size = parse_size(kind.substr(1));
    if (!size) return refuse(ErrorCode::UnknownDtype, quoted);
    if (kind.front() != 'S' && kind.front() != 'U') {
        const bool known = std::string_view("biufcmMVa").find(kind.front()) != std::string_view::npos;
        return refuse(known ? ErrorCode::UnsupportedDtype : ErrorCode::UnknownDtype, quoted);
    }
    header.text_width = kind.front() == 'S' ? 1 : 4;
    if (*size > UINT64_MAX / 4) return refuse(ErrorCode::UnknownDtype, quoted);
    header.item_size = *size * header.text_width;
    return {};
}

// (), (3,), (3, 4): a tuple, so one size needs its comma.
Done parse_shape(Literals& literals, std::vector<std::uint64_t>& shape) {
    if (!literals.take("(")) return malformed("shape is no tuple");
    bool comma = true;
    while (!literals.take(")")) {
        if (!comma) return malformed("no comma between sizes");
        const auto size = literals.count();
        if (!size) return malformed("shape holds something else than a size of 64 bits");
        if (shape.size() == kMaxDimensions)
            return refuse(ErrorCode::TooManyDimensions,
                          "more than " + std::to_string(kMaxDimensions) + " dimensions");
        shape.push_back(*size);
        comma = literals.take(",");
    }
    if (shape.size() == 1 && !comma) return malformed("shape is a number in brackets, no tuple");
    return {};
}

struct Seen {
    bool descr = false;
    bool fortran = false;
    bool shape = false;
};

Done parse_value(std::string_view key, Literals& literals, NpyHeader& header, Seen& seen) {
    const auto again = [&](bool& once) { return std::exchange(once, true); };
    if (key == "descr") {
        if (again(seen.descr)) return malformed("descr stands twice");
        if (literals.peek() == '[' || literals.peek() == '(')
            return refuse(ErrorCode::StructuredArray, "elements with fields are not read");
        const auto descr = literals.string();
        return descr ? parse_descr(*descr, header) : malformed("descr is no text");
    }
    if (key == "fortran_order") {
        if (again(seen.fortran)) return malformed("fortran_order stands twice");
        header.fortran = literals.take("True");
        return header.fortran || literals.take("False")
                   ? Done{}
                   : malformed("fortran_order is neither True nor False");
    }
    if (key == "shape") {
        if (again(seen.shape)) return malformed("shape stands twice");
        return parse_shape(literals, header.shape);
    }
    return malformed("unknown key '" + std::string(key) + "'");
}

}  // namespace

std::expected<NpyHeader, Error> parse_npy_header(std::string_view text) {
    Literals literals(text);
    NpyHeader header;
    Seen seen;
    if (!literals.take("{")) return malformed("no dictionary");
    bool comma = true;
    while (!literals.take("}")) {
        if (!comma) return malformed("no comma between entries");
        const auto key = literals.string();
        if (!key) return malformed("a key that is no text");
        if (!literals.take(":")) return malformed("no colon behind a key");
        if (auto done = parse_value(*key, literals, header, seen); !done)
            return std::unexpected(done.error());
        comma = literals.take(",");
    }
    if (!literals.at_end()) return malformed("more than a dictionary");
    if (!seen.descr || !seen.fortran || !seen.shape)
        return malformed("descr, fortran_order and shape must all be there");
    return header;
}

}  // namespace attest::dump
