// The file formats that hold embeddings. Each format is one function in its own file embedding_<name>.cpp and
// one row of embedding_formats(). A writer sees a finished job: it can go over the records as often as its
// format needs, so no format holds the values of more than one record in memory.
//
// Letters: n records, L residues of a record, C hidden; "layers" is the number of layers asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/types.h"

namespace biowarp {

// What the values of every record of a job are.
struct EmbeddingLayout {
  bool per_residue = false;
  DType dtype = DType::f32;  // of the values as they are handed to the writer: f32, f16 or bf16
  std::vector<int> layers;   // layer numbers, at least one
  std::int64_t hidden = 0;   // C
  std::string pooling;       // "mean", ...; "none" per residue
  std::string model, model_hash, precision;

  std::int64_t layer_count() const { return static_cast<std::int64_t>(layers.size()); }
  // Shape of one record: [C] or [layers, C] pooled; [L, C] or [layers, L, C] per residue.
  std::vector<std::int64_t> shape_of(std::int64_t length) const;
  std::int64_t bytes_of(std::int64_t length) const;
  // "33" or "0,32,33"
  std::string layers_text() const;
};

struct EmbeddedRecord {
  std::int64_t row = 0;  // from 0, without gaps
  std::string id, description;
  std::int64_t length = 0;
};

// The records of a job and their values.
class EmbeddingSource {
 public:
  virtual ~EmbeddingSource() = default;
  virtual std::int64_t rows() const = 0;
  // Every record in order. `values` is the record's array in the layout's dtype, row-major; empty
  // without_values.
  using Visitor = std::function<void(const EmbeddedRecord&, std::span<const std::byte> values)>;
  virtual void visit(const Visitor& visitor) const = 0;
  virtual void visit_without_values(const std::function<void(const EmbeddedRecord&)>& visitor) const = 0;
};

// Told the name of every record in the file, in order.
using KeySink = std::function<void(std::string_view key)>;

struct EmbeddingFormat {
  std::string_view name;                   // as --format takes it
  std::vector<std::string_view> suffixes;  // of file names
  // Empty, or why this layout cannot be written ("numpy has no bf16 ...").
  std::string (*why_not)(const EmbeddingLayout& layout);
  // Either `head`: the file is these kNpyHeaderBytes and then the values of all records, one after the other,
  std::string (*head)(const EmbeddingLayout& layout, std::int64_t rows);
  // or `write`: writes a whole file under `target`, which appears only when it is complete.
  void (*write)(const EmbeddingSource& source, const EmbeddingLayout& layout, const std::string& target,
                const KeySink& keys);
};

const std::vector<EmbeddingFormat>& embedding_formats();

// By name, or by the suffix of `path` when `name` is empty. Throws Error(usage) naming the formats there are.
const EmbeddingFormat& find_embedding_format(std::string_view name, const std::string& path);

// Rows of the text formats, shared with output that is streamed while a job runs.
class EmbeddingText {
 public:
  EmbeddingText(const EmbeddingLayout& layout, char separator) : layout_(layout), separator_(separator) {}
  // id, length (pooled) or position (per residue), then e0 .. e<C-1>, or l<layer>_e<i> for several layers.
  std::string header() const;
  // One line per record, or per residue. Numbers are the shortest that read back as the same value.
  std::string lines(const EmbeddedRecord& record, std::span<const std::byte> values) const;

 private:
  std::string quoted(const std::string& text) const;
  EmbeddingLayout layout_;
  char separator_;
};

// Functions of the rows of embedding_formats().
namespace embedding {

void write_npz(const EmbeddingSource&, const EmbeddingLayout&, const std::string& target, const KeySink&);
void write_h5(const EmbeddingSource&, const EmbeddingLayout&, const std::string& target, const KeySink&);
void write_safetensors(const EmbeddingSource&, const EmbeddingLayout&, const std::string& target, const KeySink&);
void write_tsv(const EmbeddingSource&, const EmbeddingLayout&, const std::string& target, const KeySink&);
void write_csv(const EmbeddingSource&, const EmbeddingLayout&, const std::string& target, const KeySink&);

}  // namespace embedding

}  // namespace biowarp
