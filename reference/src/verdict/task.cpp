// A dump understood: DUMP kinds layer, core and rotary.
#include "verdict/metadata.hpp"

#include <attest/reference/verdict.hpp>

#include <set>
#include <utility>

namespace attest::reference {
namespace {

using Shape = std::vector<std::size_t>;
template <class T>
using Maybe = std::expected<T, Error>;

std::string text_of(const Shape& shape) {
    std::string text = "[";
    for (const std::size_t extent : shape) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(extent);
    }
    return text + "]";
}

// Tensors hands out a dump's tensors by name, their elements as doubles it keeps.
class Tensors {
  public:
    explicit Tensors(const dump::File& file) : file_(file) {}

    bool has(const std::string& name) const { return file_.find(name) != nullptr; }

    // shape_of gives the shape of a tensor that must be there, of the given rank.
    Maybe<Shape> shape_of(const std::string& name, std::size_t rank) {
        const dump::Tensor* const tensor = file_.find(name);
        asked_.insert(name);
        if (tensor == nullptr)
            return std::unexpected(
                Error{Error::Code::missing_tensor, name, "the dump does not hold this tensor"});
        const Shape shape(tensor->shape().begin(), tensor->shape().end());
        if (shape.size() != rank)
            return std::unexpected(Error{
                Error::Code::shape_mismatch, name,
                "has " + std::to_string(shape.size()) + " dimensions, expected " + std::to_string(rank)});
        return shape;
    }

    // numbers gives the elements of a tensor of floats whose shape must be `shape`.
    Maybe<std::span<const double>> numbers(const std::string& name, const Shape& shape) {
        auto tensor = look(name, &shape);
        if (!tensor) return std::unexpected(tensor.error());
        if (!dump::is_float((*tensor)->dtype()))
            return std::unexpected(wrong_type(name, (*tensor)->dtype(), "F64, F32, F16 or BF16"));
        return keep(name, **tensor);
    }

    // booleans gives a BOOL tensor of any shape as 0 and 1.
    Maybe<Broadcast> broadcast(const std::string& name, bool of_booleans) {
        auto tensor = look(name, nullptr);
        if (!tensor) return std::unexpected(tensor.error());
        const bool good =
            of_booleans ? (*tensor)->dtype() == dump::Dtype::BOOL : dump::is_float((*tensor)->dtype());
        if (!good)
            return std::unexpected(
                wrong_type(name, (*tensor)->dtype(), of_booleans ? "BOOL" : "F64, F32, F16 or BF16"));
        return Broadcast{.shape = Shape((*tensor)->shape().begin(), (*tensor)->shape().end()),
                         .values = keep(name, **tensor)};
    }

    Maybe<std::vector<std::int64_t>> integers(const std::string& name, const Shape& shape) {
        auto tensor = look(name, &shape);
        if (!tensor) return std::unexpected(tensor.error());
        const dump::Dtype dtype = (*tensor)->dtype();
        if (dtype != dump::Dtype::I64 && dtype != dump::Dtype::I32)
            return std::unexpected(wrong_type(name, dtype, "I64 or I32"));
        std::vector<std::int64_t> values;
        for (std::uint64_t n = 0; n < (*tensor)->count(); ++n)
            values.push_back(*(*tensor)->integer(n));
        return values;
    }

    // type_of gives the number type of a tensor of floats that is there.
    Number type_of(const std::string& name) const {
        switch (file_.find(name)->dtype()) {
            case dump::Dtype::F32:
                return Number::f32;
            case dump::Dtype::F16:
                return Number::f16;
            case dump::Dtype::BF16:
                return Number::bf16;
            default:
                return Number::f64;
        }
    }

    // answer adds a tensor to the answers if the dump holds it.
    std::optional<Error> answer(const std::string& name, const Shape& shape, std::vector<Answer>& answers) {
        if (!has(name)) return std::nullopt;
        const auto values = numbers(name, shape);
        if (!values) return values.error();
        answers.push_back({name, std::move(kept_.at(name)), type_of(name)});
        kept_.erase(name);
        return std::nullopt;
    }

    std::optional<Error> unknown(const Metadata& metadata) const {
        for (const dump::Tensor& tensor : file_.tensors())
            if (!asked_.contains(tensor.name()) && !metadata.told(tensor.name()))
                return Error{Error::Code::unknown_tensor, tensor.name(),
                             "no such tensor for this kind of dump"};
        return std::nullopt;
    }

    std::map<std::string, std::vector<double>> take() { return std::move(kept_); }

  private:
    static Error wrong_type(const std::string& name, dump::Dtype dtype, const std::string& expected) {
        return {Error::Code::type_mismatch, name,
                "holds " + std::string(dump::to_text(dtype)) + ", expected " + expected};
    }

