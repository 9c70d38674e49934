// What the raw-byte drivers share for their mutators.
#pragma once

#include <cstddef>
#include <cstdint>

// libFuzzer's own mutation of bytes. Weak, because an engine that only runs given files has none; no engine
// calls a custom mutator without it.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t bytes,
                                                      std::size_t bytes_max);
