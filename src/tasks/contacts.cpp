// Contact maps of many proteins into .npz or .tsv, one map in memory at a time.
#include "biowarp/contacts.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "base/fail.h"
#include "io/file.h"
#include "io/npz_writer.h"
#include "io/unique_names.h"
#include "tasks/contact_map.h"
#include "tasks/readable_records.h"

namespace biowarp {
namespace {

// map [L, L], symmetric
class MapWriter {
 public:
  virtual ~MapWriter() = default;
  virtual void add(const std::string& name, std::int64_t length, std::span<const float> map) = 0;
  virtual void commit() = 0;
};

class NpzMaps : public MapWriter {
 public:
  explicit NpzMaps(const std::string& path) : file_(path) {}
  void add(const std::string& name, std::int64_t length, std::span<const float> map) override {
    file_.add(name, DType::f32, {length, length}, std::as_bytes(map));
  }
  void commit() override { file_.commit(); }

 private:
  NpzWriter file_;
};

class TsvMaps : public MapWriter {
 public:
  explicit TsvMaps(const ContactOptions& options) : options_(options) {
    if (options.output != "-") file_.emplace(options.output);
    write("id\ti\tj\tprobability\n");
  }

  void add(const std::string& name, std::int64_t length, std::span<const float> map) override {
    for (std::int64_t i = 0; i < length; ++i) {
      std::string rows;
      for (std::int64_t j = i + std::max<std::int64_t>(1, options_.min_separation); j < length; ++j) {
        const float probability = map[static_cast<std::size_t>(i * length + j)];
        if (static_cast<double>(probability) < options_.min_probability) continue;
        rows += fmt::format("{}\t{}\t{}\t{:.6f}\n", name, i + 1, j + 1, probability);
      }
      write(rows);
    }
  }

  void commit() override {
    if (file_) file_->commit();
  }

 private:
  void write(std::string_view text) {
    if (file_) {
      file_->write(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  }

  const ContactOptions& options_;
  std::optional<AtomicFile> file_;
};

std::unique_ptr<MapWriter> open_maps(const ContactOptions& options) {
  if (options.output == "-" || options.output.ends_with(".tsv")) return std::make_unique<TsvMaps>(options);
  if (options.output.ends_with(".npz")) return std::make_unique<NpzMaps>(options.output);
  fail_usage("expected an output that ends in .npz or .tsv, or - for a table on standard output, got '{}'",
             options.output);
}

}  // namespace

RecordCounts write_contacts(const Model& model, RecordReader& records, const ContactOptions& options) {
  Engine& engine = *model.impl()->engine;
  require_contact_head(engine);
  const std::unique_ptr<MapWriter> maps = open_maps(options);
  ReadableRecords readable(records, {options.letters, 0, longest_contact_map(), options.on_skip});
  UniqueNames names({});
  Record record;
  std::vector<std::uint8_t> residues;
  for (std::int64_t done = 1; readable.next(record, residues); ++done) {
    maps->add(names.claim(record.id), static_cast<std::int64_t>(residues.size()), contact_map(engine, residues));
    if (options.progress) options.progress(done, -1);
  }
  maps->commit();
  return readable.counts();
}

}  // namespace biowarp
