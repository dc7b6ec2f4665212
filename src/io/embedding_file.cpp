#include "io/embedding_file.h"

#include "base/fail.h"
#include "io/npy.h"

namespace biowarp {
namespace {

std::string any_layout(const EmbeddingLayout&) { return ""; }

std::string only_numpy_types(const EmbeddingLayout& layout) {
  if (layout.dtype != DType::bf16) return "";
  return "numpy has no bf16; use --out-dtype f32 or f16, or write .h5 or .safetensors";
}

std::string only_matrices(const EmbeddingLayout& layout) {
  if (layout.per_residue) {
    return "a .npy file holds one matrix, and arrays per residue differ in length; use .npz, .h5 or "
           ".safetensors";
  }
  return only_numpy_types(layout);
}

std::string npy_head(const EmbeddingLayout& layout, std::int64_t rows) {
  std::vector<std::int64_t> shape = layout.shape_of(0);
  shape.insert(shape.begin(), rows);
  return npy_header(npy_descr(layout.dtype), shape);
}

std::string known_formats() {
  std::string names;
  for (const EmbeddingFormat& format : embedding_formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  return names;
}

}  // namespace

std::vector<std::int64_t> EmbeddingLayout::shape_of(std::int64_t length) const {
  std::vector<std::int64_t> shape;
  if (layers.size() > 1) shape.push_back(layer_count());
  if (per_residue) shape.push_back(length);
  shape.push_back(hidden);
  return shape;
}

std::int64_t EmbeddingLayout::bytes_of(std::int64_t length) const {
  return layer_count() * (per_residue ? length : 1) * hidden * static_cast<std::int64_t>(size_of(dtype));
}

std::string EmbeddingLayout::layers_text() const { return fmt::format("{}", fmt::join(layers, ",")); }

const std::vector<EmbeddingFormat>& embedding_formats() {
  static const std::vector<EmbeddingFormat> formats{
      {"npy", {".npy"}, only_matrices, npy_head, nullptr},
      {"npz", {".npz"}, only_numpy_types, nullptr, embedding::write_npz},
      {"h5", {".h5", ".hdf5"}, any_layout, nullptr, embedding::write_h5},
      {"safetensors", {".safetensors"}, any_layout, nullptr, embedding::write_safetensors},
      {"tsv", {".tsv", ".txt"}, any_layout, nullptr, embedding::write_tsv},
      {"csv", {".csv"}, any_layout, nullptr, embedding::write_csv},
  };
  return formats;
}

const EmbeddingFormat& find_embedding_format(std::string_view name, const std::string& path) {
  for (const EmbeddingFormat& format : embedding_formats()) {
    if (name == format.name) return format;
    if (!name.empty()) continue;
    for (const std::string_view suffix : format.suffixes) {
      if (path.ends_with(suffix)) return format;
    }
  }
  if (!name.empty()) fail_usage("expected a format out of {}, got '{}'", known_formats(), name);
  fail_usage("cannot tell the format of '{}' from its suffix; name one with --format: {}", path, known_formats());
}

}  // namespace biowarp
