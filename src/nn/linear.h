// A linear layer in one of the precisions, on panels of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mem/context.h"
#include "ops/gemm/gemm.h"

namespace biowarp {

// Reads rows first .. first+count-1 of a parameter as f32; a vector's rows are its elements.
using ParamReader = std::function<void(std::string_view name, std::int64_t first, std::int64_t count, float* out)>;

// A whole vector parameter.
std::vector<float> read_vector(const ParamReader& read, const std::string& name, std::int64_t length);

// Rows in the form a product takes: f32, bf16, or u8 codes with scale and zero per row.
struct Operand {
  const void* data = nullptr;        // [rows, K]
  const float* row_scale = nullptr;  // [rows] int8 only
  const float* row_zero = nullptr;   // [rows] int8 only
};

// Working memory that turns f32 or bf16 rows into an int8 operand; unused by the other precisions.
struct QuantizeBuffers {
  std::uint8_t* codes;  // [kPanelRows, K]
  float* scale;         // [kPanelRows]
  float* zero;          // [kPanelRows]
};

class Linear {
 public:
  Linear() = default;
  // Packs `name`.weight [out, in] and `name`.bias [out].
  Linear(const GemmDesc& desc, const ParamReader& read, const std::string& name);
  // Packs a weight alone, with a bias given as a vector (empty: zeros).
  Linear(const GemmDesc& desc, const ParamReader& read, const std::string& weight_name, const std::vector<float>& bias);

  // y [rows, out] gets the product; the result describes it for the pass that follows.
  Accumulator forward(Context& lane, const Operand& x, std::int64_t rows, void* y) const;

  std::int64_t bytes() const { return weights_ ? weights_->bytes() : 0; }
  const char* implementation() const { return weights_ ? weights_->implementation() : "none"; }

 private:
  std::shared_ptr<const GemmWeights> weights_;
};

// x [rows, K] f32 or bf16 -> operand of a product in `precision`. f32 and bf16 operands are x itself, which
// must then already have the precision's type.
Operand as_operand(Context& lane, Precision precision, const void* x, DType x_dtype, std::int64_t rows,
                   std::int64_t width, const QuantizeBuffers& buffers);

}  // namespace biowarp
