#include "exact.hpp"

namespace attest::reference {

std::string digits_of(const Exact& exact) {
    return real_of<Real>(exact).str(30);
}

}  // namespace attest::reference
