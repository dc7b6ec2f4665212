// .safetensors (https://github.com/huggingface/safetensors, README "Format")
//   pooled        "lengths" [n] I64, "embeddings" [n, C] or [n, layers, C]; the ids stand as a JSON list of texts
//                 in __metadata__.ids
//   per residue   one tensor [L, C] or [layers, L, C] per record, named by its id; a name that is taken, or
//                 "__metadata__", gets the next free "#k"
// __metadata__ also holds model, model_hash, layers, pooling and precision.
#include <array>
#include <string>

#include "base/fail.h"
#include "io/embedding_file.h"
#include "io/file.h"
#include "io/json_text.h"
#include "io/unique_names.h"

namespace biowarp {
namespace {

constexpr std::int64_t kLargestHeader = 100'000'000;  // limit of the reference reader
constexpr std::int64_t kSizeBytes = 8;

std::string type_name(DType dtype) { return dtype == DType::f32 ? "F32" : dtype == DType::f16 ? "F16" : "BF16"; }

// The header, written piece by piece; its size is patched in when it is known.
class Header {
 public:
  explicit Header(AtomicFile& file) : file_(file) { file_.write(std::string(kSizeBytes, '\0')); }

  void text(std::string_view piece) { file_.write(piece); }

  void tensor(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape,
              std::int64_t bytes) {
    file_.write(fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_quoted(name), dtype,
                            fmt::join(shape, ","), offset_, offset_ + bytes));
    offset_ += bytes;
  }

  void end() {
    file_.write("}");
    file_.write(std::string(static_cast<std::size_t>((-file_.position()) & 7), ' '));
    const std::int64_t size = file_.position() - kSizeBytes;
    if (size > kLargestHeader) {
      fail_usage(
          "the header of this .safetensors file would take {} bytes, and readers take {} at most; "
          "use --shard or write .h5",
          size, kLargestHeader);
    }
    std::array<char, kSizeBytes> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((size >> (8 * i)) & 0xff);
    file_.write_at(0, bytes.data(), bytes.size());
  }

 private:
  AtomicFile& file_;
  std::int64_t offset_ = 0;  // of the next tensor's data
};

void write_metadata(Header& header, const EmbeddingLayout& layout, const EmbeddingSource* ids) {
  header.text(fmt::format(R"({{"__metadata__":{{"producer":"biowarp","model":{},"model_hash":{},"layers":{},)"
                          R"("pooling":{},"precision":{})",
                          json_quoted(layout.model), json_quoted(layout.model_hash), json_quoted(layout.layers_text()),
                          json_quoted(layout.pooling), json_quoted(layout.precision)));
  if (ids) {
    // A list of texts inside a text: what json_text gives for an id, quoted once more.
    bool first = true;
    header.text(R"(,"ids":"[)");
    ids->visit_without_values([&](const EmbeddedRecord& record) {
      if (!first) header.text(",");
      const std::string twice = json_quoted(json_quoted(record.id));
      header.text(std::string_view(twice).substr(1, twice.size() - 2));
      first = false;
    });
    header.text(R"(]")");
  }
  header.text("}");
}

void write_matrix(AtomicFile& file, const EmbeddingSource& source, const EmbeddingLayout& layout, const KeySink& keys) {
  const std::int64_t rows = source.rows();
  std::vector<std::int64_t> shape = layout.shape_of(0);
  shape.insert(shape.begin(), rows);
  Header header(file);
  write_metadata(header, layout, &source);
  header.tensor("lengths", "I64", {rows}, rows * static_cast<std::int64_t>(sizeof(std::int64_t)));
  header.tensor("embeddings", type_name(layout.dtype), shape, rows * layout.bytes_of(0));
  header.end();
  source.visit_without_values([&](const EmbeddedRecord& record) { file.write(&record.length, sizeof record.length); });
  source.visit([&](const EmbeddedRecord& record, std::span<const std::byte> values) {
    file.write(values.data(), values.size());
    keys(record.id);
  });
}

void write_tensors(AtomicFile& file, const EmbeddingSource& source, const EmbeddingLayout& layout,
                   const KeySink& keys) {
  UniqueNames names{"__metadata__"};
  Header header(file);
  write_metadata(header, layout, nullptr);
  source.visit_without_values([&](const EmbeddedRecord& record) {
    const std::string name = names.claim(record.id);
    header.tensor(name, type_name(layout.dtype), layout.shape_of(record.length), layout.bytes_of(record.length));
    keys(name);
  });
  header.end();
  source.visit(
      [&](const EmbeddedRecord&, std::span<const std::byte> values) { file.write(values.data(), values.size()); });
}

}  // namespace

void embedding::write_safetensors(const EmbeddingSource& source, const EmbeddingLayout& layout,
                                  const std::string& target, const KeySink& keys) {
  AtomicFile file(target);
  layout.per_residue ? write_tensors(file, source, layout, keys) : write_matrix(file, source, layout, keys);
  file.commit();
}

}  // namespace biowarp
