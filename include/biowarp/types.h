// Small types shared by the whole public interface. Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "biowarp/export.h"

namespace biowarp {

// Element types of tensors in files and in memory. bf16 and f16 are the 16-bit formats of the field
// (8-bit exponent "brain" float, IEEE half).
enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean };

// Bytes of one element.
BIOWARP_API std::size_t size_of(DType dtype);
// "f32", "bf16", ...
BIOWARP_API std::string_view name_of(DType dtype);
// Inverse of name_of; also takes safetensors' spelling ("F32", "BF16"). Throws Error(usage) with the known names.
BIOWARP_API DType parse_dtype(std::string_view text);

// Arithmetic of a model's matrix products. Residual stream, norms and softmax stay f32 in all of them.
//   f32   f32 weights and activations
//   bf16  bf16 weights and activations, f32 accumulation
//   int8  int8 weights (per output channel) and activations (per token), i32 accumulation
enum class Precision : std::uint8_t { f32, bf16, int8 };
BIOWARP_API std::string_view name_of(Precision precision);
BIOWARP_API Precision parse_precision(std::string_view text);

// How the rows of one protein become one row.
//   mean  mean over its residues, without the begin and end tokens (fair-esm's "mean")
//   cls   the begin token's row (fair-esm's "bos")
//   max   maximum over its residues, column by column
//   eos   the end token's row
enum class Pooling : std::uint8_t { mean, cls, max, eos };
BIOWARP_API std::string_view name_of(Pooling pooling);
BIOWARP_API Pooling parse_pooling(std::string_view text);

}  // namespace biowarp
