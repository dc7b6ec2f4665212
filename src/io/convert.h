// Conversion between the element types of files and f32, a few GB/s per core. Round to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>

#include "biowarp/types.h"

namespace biowarp {

// `count` elements of a floating type at `in` (any alignment) as f32; exact for f32, f16 and bf16.
void convert_to_f32(DType dtype, const std::byte* in, std::int64_t count, float* out);

// `count` f32 values as a floating type at `out` (any alignment).
void convert_from_f32(DType dtype, const float* in, std::int64_t count, std::byte* out);

bool is_floating(DType dtype);

}  // namespace biowarp
