// Arrays that are handed to a foreign subject, with a guard on either side.
#pragma once

#include "attest/case/case.hpp"
#include "attest/properties/subject.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace attest::properties {

// Elements as the other side has them, between guards of 64 elements. Guards, and elements that nobody has
// written, are NaNs of a fixed pattern: who reads them has NaN, and who writes them is seen.
class Elements {
  public:
    // `name` is what the other side knows the array by; it must outlive the array.
    Elements(std::string_view name, cases::ElementType type, std::size_t count);
    Elements(std::string_view name, cases::ElementType type, std::span<const double> values);

    void* data();
    Array read() const;
    // Payloads of NaN survive: conversion instructions would quieten them.
    void put(std::size_t i, double value) { put(narrow_, data(), i, value); }

    // Throw SubjectFault when a guard was written to ("wrote beyond y: element 12 of 12"), or an element of
    // an input is not what it was.
    void check_guards() const;
    void check_unchanged(std::span<const double> values) const;

    // The same for memory of the other side.
    static Array read(cases::ElementType type, const void* from, std::size_t count);
    static void put(cases::ElementType type, void* to, std::size_t i, double value);

  private:
    static void put(bool narrow, void* to, std::size_t i, double value);
    static double get(bool narrow, const void* from, std::size_t i);
    std::size_t size() const { return narrow_ ? sizeof(float) : sizeof(double); }
    // Element i of all, guards included, as a guard.
    void put_pattern(std::byte* to, std::size_t i) const;

    std::string_view name_;
    bool narrow_;
    std::size_t count_;
    std::vector<std::byte> bytes_;
};

}  // namespace attest::properties
