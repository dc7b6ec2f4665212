// ParamSource: the logical parameters of a model, whatever file and naming they come from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/esm2_config.h"

namespace biowarp {

class ParamSource {
 public:
  virtual ~ParamSource() = default;

  virtual bool has(std::string_view name) const = 0;

  // Element type in which the values are stored; read() of f32, f16 and bf16 values is exact.
  virtual DType stored_dtype(std::string_view name) const = 0;

  // Values of rows [first, first + count) of a parameter (a vector counts as one column per row: its rows are its
  // elements) as f32 into out [count, columns]. Thread safe. The name must be one that has() accepts.
  virtual void read(std::string_view name, std::int64_t first, std::int64_t count, float* out) const = 0;

  // Identity of the values: equal for the same numbers under other names or file layouts is not promised.
  virtual std::string hash() const = 0;
};

// Random weights, N(0, 0.02) for matrices, zero biases, norms 1/0: a pure function of (config, seed, name, index).
std::shared_ptr<const ParamSource> random_params(const Esm2Config& config, std::uint64_t seed);

}  // namespace biowarp
