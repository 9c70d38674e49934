// A problem made ready for wrong kernels: its operands, and what each wrong kernel makes of them.
//
// The kernels run in long double, a hundred times as fast as in fifty digits. WrongKernels runs the right one
// beside them: where that strays from the exact answer by more than a small part of what is allowed, it takes
// a scene in Real instead.
#pragma once

#include <attest/reference/bank.hpp>
#include <attest/reference/exact.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace attest::reference {

// Sink takes the elements of one answer, in whatever order they are formed.
class Sink {
  public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    virtual void see(std::size_t index, const Exact& value) = 0;
    // Whether further elements would change nothing.
    virtual bool settled() const { return false; }
};

// Part is the answer asked for.
enum class Part : std::uint8_t { y, keys, values, weights };

class Scene {
  public:
    Scene() = default;
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;
    virtual ~Scene() = default;

    // play runs a kernel, the right one without `wrong`, over all rows from the last. It returns false where
    // the kernel can't be formed.
    virtual bool play(std::optional<Wrong> wrong, Part part, Sink& sink) const = 0;
};

enum class Digits : std::uint8_t { long_double, fifty };

[[nodiscard]] std::unique_ptr<Scene> scene_of(const Layer& layer, const LayerOptions& options, Digits digits);
[[nodiscard]] std::unique_ptr<Scene> scene_of(const Core& core, double bias_lowest,
                                              const CoreOptions& options, Digits digits);
[[nodiscard]] std::unique_ptr<Scene> scene_of(const Rotary& rotary);

}  // namespace attest::reference
