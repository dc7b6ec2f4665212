#include "mem/slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "base/fail.h"

namespace biowarp {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
constexpr std::int64_t kSlab = std::int64_t{32} << 20;
constexpr std::int64_t kAlign = 64;

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// A block of `bytes` (a multiple of kHugePage) that begins at a huge page.
std::shared_ptr<std::byte> map_huge(std::int64_t bytes) {
  const auto mapped = static_cast<std::size_t>(bytes + kHugePage);
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    fail(ErrorKind::device, "expected {} MiB of memory for weights, the system refused", bytes >> 20);
  const auto begin = round_up(reinterpret_cast<std::intptr_t>(address), kHugePage);
  madvise(reinterpret_cast<void*>(begin), static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return {reinterpret_cast<std::byte*>(begin), [address, mapped](std::byte*) { munmap(address, mapped); }};
}

}  // namespace

SlabBlock::SlabBlock(std::int64_t bytes) : bytes_(bytes) {
  static std::mutex lock;
  static std::weak_ptr<std::byte> current;  // the slab being filled
  static std::int64_t size = 0, used = 0;

  const std::int64_t wanted = round_up(std::max<std::int64_t>(bytes, 1), kAlign);
  const std::lock_guard guard(lock);
  std::shared_ptr<std::byte> slab = current.lock();
  if (!slab || used + wanted > size) {
    size = std::max(round_up(wanted, kHugePage), kSlab);
    slab = map_huge(size);
    current = slab;
    used = 0;
  }
  data_ = {slab, slab.get() + used};
  used += wanted;
}

}  // namespace biowarp
