// TensorView: where an array lies and how it is walked. Never owns.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>

#include "biowarp/types.h"

namespace biowarp {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

struct TensorView {
  static constexpr int kMaxRank = 5;

  void* data = nullptr;
  DType dtype = DType::f32;
  Device device;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> size{};    // elements along each axis
  std::array<std::int64_t, kMaxRank> stride{};  // elements between neighbours along each axis

  // Row-major view of `data`.
  static TensorView contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> sizes, Device device = {}) {
    assert(sizes.size() <= kMaxRank);
    TensorView view{data, dtype, device, static_cast<int>(sizes.size()), {}, {}};
    int axis = 0;
    for (const std::int64_t n : sizes) view.size[axis++] = n;
    std::int64_t step = 1;
    for (axis = view.rank - 1; axis >= 0; --axis) {
      view.stride[axis] = step;
      step *= view.size[axis];
    }
    return view;
  }

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (int axis = 0; axis < rank; ++axis) n *= size[axis];
    return n;
  }

  // Rows [first, first + count) of the outermost axis.
  TensorView rows(std::int64_t first, std::int64_t count) const {
    assert(rank > 0 && first >= 0 && first + count <= size[0]);
    TensorView part = *this;
    part.data = static_cast<char*>(data) + first * stride[0] * static_cast<std::int64_t>(size_of(dtype));
    part.size[0] = count;
    return part;
  }

  template <class T>
  T* as() const {
    assert(sizeof(T) == size_of(dtype));
    return static_cast<T*>(data);
  }
};

}  // namespace biowarp
