// Hand an attention result to attest-reference from C++: dump OUT.safetensors [--wrong]
//
// One prefill of causal attention in float, as a kernel under test would have run it. Put your own kernel in
// place of `attention`, keep the shapes, and check the file:
//
//     attest-reference check OUT.safetensors          # exit 0: right, 1: wrong, 2: unusable
//
// --wrong lets every row see one key past its own, which the check names.
#include <attest/dump/safetensors.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kHeads = 2, kRows = 12, kWidth = 8;

// Some inputs: a multiplicative generator, numbers in [−1, 1).
std::vector<float> numbers(std::uint32_t seed) {
    std::vector<float> values(kHeads * kRows * kWidth);
    for (float& value : values) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31F;
    }
    return values;
}

// [heads, rows, width] in C order, all three; row i sees keys 0 … i + ahead.
std::vector<float> attention(const std::vector<float>& q, const std::vector<float>& k,
                             const std::vector<float>& v, std::size_t ahead) {
    std::vector<float> y(q.size());
    for (std::size_t h = 0; h < kHeads; ++h)
        for (std::size_t i = 0; i < kRows; ++i) {
            const std::size_t seen = std::min(kRows, i + 1 + ahead);
            std::vector<float> weights(seen);
            for (std::size_t j = 0; j < seen; ++j) {
                for (std::size_t f = 0; f < kWidth; ++f)
                    weights[j] += q[(h * kRows + i) * kWidth + f] * k[(h * kRows + j) * kWidth + f];
                weights[j] *= 1 / std::sqrt(static_cast<float>(kWidth));
            }
            const float maximum = *std::max_element(weights.begin(), weights.end());
            float sum = 0;
            for (float& weight : weights)
                sum += weight = std::exp(weight - maximum);
            for (std::size_t j = 0; j < seen; ++j)
                for (std::size_t f = 0; f < kWidth; ++f)
                    y[(h * kRows + i) * kWidth + f] += weights[j] / sum * v[(h * kRows + j) * kWidth + f];
        }
    return y;
}

}  // namespace

int main(int argc, char** argv) {
    const bool wrong = argc == 3 && std::string_view(argv[2]) == "--wrong";
    if (argc != 2 && !wrong) {
        std::fprintf(stderr, "dump OUT.safetensors [--wrong]\n");
        return 2;
    }
    const std::vector<float> q = numbers(1), k = numbers(2), v = numbers(3);
    const std::vector<float> y = attention(q, k, v, wrong ? 1 : 0);

    using attest::dump::make_tensor;
    const std::vector<std::uint64_t> shape{1, kHeads, kRows, kWidth};
    const std::vector<attest::dump::NewTensor> tensors{
        make_tensor("q", shape, std::span(q)), make_tensor("k", shape, std::span(k)),
        make_tensor("v", shape, std::span(v)), make_tensor("y", shape, std::span(y))};
    const attest::dump::File::Metadata metadata{{"attest", "core"},
                                                {"causal", "1"},
                                                {"passes", "two_pass"},
                                                {"source", "reference/examples/dump.cpp"}};
    if (const auto error = attest::dump::write_safetensors(argv[1], tensors, metadata)) {
        std::fprintf(stderr, "%s\n", error->text().c_str());
        return 1;
    }
    return 0;
}
