// fair-esm's esm-extract over an engine (biowarp/extract.h).
#include "biowarp/extract.h"

#include <algorithm>
#include <filesystem>

#include "base/fail.h"
#include "base/hash.h"
#include "io/file.h"
#include "io/torch_writer.h"
#include "io/unique_names.h"
#include "ops/pool/pool.h"
#include "tasks/contact_map.h"
#include "tasks/embed_compute.h"
#include "tasks/embed_reader.h"
#include "tasks/engine.h"

namespace biowarp {
namespace {

constexpr std::size_t kLongestStem = 200;  // bytes of a file name without ".pt"; file systems take 255

// A label as a file name: no path separators or control characters, no leading dot, not too long.
std::string file_stem(const std::string& label) {
  std::string stem = label;
  std::replace_if(
      stem.begin(), stem.end(), [](unsigned char c) { return c == '/' || c == '\\' || c < 0x20; }, '_');
  if (stem.empty() || stem[0] == '.') stem.insert(stem.begin(), '_');
  if (stem.size() <= kLongestStem) return stem;
  std::size_t cut = kLongestStem;
  while ((static_cast<unsigned char>(stem[cut]) & 0xc0u) == 0x80u) --cut;  // not inside a UTF-8 character
  return stem.substr(0, cut) + "~" + content_hash(label.data(), label.size()).substr(0, 8);
}

std::string label_of(const IndexLine& line) {
  return line.description.empty() ? line.id : line.id + " " + line.description;
}

EmbedSettings settings_for(const Engine& engine, const ExtractOptions& options) {
  EmbedSettings settings;
  settings.layout.layers = resolve_layers(options.layers, engine.config());
  settings.layout.hidden = engine.config().hidden;
  settings.letters = options.letters;
  settings.long_policy = LongPolicy::truncate;
  settings.max_length = options.max_length;
  settings.token_budget = options.tokens;
  settings.largest_tokens = engine.largest_sequence();
  if (options.contacts) settings.largest_tokens = std::min(settings.largest_tokens, longest_contact_map() + 2);
  return settings;
}

// What is taken of the hidden states of one record: {layer: values} by kind.
struct Extracted {
  TorchDict per_tok, mean, bos;
};

class Extraction {
 public:
  Extraction(Engine& engine, const ExtractOptions& options)
      : engine_(engine),
        options_(options),
        settings_(settings_for(engine, options)),
        names_({}),
        index_((std::filesystem::path(options.output_dir) / "index.tsv").string()) {
    index_.write(kIndexHeader);
  }

  RecordCounts run(RecordReader& records) {
    BatchCutter cutter(settings_, [this](EmbedBatch batch) {
      take_batch(batch);
      return true;
    });
    Record record;
    while (records.next(record)) cutter.add(prepare_record(settings_, record));
    cutter.flush();
    index_.commit();
    counts_.changes = describe(changes_);
    return counts_;
  }

 private:
  void take_batch(EmbedBatch& batch) {
    std::vector<Extracted> extracted;
    try {
      extracted = compute(batch);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device || batch.segments.size() != 1) throw;
      batch.segments[0].record->line.reason = error.what();
    }
    std::size_t sequence = 0;
    for (const auto& record : batch.records) {
      if (!record->skipped()) write(*record, std::move(extracted[sequence++]));
      finish(*record);
    }
  }

  std::vector<Extracted> compute(const EmbedBatch& batch) {
    std::vector<Extracted> extracted(batch.segments.size());
    if (extracted.empty()) return extracted;
    engine_.with_session(batch.packed.rows(), [&](Esm2Session& session, Context& context) {
      session.forward(batch.packed, settings_.layout.layers, [&](int layer, const float* hidden) {
        if (options_.mean) pool(context, batch.packed, layer, hidden, extracted);
        for (std::size_t n = 0; n < extracted.size(); ++n) copy_rows(batch.packed, n, layer, hidden, extracted[n]);
      });
    });
    return extracted;
  }