    Maybe<const dump::Tensor*> look(const std::string& name, const Shape* shape) {
        const dump::Tensor* const tensor = file_.find(name);
        asked_.insert(name);
        if (tensor == nullptr)
            return std::unexpected(
                Error{Error::Code::missing_tensor, name, "the dump does not hold this tensor"});
        const Shape held(tensor->shape().begin(), tensor->shape().end());
        if (shape != nullptr && held != *shape)
            return std::unexpected(Error{Error::Code::shape_mismatch, name,
                                         "has shape " + text_of(held) + ", expected " + text_of(*shape)});
        return tensor;
    }

    std::span<const double> keep(const std::string& name, const dump::Tensor& tensor) {
        return kept_[name] = tensor.numbers();
    }

    const dump::File& file_;
    std::set<std::string> asked_;
    std::map<std::string, std::vector<double>> kept_;
};

// A problem and its answers, before the arithmetic is known.
struct Understood {
    Task::Problem problem;
    std::vector<Answer> answers;
    Number input_type = Number::f64;  // the answer's type where there is no answer
};

// rope_in reads the keys of a rotation. `by_angles`: the base is needed.
Maybe<Rope> rope_in(Metadata& metadata, bool by_angles) {
    Rope rope;
    const auto width = metadata.count("rope_width");
    if (!width) return std::unexpected(width.error());
    if (!*width) return std::unexpected(Metadata::missing("rope_width"));
    rope.width = **width;
    const auto base = metadata.number("rope_base");
    if (!base) return std::unexpected(base.error());
    if (*base) rope.base = **base;
    if (!*base && by_angles && rope.width != 0) return std::unexpected(Metadata::missing("rope_base"));
    if (const auto pairs = metadata.text("rope_pairs")) {
        if (*pairs == "half") {
            rope.pairs = RopePairs::half;
        } else if (*pairs != "interleaved") {
            return std::unexpected(Metadata::bad("rope_pairs", *pairs, "interleaved or half"));
        }
    } else if (rope.width != 0) {
        return std::unexpected(Metadata::missing("rope_pairs"));
    }
    return rope;
}

Maybe<Understood> understand_layer(Metadata& metadata, Tensors& tensors) {
    Layer layer;
    const auto heads = metadata.count("heads"), kv_heads = metadata.count("kv_heads");
    if (!heads) return std::unexpected(heads.error());
    if (!kv_heads) return std::unexpected(kv_heads.error());
    if (!*heads) return std::unexpected(Metadata::missing("heads"));
    if (**heads == 0) return std::unexpected(Metadata::bad("heads", "0", "at least one"));
    layer.heads = **heads;
    layer.kv_heads = kv_heads->value_or(layer.heads);
    const auto rope = rope_in(metadata, true);
    if (!rope) return std::unexpected(rope.error());
    layer.rope = *rope;
    const auto first = metadata.count("first_position"), most = metadata.count("max_positions");
    if (!first) return std::unexpected(first.error());
    if (!most) return std::unexpected(most.error());
    layer.first_position = first->value_or(0);

    const auto x = tensors.shape_of("x", 3);
    if (!x) return std::unexpected(x.error());
    layer.batch = (*x)[0];
    layer.length = (*x)[1];
    layer.width = (*x)[2];
    const auto wq = tensors.shape_of("wq", 2);
    if (!wq) return std::unexpected(wq.error());
    if ((*wq)[0] % layer.heads != 0)
        return std::unexpected(Error{
            Error::Code::shape_mismatch, "wq",
            std::to_string((*wq)[0]) + " rows do not divide into " + std::to_string(layer.heads) + " heads"});
    layer.head_width = (*wq)[0] / layer.heads;
    if (*most && (layer.first_position > **most || layer.length > **most - layer.first_position))
        return std::unexpected(Error{Error::Code::out_of_range, "max_positions",
                                     "is " + std::to_string(**most) +
                                         " positions, from 0 on, and the last one needed is " +
                                         std::to_string(layer.first_position + layer.length - 1)});

    std::size_t kv_features = 0;
    if (__builtin_mul_overflow(layer.kv_heads, layer.head_width, &kv_features))
        return std::unexpected(
            Metadata::bad("kv_heads", std::to_string(layer.kv_heads), "no more than heads"));
    const std::pair<const char*, std::pair<Shape, std::span<const double>*>> inputs[] = {
        {"wq", {{(*wq)[0], layer.width}, &layer.wq}},
        {"wk", {{kv_features, layer.width}, &layer.wk}},
        {"wv", {{kv_features, layer.width}, &layer.wv}},
        {"wo", {{layer.width, (*wq)[0]}, &layer.wo}},
        {"x", {*x, &layer.x}},
    };
    for (const auto& [name, input] : inputs) {
        const auto values = tensors.numbers(name, input.first);
        if (!values) return std::unexpected(values.error());
        *input.second = *values;
    }
    Understood understood{.problem = layer, .answers = {}, .input_type = tensors.type_of("x")};
    const Shape cache{layer.batch, layer.kv_heads, layer.length, layer.head_width};
    const std::pair<const char*, Shape> answers[] = {
        {"y", *x},
        {"keys", cache},
        {"values", cache},
        {"weights", {layer.batch, layer.heads, layer.length, layer.length}},
    };
    for (const auto& [name, shape] : answers)
        if (auto bad = tensors.answer(name, shape, understood.answers)) return std::unexpected(*bad);
    return understood;
}

Maybe<Understood> understand_core(Metadata& metadata, Tensors& tensors) {
    Core core;
    const auto causal = metadata.text("causal");
    if (!causal) return std::unexpected(Metadata::missing("causal"));
    if (*causal != "0" && *causal != "1") return std::unexpected(Metadata::bad("causal", *causal, "0 or 1"));
    core.causal = *causal == "1";
    const auto scale = metadata.number("scale"), softcap = metadata.number("softcap");
    if (!scale) return std::unexpected(scale.error());
    if (!softcap) return std::unexpected(softcap.error());
    core.scale = *scale;
    core.softcap = *softcap;

    const auto q = tensors.shape_of("q", 4), k = tensors.shape_of("k", 4), v = tensors.shape_of("v", 4);
    for (const auto* shape : {&q, &k, &v})
        if (!*shape) return std::unexpected(shape->error());
    core.batch = (*q)[0];
    core.heads = (*q)[1];
    core.length = (*q)[2];
    core.width = (*q)[3];
    core.kv_heads = (*k)[1];
    core.keys = (*k)[2];
    core.value_width = (*v)[3];
    if (tensors.has("past_k") != tensors.has("past_v"))
        return std::unexpected(Error{Error::Code::missing_tensor, tensors.has("past_k") ? "past_v" : "past_k",
                                     "past keys and values come together"});
    if (tensors.has("past_k")) {
        const auto past = tensors.shape_of("past_k", 4);
        if (!past) return std::unexpected(past.error());
        core.past = (*past)[2];
    }
    const std::pair<const char*, std::pair<Shape, std::span<const double>*>> inputs[] = {
        {"q", {*q, &core.q}},
        {"k", {{core.batch, core.kv_heads, core.keys, core.width}, &core.k}},
        {"v", {{core.batch, core.kv_heads, core.keys, core.value_width}, &core.v}},
        {"past_k", {{core.batch, core.kv_heads, core.past, core.width}, &core.past_k}},
        {"past_v", {{core.batch, core.kv_heads, core.past, core.value_width}, &core.past_v}},
    };
    for (const auto& [name, input] : inputs) {
        if (std::string_view(name).starts_with("past") && !tensors.has(name)) continue;
        const auto values = tensors.numbers(name, input.first);
        if (!values) return std::unexpected(values.error());
        *input.second = *values;
    }
    for (const bool is_mask : {true, false}) {
        const char* const name = is_mask ? "mask" : "bias";
        if (!tensors.has(name)) continue;
        auto tensor = tensors.broadcast(name, is_mask);
        if (!tensor) return std::unexpected(tensor.error());
        (is_mask ? core.mask : core.bias) = std::move(*tensor);
        if (!is_mask) core.bias_largest = format_of(tensors.type_of(name)).largest;
    }
    if (tensors.has("kv_lengths")) {
        auto lengths = tensors.integers("kv_lengths", {core.batch});
        if (!lengths) return std::unexpected(lengths.error());
        core.kv_lengths = std::move(*lengths);
    }
    const std::size_t columns = core.past + core.keys;
    const std::pair<const char*, Shape> answers[] = {
        {"y", {core.batch, core.heads, core.length, core.value_width}},
        {"weights", {core.batch, core.heads, core.length, columns}},
        {"present_k", {core.batch, core.kv_heads, columns, core.width}},
        {"present_v", {core.batch, core.kv_heads, columns, core.value_width}},
    };
    Understood understood{.problem = Core{}, .answers = {}, .input_type = tensors.type_of("q")};
    for (const auto& [name, shape] : answers)
        if (auto bad = tensors.answer(name, shape, understood.answers)) return std::unexpected(*bad);
    understood.problem = std::move(core);
    return understood;
}

Maybe<Understood> understand_rotary(Metadata& metadata, Tensors& tensors) {
    Rotary rotary;
    const bool tables = tensors.has("cos") || tensors.has("sin");
    const auto rope = rope_in(metadata, !tables);
    if (!rope) return std::unexpected(rope.error());
    rotary.rope = *rope;
    if (tables && metadata.text("rope_base"))
        return std::unexpected(Error{Error::Code::bad_value, "rope_base", "given beside cos and sin"});
    const auto x = tensors.shape_of("x", 4);
    if (!x) return std::unexpected(x.error());
    rotary.batch = (*x)[0];
    rotary.heads = (*x)[1];
    rotary.length = (*x)[2];
    rotary.width = (*x)[3];
    const auto values = tensors.numbers("x", *x);
    if (!values) return std::unexpected(values.error());
    rotary.x = *values;
    if (tensors.has("positions")) {
        auto positions = tensors.integers("positions", {rotary.batch, rotary.length});
        if (!positions) return std::unexpected(positions.error());
        rotary.positions = std::move(*positions);
    }
    if (tables) {
        // [rows, w/2] is looked up by position, [batch, length, w/2] used as it is.
        const std::size_t pairs = rotary.rope.width / 2;
        const bool looked_up = !tensors.shape_of("cos", 3).has_value();
        Shape shape{rotary.batch, rotary.length, pairs};
        if (looked_up) {
            const auto cosines = tensors.shape_of("cos", 2);
            if (!cosines) return std::unexpected(cosines.error());
            shape = {(*cosines)[0], pairs};
            rotary.table_rows = (*cosines)[0];
        } else if (!rotary.positions.empty()) {
            return std::unexpected(
                Error{Error::Code::bad_value, "positions", "given beside cos and sin by row"});
        }
        const auto cosines = tensors.numbers("cos", shape), sines = tensors.numbers("sin", shape);
        if (!cosines) return std::unexpected(cosines.error());
        if (!sines) return std::unexpected(sines.error());
        rotary.cosines = *cosines;
        rotary.sines = *sines;
    }
    Understood understood{.problem = Rotary{}, .answers = {}, .input_type = tensors.type_of("x")};
    if (auto bad = tensors.answer("y", *x, understood.answers)) return std::unexpected(*bad);
    understood.problem = std::move(rotary);
    return understood;
}

// An extent of 0 lets the others claim any size in a file that holds nothing: such a shape is not walked.
const char* empty_input(const Understood& understood) {
    const Task::Problem& problem = understood.problem;
    if (const auto* layer = std::get_if<Layer>(&problem))
        return layer->batch == 0 || layer->length == 0 ? "x" : nullptr;
    if (const auto* core = std::get_if<Core>(&problem)) {
        if (core->batch == 0 || core->heads == 0 || core->length == 0) return "q";
        // Without a key the width of the values is claimed by the answer alone.
        const bool has_y = !understood.answers.empty() && understood.answers.front().name == "y";
        return core->keys + core->past == 0 && !has_y ? "v" : nullptr;
    }
    const auto& rotary = std::get<Rotary>(problem);
    return rotary.batch == 0 || rotary.heads == 0 || rotary.length == 0 ? "x" : nullptr;
}

}  // namespace

