// Whether bytes are UTF-8 as Unicode defines it: no overlong form, no surrogate, nothing beyond U+10FFFF.
#pragma once

#include <string_view>

namespace attest::dump {

bool is_utf8(std::string_view text);

}  // namespace attest::dump
