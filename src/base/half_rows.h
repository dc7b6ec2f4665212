// Conversion of runs of IEEE half numbers, with F16C where the processor has it. Any alignment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace biowarp {

void f16_to_f32_row(const std::byte* in, std::int64_t count, float* out);
void f32_to_f16_row(const float* in, std::int64_t count, std::byte* out);

}  // namespace biowarp
