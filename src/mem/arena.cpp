#include "mem/arena.h"

#include <sys/mman.h>

#include <cassert>
#include <cstring>

#include "base/environment.h"
#include "base/fail.h"

namespace biowarp {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Slot ArenaLayout::book(std::string name, std::int64_t bytes) {
  assert(bytes >= 0);
  const Slot slot{end_, bytes};
  end_ += round_up(bytes, kAlignment);
  rows_.push_back({std::move(name), bytes});
  return slot;
}

std::string ArenaLayout::table() const {
  std::string text;
  for (const Row& row : rows_)
    text += fmt::format("{:<28} {:>10.2f} MiB\n", row.name, static_cast<double>(row.bytes) / kMiB);
  return text + fmt::format("{:<28} {:>10.2f} MiB\n", "sum", static_cast<double>(end_) / kMiB);
}

void ArenaUnmap::operator()(std::byte* block) const { munmap(block, static_cast<std::size_t>(bytes)); }

HostArena::HostArena(const ArenaLayout& layout, int copies) {
  constexpr std::int64_t kPage = 4096;
  stride_ = round_up(layout.bytes(), kPage);
  bytes_ = round_up(stride_ * copies + kPage, kPage);  // never zero, so that every arena has an address
  void* block = mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) {
    fail(ErrorKind::device, "expected {:.1f} MiB of memory for working buffers, the system refused\n{}",
         static_cast<double>(bytes_) / kMiB, layout.table());
  }
  madvise(block, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
  block_ = {static_cast<std::byte*>(block), ArenaUnmap{bytes_}};
  if (environment("BIOWARP_POISON") == "1") std::memset(block, 0xff, static_cast<std::size_t>(bytes_));
}

}  // namespace biowarp
