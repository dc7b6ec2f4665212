#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace biowarp {

std::string npy_descr(DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::i16: return "<i2";
    case DType::i8: return "|i1";
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
    case DType::bf16: return "";
  }
  return "";
}

std::string npy_text_descr(std::int64_t longest) { return fmt::format("<U{}", std::max<std::int64_t>(longest, 1)); }

std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape) {
  assert(!descr.empty());
  std::string axes;
  for (const std::int64_t size : shape) axes += fmt::format("{}{}", axes.empty() ? "" : ", ", size);
  if (shape.size() == 1) axes += ",";
  const std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, axes);

  constexpr std::size_t kPrefix = 10;  // magic, version, length of the rest
  constexpr auto kRest = static_cast<std::size_t>(kNpyHeaderBytes) - kPrefix;
  assert(dict.size() < kRest);
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(kRest & 0xff);
  header += static_cast<char>(kRest >> 8);
  return header + dict + std::string(kRest - dict.size() - 1, ' ') + "\n";
}

}  // namespace biowarp