const char* Task::kind() const noexcept {
    constexpr const char* kKinds[] = {"layer", "core", "rotary"};
    return kKinds[problem_.index()];
}

std::expected<Task, Error> task_of(const dump::File& file) {
    Metadata metadata(file);
    Tensors tensors(file);
    const auto kind = metadata.text("attest");
    if (!kind) return std::unexpected(Metadata::missing("attest"));
    Maybe<Understood> understood = std::unexpected(Metadata::bad("attest", *kind, "layer, core or rotary"));
    if (*kind == "layer") understood = understand_layer(metadata, tensors);
    if (*kind == "core") understood = understand_core(metadata, tensors);
    if (*kind == "rotary") understood = understand_rotary(metadata, tensors);
    if (!understood) return std::unexpected(understood.error());
    if (const char* const empty = empty_input(*understood))
        return std::unexpected(
            Error{Error::Code::nothing_to_judge, empty, "a problem without a batch, a head, a row or a key"});
    const Number answer =
        understood->answers.empty() ? understood->input_type : understood->answers.front().type;
    const auto arithmetic = arithmetic_in(metadata, answer);
    if (!arithmetic) return std::unexpected(arithmetic.error());
    if (auto bad = metadata.unknown()) return std::unexpected(*bad);
    if (auto bad = tensors.unknown(metadata)) return std::unexpected(*bad);
    return Task(tensors.take(), std::move(understood->problem), *arithmetic, std::move(understood->answers));
}

}  // namespace attest::reference
