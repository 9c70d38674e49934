// The black box: a file, reserved on disk beforehand, that holds the input which is being run. Whatever ends
// the process (a sanitizer, kill -9, a full disk on which no crash file could be written), the input is there
// afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attest::fuzzing {

// A box file: eight bytes of magic, eight of length (0: nothing runs), then the input. One process at a time
// holds a box, by flock; a box that nobody holds and whose length is not 0 tells of a death.
class Box {
  public:
    Box() = default;
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;
    ~Box();

    // open takes the first box in `folder` (files box.0, box.1 …) that is clean and free. Without one, or
    // without the folder, begin and end do nothing.
    void open(const std::string& folder);

    // begin notes the input; end says that it was survived. Inputs longer than the box are not noted.
    void begin(std::span<const std::uint8_t> input);
    void end();

  private:
    bool take(const std::string& path);

    int descriptor_ = -1;
    std::byte* bytes_ = nullptr;
    std::size_t size_ = 0;
};

inline constexpr char kBoxMagic[9] = "attestbx";
inline constexpr std::size_t kBoxHeaderBytes = 16;

}  // namespace attest::fuzzing
