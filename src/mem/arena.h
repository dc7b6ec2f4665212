// One block of memory per purpose, filled by name and size while planning.
//
//   ArenaLayout layout;
//   const Slot hidden = layout.book("hidden", rows * width * 4);
//   HostArena arena(layout);              // one allocation, 64-byte aligned slots
//   float* p = arena.at<float>(hidden);
//
// Slots do not overlap and live as long as the arena. table() prints what was booked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace biowarp {

struct Slot {
  std::int64_t offset = -1;
  std::int64_t bytes = 0;
};

class ArenaLayout {
 public:
  static constexpr std::int64_t kAlignment = 64;

  // bytes >= 0. The name is for people; it need not be unique.
  Slot book(std::string name, std::int64_t bytes);
  std::int64_t bytes() const noexcept { return end_; }
  // One line per slot: name and MiB, then the sum.
  std::string table() const;

 private:
  struct Row {
    std::string name;
    std::int64_t bytes;
  };
  std::vector<Row> rows_;
  std::int64_t end_ = 0;
};

struct ArenaUnmap {
  std::int64_t bytes = 0;
  void operator()(std::byte* block) const;
};

// `copies` blocks of the same layout, side by side (one per worker). Pages are touched on first use only.
// BIOWARP_POISON=1 fills new arenas with 0xff bytes (a NaN in every floating type), so that a read of what was never
// written shows.
class HostArena {
 public:
  HostArena() = default;
  explicit HostArena(const ArenaLayout& layout, int copies = 1);

  template <class T>
  T* at(Slot slot, int copy = 0) const {
    return reinterpret_cast<T*>(block_.get() + copy * stride_ + slot.offset);
  }
  std::int64_t bytes() const noexcept { return bytes_; }
  // Bytes of each copy, at least what its layout booked.
  std::int64_t copy_bytes() const noexcept { return stride_; }

 private:
  std::unique_ptr<std::byte, ArenaUnmap> block_;
  std::int64_t stride_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace biowarp
