// For tests of the ops that follow a matrix product: a product's result, complete or as int8 sums, and a place to run.
#pragma once

#include "base/half.h"
#include "base/testing.h"
#include "mem/context.h"
#include "ops/common/accumulator.h"

namespace biowarp::testing {

// One lane of a pool of its own.
class Lane {
 public:
  Context& operator*() { return context_.lane(0); }

 private:
  ThreadPool pool_{1};
  Context context_{pool_};
};

// [rows, width] with a stride beyond the width; what lies between is NaN, or a large sum.
class Product {
 public:
  Product(std::int64_t rows, std::int64_t width, bool is_int8, std::uint32_t seed = 1, std::int64_t gap = 3)
      : is_int8_(is_int8), stride_(width + gap), f32_(static_cast<std::size_t>(rows * stride_), NAN) {
    i32_.assign(f32_.size(), 1 << 30);
    const auto values = random_floats(rows * width, seed, 2.0f);
    for (std::int64_t i = 0; i < rows * width; ++i) {
      f32_[index(i / width, i % width)] = values[static_cast<std::size_t>(i)];
      i32_[index(i / width, i % width)] = static_cast<std::int32_t>(values[static_cast<std::size_t>(i)] * 20000.0f);
    }
    for (std::int64_t m = 0; m < rows; ++m) {
      row_scale_.push_back(0.01f + 0.003f * static_cast<float>(m % 7));
      row_zero_.push_back(static_cast<float>(m * 37 % 256));
    }
    column_scale_ = random_floats(width, seed + 1, 0.002f);
    bias_ = random_floats(width, seed + 2);
    for (const float value : random_floats(width, seed + 3, 100.0f)) column_sum_.push_back(std::nearbyint(value));
  }

  Accumulator accumulator() const {
    if (!is_int8_) return {f32_.data(), stride_, false, {}};
    return {i32_.data(),
            stride_,
            true,
            {row_scale_.data(), row_zero_.data(), column_scale_.data(), column_sum_.data(), bias_.data()}};
  }

  // The formula of accumulator.h in T arithmetic.
  template <class T>
  T value(std::int64_t m, std::int64_t n) const {
    if (!is_int8_) return static_cast<T>(f32_[index(m, n)]);
    const auto row = static_cast<std::size_t>(m), column = static_cast<std::size_t>(n);
    const T centred = static_cast<T>(i32_[index(m, n)]) - static_cast<T>(row_zero_[row]) * column_sum_[column];
    return static_cast<T>(row_scale_[row]) * column_scale_[column] * centred + bias_[column];
  }

  // Makes a value NaN the way it happens: a NaN product, or a row whose activations could not be quantised.
  void poison(std::int64_t m, std::int64_t n) {
    f32_[index(m, n)] = NAN;
    if (is_int8_) row_scale_[static_cast<std::size_t>(m)] = NAN;
  }

  // The memory of the result, for ops that may work in place.
  void* data() { return is_int8_ ? static_cast<void*>(i32_.data()) : f32_.data(); }

 private:
  std::size_t index(std::int64_t m, std::int64_t n) const { return static_cast<std::size_t>(m * stride_ + n); }

  bool is_int8_;
  std::int64_t stride_;
  std::vector<float> f32_;
  std::vector<std::int32_t> i32_;
  std::vector<float> row_scale_, row_zero_, column_scale_, column_sum_, bias_;
};

// Every bf16 result is the f32 result rounded once.
inline bool is_rounding_of(std::span<const std::uint16_t> halves, std::span<const float> values) {
  return std::equal(halves.begin(), halves.end(), values.begin(), values.end(),
                    [](std::uint16_t half, float value) { return half == f32_to_bf16(value); });
}

// The same bits; unlike ==, true for equal NaNs.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace biowarp::testing
