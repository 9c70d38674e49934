// The tests of kernels that hold every table against the portable one, for both types.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "../src/kernels.hpp"

namespace attest::detail {
namespace {

template <class T>
class EachTable : public testing::Test {
  protected:
    // check(table, portable) for every other table.
    template <class Check>
    void each(Check check) {
        const auto all = available_kernels<T>();
        for (const Kernels<T>* const table : all.subspan(1)) {
            SCOPED_TRACE(std::string(table->name));
            check(*table, *all[0]);
        }
    }
};
using Types = testing::Types<float, double>;

}  // namespace
}  // namespace attest::detail
