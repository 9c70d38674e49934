// A regular file mapped for reading.
#pragma once

#include <attest/dump/error.hpp>

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>

namespace attest::dump {

class Mapping {
  public:
    // Errors: CannotOpen, NotRegularFile (a pipe or device could block or never end), CannotRead.
    static std::expected<std::shared_ptr<const Mapping>, Error> open(const std::string& path);

    Mapping(const void* start, std::size_t size) : start_(start), size_(size) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(start_), size_}; }

  private:
    const void* start_;  // null for an empty file
    std::size_t size_;
};

}  // namespace attest::dump
