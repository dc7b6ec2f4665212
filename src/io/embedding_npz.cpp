// .npz
//   pooled        "embeddings" [n, C] or [n, layers, C], "ids" [n] unicode, "lengths" [n] int64
//   per residue   one array [L, C] or [layers, L, C] per record, named by its id; a name that is taken, or
//   one of the
//                 three above, gets the next free "#k"
#include <algorithm>

#include "io/embedding_file.h"
#include "io/npz_writer.h"
#include "io/unique_names.h"
#include "io/utf8.h"

namespace biowarp {
namespace {

void write_matrix(NpzWriter& npz, const EmbeddingSource& source, const EmbeddingLayout& layout, const KeySink& keys) {
  std::vector<std::int64_t> shape = layout.shape_of(0);
  shape.insert(shape.begin(), source.rows());
  std::size_t longest = 0;
  npz.begin("embeddings", layout.dtype, shape);
  source.visit([&](const EmbeddedRecord& record, std::span<const std::byte> values) {
    npz.write(values);
    longest = std::max(longest, code_points(record.id).size());
    keys(record.id);
  });
  npz.end();

  npz.begin_texts("ids", source.rows(), static_cast<std::int64_t>(longest));
  source.visit_without_values([&](const EmbeddedRecord& record) { npz.write_text(record.id); });
  npz.end();

  npz.begin("lengths", DType::i64, {source.rows()});
  source.visit_without_values(
      [&](const EmbeddedRecord& record) { npz.write(std::as_bytes(std::span(&record.length, 1))); });
  npz.end();
}

void write_arrays(NpzWriter& npz, const EmbeddingSource& source, const EmbeddingLayout& layout, const KeySink& keys) {
  UniqueNames names{"embeddings", "ids", "lengths"};
  source.visit([&](const EmbeddedRecord& record, std::span<const std::byte> values) {
    const std::string name = names.claim(record.id);
    npz.add(name, layout.dtype, layout.shape_of(record.length), values);
    keys(name);
  });
}

}  // namespace

void embedding::write_npz(const EmbeddingSource& source, const EmbeddingLayout& layout, const std::string& target,
                          const KeySink& keys) {
  NpzWriter npz(target);
  layout.per_residue ? write_arrays(npz, source, layout, keys) : write_matrix(npz, source, layout, keys);
  npz.commit();
}

}  // namespace biowarp
