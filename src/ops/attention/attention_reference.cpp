// Two passes over the keys in f64: the oracle for every other row.
#include <cmath>
#include <limits>

#include "base/half.h"
#include "ops/attention/attention_row.h"

namespace biowarp {
namespace {

double element(const void* data, DType dtype, std::int64_t i) {
  return dtype == DType::bf16 ? bf16_to_f32(static_cast<const std::uint16_t*>(data)[i])
                              : static_cast<const float*>(data)[i];
}

double score(const HeadTask& task, DType dtype, std::int64_t query, std::int64_t key) {
  double sum = 0;
  for (std::int64_t d = 0; d < task.head_width; ++d) {
    sum += element(task.qkv, dtype, query * task.qkv_stride + d) *
           element(task.qkv, dtype, key * task.qkv_stride + task.head_width + d);
  }
  return sum * task.scale;
}

void store(void* out, DType dtype, std::int64_t i, double value) {
  if (dtype == DType::bf16) {
    static_cast<std::uint16_t*>(out)[i] = f32_to_bf16(static_cast<float>(value));
  } else {
    static_cast<float*>(out)[i] = static_cast<float>(value);
  }
}

// weights: scratch of `length` doubles
void attend_one(const HeadTask& task, DType dtype, std::int64_t query, double* weights) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t s = 0; s < task.length; ++s) {
    weights[s] = score(task, dtype, query, s);
    if (!(weights[s] <= largest)) largest = weights[s];
  }
  for (std::int64_t s = 0; s < task.length; ++s) sum += weights[s] = std::exp(weights[s] - largest);
  for (std::int64_t d = 0; d < task.head_width; ++d) {
    double value = 0;
    for (std::int64_t s = 0; s < task.length; ++s) {
      value += weights[s] * element(task.qkv, dtype, s * task.qkv_stride + 2 * task.head_width + d);
    }
    store(task.out, dtype, query * task.out_stride + d, value / sum);
  }
}

void run(const HeadTask& task, DType dtype, std::byte* scratch) {
  for (std::int64_t q = task.first_query; q < task.first_query + task.queries; ++q) {
    attend_one(task, dtype, q, reinterpret_cast<double*>(scratch));
  }
}

std::string refuse(const AttentionDesc& desc) {
  return desc.dtype == DType::f32 || desc.dtype == DType::bf16 ? "" : "f32 and bf16 only";
}

std::int64_t scratch_bytes(const AttentionDesc&, std::int64_t longest) { return longest * 8; }

}  // namespace

const AttentionRow kAttentionReference{"reference", refuse, scratch_bytes, run};

}  // namespace biowarp
