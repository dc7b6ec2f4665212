// numpy arrays that take over a std::vector: no element is copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace biowarp::python {

// An array of `shape` over the elements of `values`, which lives as long as the array. Needs the GIL.
template <class T>
nanobind::ndarray<nanobind::numpy, T> to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  if (owned->empty()) {
    owned->reserve(1);  // an array without elements still needs an address
  }
  T* data = owned->data();
  nanobind::capsule owner(owned.get(), [](void* vector) noexcept { delete static_cast<std::vector<T>*>(vector); });
  owned.release();
  return nanobind::ndarray<nanobind::numpy, T>(data, shape.size(), shape.begin(), owner);
}

}  // namespace biowarp::python
