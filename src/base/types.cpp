#include "biowarp/types.h"

#include <array>
#include <span>
#include <utility>

#include "base/fail.h"

namespace biowarp {
namespace {

struct DTypeRow {
  DType dtype;
  std::size_t size;
  std::string_view name, safetensors;
};

constexpr std::array<DTypeRow, 10> kDTypes{{
    {DType::f64, 8, "f64", "F64"},
    {DType::f32, 4, "f32", "F32"},
    {DType::bf16, 2, "bf16", "BF16"},
    {DType::f16, 2, "f16", "F16"},
    {DType::i64, 8, "i64", "I64"},
    {DType::i32, 4, "i32", "I32"},
    {DType::i16, 2, "i16", "I16"},
    {DType::i8, 1, "i8", "I8"},
    {DType::u8, 1, "u8", "U8"},
    {DType::boolean, 1, "bool", "BOOL"},
}};

template <class Enum>
using NameRow = std::pair<Enum, std::string_view>;

constexpr std::array<NameRow<Precision>, 3> kPrecisions{
    {{Precision::f32, "f32"}, {Precision::bf16, "bf16"}, {Precision::int8, "int8"}}};
constexpr std::array<NameRow<Pooling>, 4> kPoolings{
    {{Pooling::mean, "mean"}, {Pooling::cls, "cls"}, {Pooling::max, "max"}, {Pooling::eos, "eos"}}};

const DTypeRow& row_of(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row;
  }
  fail(ErrorKind::internal, "data type {} has no row", static_cast<int>(dtype));
}

template <class Enum>
std::string_view name_in(std::span<const NameRow<Enum>> rows, Enum value) {
  for (const auto& [known, name] : rows) {
    if (known == value) return name;
  }
  return "?";
}

template <class Enum>
Enum value_in(std::span<const NameRow<Enum>> rows, std::string_view text, const char* what) {
  std::string known;
  for (const auto& [value, name] : rows) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail_usage("expected {} to be one of {}, got '{}'", what, known, text);
}

}  // namespace

std::size_t size_of(DType dtype) { return row_of(dtype).size; }
std::string_view name_of(DType dtype) { return row_of(dtype).name; }

DType parse_dtype(std::string_view text) {
  std::string known;
  for (const DTypeRow& row : kDTypes) {
    if (text == row.name || text == row.safetensors) return row.dtype;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  fail_usage("expected a data type, one of {}, got '{}'", known, text);
}

std::string_view name_of(Precision precision) { return name_in<Precision>(kPrecisions, precision); }
Precision parse_precision(std::string_view text) { return value_in<Precision>(kPrecisions, text, "a precision"); }
std::string_view name_of(Pooling pooling) { return name_in<Pooling>(kPoolings, pooling); }
Pooling parse_pooling(std::string_view text) { return value_in<Pooling>(kPoolings, text, "a pooling"); }

}  // namespace biowarp
