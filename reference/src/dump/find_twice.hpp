// Whether one of many names stands twice.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attest::dump {

// Sorting finds equal names without a hash that a hostile header could make slow.
template <typename Range, typename Name>
std::optional<std::string> find_twice(const Range& range, Name name) {
    std::vector<std::string_view> names;
    names.reserve(range.size());
    for (const auto& one : range)
        names.emplace_back(name(one));
    std::sort(names.begin(), names.end());
    const auto found = std::adjacent_find(names.begin(), names.end());
    if (found == names.end()) return std::nullopt;
    return std::string(*found);
}

}  // namespace attest::dump
