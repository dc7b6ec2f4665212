// Memory for packed weights: large blocks backed by huge pages, shared by neighbouring allocations.
//
// Matrix products stream weights from end to end; with 4 KiB pages each page costs a walk and stops the prefetcher.
// A slab is freed with the last allocation in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace biowarp {

// 64-byte aligned, uninitialised. Thread safe.
class SlabBlock {
 public:
  SlabBlock() = default;
  explicit SlabBlock(std::int64_t bytes);

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<std::byte> data_;  // shares ownership of its slab
  std::int64_t bytes_ = 0;
};

}  // namespace biowarp
