#include "models/stored_params.h"

#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "io/convert.h"

namespace biowarp {
namespace {

constexpr std::int64_t kParts = 3;  // query, key, value

// A piece of a parameter that is hashed on its own, so that many threads can take part.
struct Chunk {
  const StoredMatrix* matrix;
  std::int64_t first, count;  // rows
};

void add_chunks(const StoredMatrix& matrix, std::int64_t rows, std::vector<Chunk>& chunks) {
  constexpr std::int64_t kChunkBytes = 4 << 20;
  const std::int64_t row_bytes = matrix.columns * static_cast<std::int64_t>(size_of(matrix.dtype));
  const std::int64_t step = std::max<std::int64_t>(1, kChunkBytes / std::max<std::int64_t>(1, row_bytes));
  for (std::int64_t first = 0; first < rows; first += step) {
    chunks.push_back({&matrix, first, std::min(step, rows - first)});
  }
}

std::string hash_of(const Chunk& chunk) {
  const StoredMatrix& matrix = *chunk.matrix;
  const auto element = static_cast<std::int64_t>(size_of(matrix.dtype));
  const auto bytes = static_cast<std::size_t>(chunk.count * matrix.columns * element);
  if (matrix.contiguous()) return content_hash(matrix.data + chunk.first * matrix.row_stride * element, bytes);
  std::vector<std::byte> rows(bytes);
  matrix.copy(chunk.first, chunk.count, rows.data());
  return content_hash(rows.data(), bytes);
}

}  // namespace

void LowRankUpdate::add_rows(std::int64_t first, std::int64_t count, std::int64_t columns, float* out) const {
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t k = 0; k < rank; ++k) {
      const float factor = left[static_cast<std::size_t>((first + row) * rank + k)];
      const float* from = right.data() + k * columns;
      for (std::int64_t column = 0; column < columns; ++column) out[row * columns + column] += factor * from[column];
    }
  }
}

void StoredMatrix::read(std::int64_t first, std::int64_t count, float* out) const {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  if (contiguous()) {
    convert_to_f32(dtype, data + first * row_stride * element, count * columns, out);
  } else if (rows_contiguous() && columns > 1) {
    for (std::int64_t row = 0; row < count; ++row) {
      convert_to_f32(dtype, data + (first + row) * row_stride * element, columns, out + row * columns);
    }
  } else {
    std::vector<std::byte> rows(static_cast<std::size_t>(count * columns * element));
    copy(first, count, rows.data());
    convert_to_f32(dtype, rows.data(), count * columns, out);
  }
  if (update) update->add_rows(first, count, columns, out);
}

void StoredMatrix::copy(std::int64_t first, std::int64_t count, std::byte* out) const {
  const std::size_t element = size_of(dtype);
  for (std::int64_t row = first; row < first + count; ++row) {
    for (std::int64_t column = 0; column < columns; ++column, out += element) {
      const std::int64_t index = row * row_stride + column * column_stride;
      std::memcpy(out, data + index * static_cast<std::int64_t>(element), element);
    }
  }
}

StoredMatrix as_matrix(const TensorInfo& tensor, bool vector) {
  StoredMatrix matrix;
  matrix.data = tensor.data;
  matrix.dtype = tensor.dtype;
  if (!vector && tensor.shape.size() == 2) {
    matrix.rows = tensor.shape[0];
    matrix.columns = tensor.shape[1];
    matrix.row_stride = tensor.strides[0];
    matrix.column_stride = tensor.strides[1];
    return matrix;
  }
  matrix.rows = tensor.elements();
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] != 1) matrix.row_stride = tensor.strides[axis];
  }
  return matrix;
}

StoredParams::StoredParams(std::map<std::string, StoredParam, std::less<>> params, std::int64_t head_width,
                           std::vector<MappedFile> maps, std::string identity)
    : params_(std::move(params)), head_width_(head_width), maps_(std::move(maps)), identity_(std::move(identity)) {}

bool StoredParams::has(std::string_view name) const { return params_.find(name) != params_.end(); }

const StoredParam& StoredParams::find(std::string_view name) const {
  const auto found = params_.find(name);
  if (found == params_.end()) fail(ErrorKind::internal, "the model has no parameter {}", name);
  return found->second;
}

DType StoredParams::stored_dtype(std::string_view name) const {
  const StoredParam& param = find(name);
  const DType first = param.parts[0].dtype;
  const bool same = std::all_of(param.parts.begin(), param.parts.end(),
                                [&](const StoredMatrix& part) { return part.dtype == first && !part.update; });
  return same ? first : DType::f32;
}

void StoredParams::read(std::string_view name, std::int64_t first, std::int64_t count, float* out) const {
  const StoredParam& param = find(name);
  if (param.order == RowOrder::plain) return param.parts[0].read(first, count, out);
  const std::int64_t D = head_width_, width = param.rows / kParts;
  while (count > 0) {  // one run of rows of the same head and the same of query, key, value
    const std::int64_t head = first / (kParts * D), which = first / D % kParts, d = first % D;
    const std::int64_t run = std::min(count, D - d), row = head * D + d;
    if (param.order == RowOrder::three_parts) {
      param.parts[static_cast<std::size_t>(which)].read(row, run, out);
    } else {
      param.parts[0].read(which * width + row, run, out);
    }
    first += run;
    count -= run;
    out += run * param.columns;
  }
}

std::string StoredParams::hash() const {
  std::call_once(hashed_, [this] { hash_ = compute_hash(); });
  return hash_;
}

std::string StoredParams::compute_hash() const {
  std::vector<Chunk> chunks;
  for (const auto& [name, param] : params_) {
    for (const StoredMatrix& part : param.parts) {
      add_chunks(part, param.order == RowOrder::plain ? param.rows : part.rows, chunks);
    }
  }
  std::vector<std::string> digests(chunks.size());
  ThreadPool pool;
  pool.parallel_for(static_cast<std::int64_t>(chunks.size()), [&](int, std::int64_t i) {
    digests[static_cast<std::size_t>(i)] = hash_of(chunks[static_cast<std::size_t>(i)]);
  });

  ContentHash sum;
  sum.add_text(identity_);
  for (const auto& [name, param] : params_) {
    sum.add_text(name);
    for (const StoredMatrix& part : param.parts) {
      sum.add_text(
          fmt::format("{} {}x{} {}", name_of(part.dtype), part.rows, part.columns, static_cast<int>(param.order)));
      if (!part.update) continue;
      sum.add(part.update->left.data(), part.update->left.size() * sizeof(float));
      sum.add(part.update->right.data(), part.update->right.size() * sizeof(float));
    }
  }
  for (const std::string& digest : digests) sum.add_text(digest);
  return sum.hex();
}

}  // namespace biowarp