  void pool(Context& context, const PackedBatch& batch, int layer, const float* hidden,
            std::vector<Extracted>& extracted) const {
    const std::int64_t width = settings_.layout.hidden;
    std::vector<float> pooled(extracted.size() * static_cast<std::size_t>(width));
    pool_rows(context, {hidden, batch.cu_lens, width, Pooling::mean, pooled.data(), width});
    for (std::size_t n = 0; n < extracted.size(); ++n) {
      const float* row = pooled.data() + static_cast<std::int64_t>(n) * width;
      extracted[n].mean.items.emplace_back(std::int64_t{layer}, TorchTensor{{width}, {row, row + width}});
    }
  }

  void copy_rows(const PackedBatch& batch, std::size_t n, int layer, const float* hidden, Extracted& extracted) const {
    const std::int64_t width = settings_.layout.hidden;
    const std::int64_t length = batch.length(static_cast<std::int64_t>(n)) - 2;
    const float* begin = hidden + batch.cu_lens[n] * width;
    if (options_.bos) {
      extracted.bos.items.emplace_back(std::int64_t{layer}, TorchTensor{{width}, {begin, begin + width}});
    }
    if (options_.per_tok) {
      const float* residues = begin + width;
      extracted.per_tok.items.emplace_back(std::int64_t{layer},
                                           TorchTensor{{length, width}, {residues, residues + length * width}});
    }
  }

  void write(EmbedRecord& record, Extracted extracted) {
    record.line.reason = unfit(extracted);
    if (record.skipped()) return;
    TorchDict result;
    result.items.emplace_back("label", label_of(record.line));
    if (options_.per_tok) result.items.emplace_back("representations", std::move(extracted.per_tok));
    if (options_.mean) result.items.emplace_back("mean_representations", std::move(extracted.mean));
    if (options_.bos) result.items.emplace_back("bos_representations", std::move(extracted.bos));
    if (options_.contacts) {
      result.items.emplace_back("contacts",
                                TorchTensor{{record.length(), record.length()}, contact_map(engine_, record.tokens)});
    }
    record.line.row = counts_.records - counts_.skipped;
    record.line.key = names_.claim(file_stem(label_of(record.line))) + ".pt";
    write_torch_file((std::filesystem::path(options_.output_dir) / record.line.key).string(), result);
  }

  static std::string unfit(const Extracted& extracted) {
    for (const TorchDict* dict : {&extracted.per_tok, &extracted.mean, &extracted.bos}) {
      for (const auto& [layer, value] : dict->items) {
        const std::string why = unfit_value(std::get<TorchTensor>(value).values, DType::f32);
        if (!why.empty()) return why;
      }
    }
    return "";
  }

  void finish(const EmbedRecord& record) {
    index_.write(format_index_line(record.line));
    ++counts_.records;
    changes_ += record.letters;
    counts_.cropped += record.truncated;
    if (record.skipped()) {
      ++counts_.skipped;
      if (options_.on_skip) options_.on_skip(record.line.id, record.line.reason);
    } else {
      counts_.residues += record.line.length;
    }
    if (options_.progress) options_.progress(counts_.records, -1);
  }

  Engine& engine_;
  const ExtractOptions& options_;
  const EmbedSettings settings_;
  UniqueNames names_;
  AtomicFile index_;
  RecordCounts counts_;
  LetterChanges changes_;
};

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!std::filesystem::is_directory(path)) fail_input("cannot create the folder {}: {}", path, error.message());
}

}  // namespace

RecordCounts extract(const Model& model, RecordReader& records, const ExtractOptions& options) {
  Engine& engine = *model.impl()->engine;
  if (!options.mean && !options.per_tok && !options.bos && !options.contacts) {
    fail_usage("expected something to extract: mean, per_tok, bos or contacts");
  }
  if (options.contacts) require_contact_head(engine);
  make_folder(options.output_dir);
  return Extraction(engine, options).run(records);
}

}  // namespace biowarp
