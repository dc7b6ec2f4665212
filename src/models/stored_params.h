// StoredParams: our parameters over the mapped tensors of a checkpoint, converted when they are read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/weight_file.h"
#include "models/naming.h"
#include "models/param_source.h"

namespace biowarp {

// What an adapter adds to a stored matrix [rows, columns]: left [rows, rank] times right [rank, columns].
struct LowRankUpdate {
  std::int64_t rank = 0;
  std::vector<float> left, right;  // the scale is folded into left

  // out [count, columns] += rows [first, first + count) of the product.
  void add_rows(std::int64_t first, std::int64_t count, std::int64_t columns, float* out) const;
};

// A stored tensor seen as a matrix. Strides in elements.
struct StoredMatrix {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 1;
  std::int64_t row_stride = 1, column_stride = 1;
  std::shared_ptr<const LowRankUpdate> update;

  bool rows_contiguous() const { return columns == 1 || column_stride == 1; }
  bool contiguous() const { return rows_contiguous() && (rows <= 1 || row_stride == columns); }
  // Rows [first, first + count) as f32, update included.
  void read(std::int64_t first, std::int64_t count, float* out) const;
  // The same rows in the stored type, without the update.
  void copy(std::int64_t first, std::int64_t count, std::byte* out) const;
};

// A tensor of two axes as [rows, columns]; any other, of which at most one axis is longer than 1, as
// [elements, 1]. `vector` asks for the latter: contact heads come as [1, elements].
StoredMatrix as_matrix(const TensorInfo& tensor, bool vector);

// How the rows of a parameter lie in its parts.
enum class RowOrder : std::uint8_t {
  plain,        // one part, same order
  three_parts,  // query, key, value: row (h, s, d) is row h*D + d of part s
  three_blocks  // one part [3, H, D]: row (h, s, d) is row s*C + h*D + d
};

struct StoredParam {
  std::int64_t rows = 0, columns = 1;
  RowOrder order = RowOrder::plain;
  std::vector<StoredMatrix> parts;
};

class StoredParams : public ParamSource {
 public:
  // `maps` keep the data alive; `identity` is text that goes into the hash before the values.
  StoredParams(std::map<std::string, StoredParam, std::less<>> params, std::int64_t head_width,
               std::vector<MappedFile> maps, std::string identity);

  bool has(std::string_view name) const override;
  DType stored_dtype(std::string_view name) const override;
  void read(std::string_view name, std::int64_t first, std::int64_t count, float* out) const override;
  std::string hash() const override;

 private:
  const StoredParam& find(std::string_view name) const;
  std::string compute_hash() const;

  std::map<std::string, StoredParam, std::less<>> params_;
  std::int64_t head_width_;
  std::vector<MappedFile> maps_;
  std::string identity_;
  mutable std::once_flag hashed_;
  mutable std::string hash_;
};

}  // namespace biowarp
