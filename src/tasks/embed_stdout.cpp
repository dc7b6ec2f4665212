// Output of an embed job to standard output: there is no index, so what was skipped is said on stderr.
#include <cstdio>
#include <memory>

#include "base/fail.h"
#include "base/log.h"
#include "tasks/embed_output.h"

namespace biowarp {
namespace {

void print_bytes(const void* data, std::size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) fail_input("cannot write to standard output");
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) fail_input("cannot write to standard output");
}

class StdoutOutput : public EmbedOutput {
 public:
  explicit StdoutOutput(const EmbeddingLayout& layout) : layout_(layout) {}

  void add(EmbedRecord& record) final {
    if (record.skipped()) return log_warn("{} skipped: {}", record.line.id, record.line.reason);
    record.line.row = rows_++;
    take(record.line, encode_values(record, layout_.dtype));
  }

 protected:
  virtual void take(const IndexLine& line, std::span<const std::byte> values) = 0;

  const EmbeddingLayout layout_;
  std::int64_t rows_ = 0;
};

// Rows as they come.
class StdoutText : public StdoutOutput {
 public:
  StdoutText(const EmbeddingLayout& layout, char separator) : StdoutOutput(layout), text_(layout, separator) {
    const std::string header = text_.header();
    print_bytes(header.data(), header.size());
  }

  void checkpoint() override { flush_stdout(); }
  void finish() override { flush_stdout(); }

 protected:
  void take(const IndexLine& line, std::span<const std::byte> values) override {
    const std::string lines = text_.lines({line.row, line.id, line.description, line.length}, values);
    print_bytes(lines.data(), lines.size());
  }

 private:
  const EmbeddingText text_;
};

// The number of rows stands in front of them, so they wait in a temporary file.
class StdoutMatrix : public StdoutOutput {
 public:
  StdoutMatrix(const EmbeddingFormat& format, const EmbeddingLayout& layout)
      : StdoutOutput(layout), format_(format), rows_file_(std::tmpfile(), std::fclose) {
    if (!rows_file_) fail_input("cannot create a temporary file");
  }

  void checkpoint() override {}

  void finish() override {
    const std::string head = format_.head(layout_, rows_);
    print_bytes(head.data(), head.size());
    std::rewind(rows_file_.get());
    std::vector<char> buffer(1 << 20);
    while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), rows_file_.get())) {
      print_bytes(buffer.data(), bytes);
    }
    flush_stdout();
  }

 protected:
  void take(const IndexLine&, std::span<const std::byte> values) override {
    if (std::fwrite(values.data(), 1, values.size(), rows_file_.get()) != values.size()) {
      fail_input("cannot write to a temporary file; is its disk full?");
    }
  }

 private:
  const EmbeddingFormat& format_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> rows_file_;
};

}  // namespace

std::unique_ptr<EmbedOutput> open_embed_stdout(const EmbeddingFormat& format, const EmbeddingLayout& layout) {
  if (format.name == "tsv") return std::make_unique<StdoutText>(layout, '\t');
  if (format.name == "csv") return std::make_unique<StdoutText>(layout, ',');
  if (format.head) return std::make_unique<StdoutMatrix>(format, layout);
  fail_usage("{} cannot be written to standard output; tsv, csv and npy can", format.name);
}

}  // namespace biowarp
