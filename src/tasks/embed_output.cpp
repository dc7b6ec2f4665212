#include "tasks/embed_output.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/fail.h"
#include "base/log.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/npy.h"

namespace biowarp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kDurableEvery{10};

// The finished values and journal of one file, as the writers of formats want them.
class StoredValues : public EmbeddingSource {
 public:
  StoredValues(std::string values, std::string journal, const EmbeddingLayout& layout, std::int64_t rows)
      : values_(std::move(values)), journal_(std::move(journal)), layout_(layout), rows_(rows) {}

  std::int64_t rows() const override { return rows_; }

  void visit(const Visitor& visitor) const override {
    std::ifstream file(values_, std::ios::binary);
    std::vector<char> bytes;
    visit_without_values([&](const EmbeddedRecord& record) {
      bytes.resize(static_cast<std::size_t>(layout_.bytes_of(record.length)));
      if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) fail_input("cannot read {}", values_);
      visitor(record, std::as_bytes(std::span(bytes)));
    });
  }

  void visit_without_values(const std::function<void(const EmbeddedRecord&)>& visitor) const override {
    IndexReader reader(journal_);
    IndexLine line;
    while (reader.next(line)) {
      if (!line.skipped()) visitor({line.row, line.id, line.description, line.length});
    }
  }

 private:
  const std::string values_, journal_;
  const EmbeddingLayout& layout_;
  const std::int64_t rows_;
};

// The final index: the journal's lines, completed with the keys as a writer tells them.
class FinalIndex {
 public:
  FinalIndex(const std::string& target, const std::string& journal) : file_(target), journal_(journal) {
    file_.write(kIndexHeader);
  }

  void add_key(std::string_view key) {
    while (journal_.next(line_)) {
      const bool awaited = !line_.skipped();
      if (awaited) line_.key = key;
      file_.write(format_index_line(line_));
      if (awaited) return;
    }
  }

  // Keys of matrices: the ids.
  void add_ids() {
    while (journal_.next(line_)) {
      if (!line_.skipped()) line_.key = line_.id;
      file_.write(format_index_line(line_));
    }
  }

  void commit() {
    while (journal_.next(line_)) file_.write(format_index_line(line_));
    file_.commit();
  }

 private:
  AtomicFile file_;
  IndexReader journal_;
  IndexLine line_;
};

// One output file in the making.
class OutputFile {
 public:
  OutputFile(const OutputPaths& paths, const EmbeddingLayout& layout, std::int64_t number)
      : OutputFile(paths, layout, number, ResumePoint{}) {}

  OutputFile(const OutputPaths& paths, const EmbeddingLayout& layout, std::int64_t number, const ResumePoint& resume)
      : paths_(paths),
        layout_(layout),
        number_(number),
        records_(resume.file_records),
        rows_(resume.file_rows),
        values_(std::in_place, paths.values(number), resume.values_bytes),
        journal_(std::in_place, paths.journal(number), resume.journal_bytes) {
    if (resume.values_bytes >= 0) return;
    values_->write(std::string(static_cast<std::size_t>(paths.values_start()), '\0'));
    journal_->write(kIndexHeader);
    checkpoint();
  }

  ~OutputFile() {
    if (values_) values_->keep();
    if (journal_) journal_->keep();
  }

  std::int64_t records() const { return records_; }

  void add(EmbedRecord& record) {
    if (!record.skipped()) {
      const std::vector<std::byte> bytes = encode_values(record, layout_.dtype);
      values_->write(bytes.data(), bytes.size());
      record.line.row = rows_++;
    }
    ++records_;
    lines_ += format_index_line(record.line);
  }

  void checkpoint() {
    const bool durable = Clock::now() - last_durable_ >= kDurableEvery;
    values_->flush(durable);
    journal_->write(lines_);
    journal_->flush(durable);
    lines_.clear();
    if (durable) last_durable_ = Clock::now();
  }

  void finish() {
    checkpoint();
    FinalIndex index(paths_.index(number_), journal_->partial_path());
    const EmbeddingFormat& format = *paths_.format;
    if (format.head) {
      const std::string head = format.head(layout_, rows_);
      values_->write_at(0, head.data(), head.size());
      index.add_ids();
      index.commit();
      values_->commit();
    } else {
      const StoredValues source(values_->partial_path(), journal_->partial_path(), layout_, rows_);
      format.write(source, layout_, paths_.file(number_), [&](std::string_view key) { index.add_key(key); });
      index.commit();
    }
    values_.reset();  // not kept: what is left of the two files goes
    journal_.reset();
  }

 private:
  const OutputPaths& paths_;
  const EmbeddingLayout& layout_;
  const std::int64_t number_;
  std::int64_t records_, rows_;
  std::string lines_;  // of the journal, since the last checkpoint
  std::optional<AtomicFile> values_, journal_;
  Clock::time_point last_durable_ = Clock::now();
};

class OutputFiles : public EmbedOutput {
 public:
  OutputFiles(const OutputPaths& paths, const EmbeddingLayout& layout, const ResumePoint& resume)
      : paths_(paths), layout_(layout), number_(resume.file), file_(std::in_place, paths_, layout_, number_, resume) {}

  void add(EmbedRecord& record) override {
    if (paths_.shard > 0 && file_->records() == paths_.shard) {
      file_->finish();
      file_.emplace(paths_, layout_, ++number_);
    }
    file_->add(record);
  }

  void checkpoint() override { file_->checkpoint(); }

  void finish() override {
    file_->finish();
    const std::string further = paths_.file(number_ + 1);
    if (paths_.shard > 0 && std::filesystem::exists(further)) {
      log_warn("{} is left from an earlier, longer run; this one ends with {}", further, paths_.file(number_));
    }
  }

 private:
  const OutputPaths paths_;
  const EmbeddingLayout layout_;
  std::int64_t number_;
  std::optional<OutputFile> file_;
};

}  // namespace

std::string OutputPaths::file(std::int64_t number) const {
  if (shard == 0) return output;
  const std::filesystem::path path(output);
  const std::string name = fmt::format("{}.{:05}{}", path.stem().string(), number + 1, path.extension().string());
  return (path.parent_path() / name).string();
}

std::int64_t OutputPaths::values_start() const { return format->head ? kNpyHeaderBytes : 0; }

std::vector<std::byte> encode_values(const EmbedRecord& record, DType dtype) {
  std::vector<std::byte> bytes(record.values.size() * size_of(dtype));
  convert_from_f32(dtype, record.values.data(), static_cast<std::int64_t>(record.values.size()), bytes.data());
  return bytes;
}

std::unique_ptr<EmbedOutput> open_embed_files(const OutputPaths& paths, const EmbeddingLayout& layout,
                                              const ResumePoint& resume) {
  return std::make_unique<OutputFiles>(paths, layout, resume);
}

}  // namespace biowarp
