// The published rules, each as its project writes it. u is the unit roundoff of the answer's type, and the
// projects' eps is 2u.
#include <attest/reference/rules.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace attest::reference {
namespace {

Ruling ruling(bool accepted) {
    return accepted ? Ruling::accepts : Ruling::refuses;
}

double eps_of(const Exhibit& exhibit) {
    return 2 * format_of(exhibit.type).unit;
}

// allclose: each |g − w| ≤ atol + rtol·|w|; NaN and infinity never are.
Ruling allclose(const Exhibit& exhibit, double atol, double rtol) {
    for (std::size_t n = 0; n < exhibit.got.size(); ++n) {
        const double g = exhibit.got[n], w = exhibit.want[n];
        if (!(std::fabs(g - w) <= atol + rtol * std::fabs(w))) return Ruling::refuses;
    }
    return Ruling::accepts;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
    double largest = 0;
    for (std::size_t n = 0; n < a.size(); ++n) {
        const double difference = std::fabs(a[n] - b[n]);
        if (!(difference <= largest)) largest = difference;
    }
    return largest;
}

// ggml tests/test-backend-ops.cpp, nmse and max_nmse_err: 5e-4 for flash attention and matrix products, 1e-6
// for softmax, 1e-7 for the rest. A NaN is refused before.
Ruling ggml(const Exhibit& exhibit) {
    double difference = 0, size = 0;
    for (std::size_t n = 0; n < exhibit.got.size(); ++n) {
        const double off = exhibit.got[n] - exhibit.want[n];
        difference += off * off;
        size += exhibit.want[n] * exhibit.want[n];
    }
    if (std::isnan(difference)) return Ruling::refuses;
    if (difference == 0) return Ruling::accepts;
    const double most = exhibit.is_attention ? 5e-4 : (exhibit.is_weights ? 1e-6 : 1e-7);
    return ruling(difference / size <= most);
}

// vLLM tests/kernels/attention: torch.testing.assert_close(output, ref_output, atol=1.5e-2, rtol=1e-2).
Ruling vllm(const Exhibit& exhibit) {
    return allclose(exhibit, 1.5e-2, 1e-2);
}

// flashinfer tests/attention: torch.testing.assert_close(o, o_ref, rtol=1e-3, atol=1e-3), 109 times.
Ruling flashinfer(const Exhibit& exhibit) {
    return allclose(exhibit, 1e-3, 1e-3);
}

// ONNX Runtime test_gqa.py, on inputs of 0.2 × normal: fp16 rtol = atol = 5e-3.
Ruling onnx_runtime_fp16(const Exhibit& exhibit) {
    return allclose(exhibit, 5e-3, 5e-3);
}

// The same, bf16: atol = 1e-2, rtol = 5e-2.
Ruling onnx_runtime_bf16(const Exhibit& exhibit) {
    return allclose(exhibit, 1e-2, 5e-2);
}

// ONNX backend test runner: numpy.testing.assert_allclose(actual, desired, rtol=1e-3, atol=1e-7).
Ruling onnx(const Exhibit& exhibit) {
    return allclose(exhibit, 1e-7, 1e-3);
}

// benchdnn tests/benchdnn/sdpa: each element's relative difference (absolute below |w| = 1e-5) is at most
// 8·(1 + keys)·eps, or its absolute one at most eps·Σ_j p_j |v_j|.
Ruling benchdnn(const Exhibit& exhibit) {
    if (exhibit.facts == nullptr) return Ruling::not_applicable;
    const double eps = eps_of(exhibit);
    const double threshold = 8 * (1 + static_cast<double>(exhibit.facts->keys)) * eps;
    for (std::size_t n = 0; n < exhibit.got.size(); ++n) {
        const double w = std::fabs(exhibit.want[n]);
        const double difference = std::fabs(exhibit.got[n] - exhibit.want[n]);
        const double relative = w > 1e-5 ? difference / w : difference;
        if (!(relative <= threshold || difference <= eps * exhibit.facts->magnitude[n]))
            return Ruling::refuses;
    }
    return Ruling::accepts;
}

// hipDNN DynamicTolerancesSdpa.hpp: γ(n) = ν/(1 − ν) for ν = 2n·eps below 0.01, else 6·√(2n)·eps.
double hipdnn_gamma(double n, double eps) {
    const double nu = 2 * n * eps;
    return nu < 0.01 ? nu / (1 - nu) : 6 * std::sqrt(2 * n) * eps;
}

// hipDNN DynamicTolerancesSdpa.hpp: each |g − w| ≤ max|V|·(γ(d)·d·MQ·MK·σ + d·MQ·MK·σ·eps + 2γ(S) +
// (S + 1)·eps), MQ and MK the largest magnitudes of q and k.
Ruling hipdnn(const Exhibit& exhibit) {
    if (exhibit.facts == nullptr) return Ruling::not_applicable;
    const AttentionFacts& facts = *exhibit.facts;
    const double eps = eps_of(exhibit);
    const auto d = static_cast<double>(facts.width), keys = static_cast<double>(facts.keys);
    const double score = d * facts.largest_q * facts.largest_k * std::fabs(facts.scale);
    const double most = facts.largest_v * (hipdnn_gamma(d, eps) * score + score * eps +
                                           2 * hipdnn_gamma(keys, eps) + (keys + 1) * eps);
    return ruling(largest_difference(exhibit.got, exhibit.want) <= most);
}

// flash-attention tests/test_flash_attn.py, test_flash_attn_output: max|g − w| ≤ 2·max|plain − w|, plain
// being attention_ref(upcast=False, reorder_ops=True), in the answer's own precision.
Ruling flash_attention(const Exhibit& exhibit) {
    if (exhibit.facts == nullptr) return Ruling::not_applicable;
    return ruling(largest_difference(exhibit.got, exhibit.want) <=
                  2 * largest_difference(exhibit.facts->plain, exhibit.want));
}

// The same file, test_flash_attn_kvcache: 3 times (5 with ALiBi), and 1e-5 more.
Ruling flash_attention_cached(const Exhibit& exhibit) {
    if (exhibit.facts == nullptr) return Ruling::not_applicable;
    return ruling(largest_difference(exhibit.got, exhibit.want) <=
                  3 * largest_difference(exhibit.facts->plain, exhibit.want) + 1e-5);
}

constexpr std::array kRules{
    Rule{"ggml", "ggml tests/test-backend-ops.cpp",
         "Σ(g−w)² / Σw² ≤ 5e-4 (attention), 1e-6 (softmax), 1e-7 (rest)", ggml},
    Rule{"vLLM", "vllm tests/kernels/attention", "each |g−w| ≤ 1.5e-2 + 1e-2 |w|", vllm},
    Rule{"flashinfer", "flashinfer tests/attention", "each |g−w| ≤ 1e-3 + 1e-3 |w|", flashinfer},
    Rule{"ORT fp16", "onnxruntime test_gqa.py", "each |g−w| ≤ 5e-3 + 5e-3 |w|", onnx_runtime_fp16},
    Rule{"ORT bf16", "onnxruntime test_gqa.py", "each |g−w| ≤ 1e-2 + 5e-2 |w|", onnx_runtime_bf16},
    Rule{"ONNX", "onnx backend test runner", "each |g−w| ≤ 1e-7 + 1e-3 |w|", onnx},
    Rule{"benchdnn", "oneDNN tests/benchdnn/sdpa",
         "each relative difference ≤ 8 (1 + keys) eps, or |g−w| ≤ eps Σ p|v|", benchdnn},
    Rule{"hipDNN", "hipDNN DynamicTolerancesSdpa.hpp",
         "each |g−w| ≤ max|V| (γ(d) d MQ MK σ + d MQ MK σ eps + 2 γ(S) + (S+1) eps)", hipdnn},
    Rule{"flash", "flash-attention tests/test_flash_attn.py", "max|g−w| ≤ 2 max|plain attention − w|",
         flash_attention},
    Rule{"flash cache", "flash-attention tests/test_flash_attn.py",
         "max|g−w| ≤ 3 max|plain attention − w| + 1e-5", flash_attention_cached},
};

}  // namespace

std::span<const Rule> published_rules() noexcept {
    return kRules;
}

Ruling ours(const Judged& judged, std::span<const Exact> got) {
    const auto wide = [](double x) { return static_cast<long double>(x); };
    bool bounded = true;
    for (std::size_t n = 0; n < got.size(); ++n) {
        if (!std::isfinite(judged.allowed[n])) {
            bounded = false;
        } else if (!(std::fabs((wide(got[n].head) - wide(judged.exact[n].head)) +
                               (wide(got[n].tail) - wide(judged.exact[n].tail))) <=
                     wide(judged.allowed[n]))) {
            return Ruling::refuses;
        }
    }
    return bounded ? Ruling::accepts : Ruling::not_applicable;
}

}  // namespace attest::reference
