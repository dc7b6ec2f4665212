#include "io/npz_writer.h"

#include <algorithm>
#include <cassert>

#include "base/fail.h"
#include "io/npy.h"
#include "io/utf8.h"

namespace biowarp {
namespace {

std::string header_for(DType dtype, const std::vector<std::int64_t>& shape) {
  const std::string descr = npy_descr(dtype);
  if (descr.empty()) fail_usage("numpy has no type {}; .npy and .npz can hold f32 or f16", name_of(dtype));
  return npy_header(descr, shape);
}

std::string member_name(std::string_view name) { return std::string(name) + ".npy"; }

}  // namespace

void NpzWriter::add(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape,
                    std::span<const std::byte> data) {
  zip_.add(member_name(name), {header_for(dtype, shape), {reinterpret_cast<const char*>(data.data()), data.size()}});
}

void NpzWriter::begin(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t size : shape) bytes *= size;
  zip_.begin(member_name(name), kNpyHeaderBytes + bytes);
  const std::string header = header_for(dtype, shape);
  zip_.write(header.data(), header.size());
}

void NpzWriter::begin_texts(std::string_view name, std::int64_t count, std::int64_t longest) {
  text_points_ = std::max<std::int64_t>(longest, 1);
  const std::string header = npy_header(npy_text_descr(text_points_), {count});
  zip_.begin(member_name(name), kNpyHeaderBytes + count * text_points_ * 4);
  zip_.write(header.data(), header.size());
}

void NpzWriter::write_text(std::string_view utf8) {
  std::u32string points = code_points(utf8);
  assert(static_cast<std::int64_t>(points.size()) <= text_points_);
  points.resize(static_cast<std::size_t>(text_points_), U'\0');
  zip_.write(points.data(), points.size() * sizeof(char32_t));
}

void NpzWriter::commit() {
  zip_.finish();
  file_.commit();
}

}  // namespace biowarp
