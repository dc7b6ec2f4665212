#include "models/export_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/fail.h"
#include "base/half.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/hf_config.h"
#include "io/safetensors_writer.h"
#include "seq/alphabet.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPaddedVocabulary = 64;
constexpr float kLargestF16 = 65504.0f;

// ---- what to write ----

// Rows of the stored tensor that come from a parameter of ours: all of them, or one of Q, K and V.
struct Piece {
  PlannedTensor tensor;
  std::string parameter;  // empty: rotary frequencies
  Part part = Part::whole;
  std::int64_t rows = 0, columns = 1;  // of values that the model has
};

class Plan {
 public:
  Plan(const OpenedModel& model, const ExportOptions& options) : model_(model), options_(options) {
    for (const ParamSpec& spec : esm2_params(model.config)) {
      if (model.params->has(spec.name)) add(spec);
    }
    if (options.naming == Naming::hf) add_rotary();
  }
  std::vector<Piece> pieces;

 private:
  void add(const ParamSpec& spec) {
    const NamingTable& table = table_of(options_.naming);
    for (const Part part : {Part::whole, Part::fused, Part::query, Part::key, Part::value}) {
      const std::string name = stored_name(table, spec.name, part);
      if (name.empty()) continue;
      std::vector<std::int64_t> shape = spec.shape;
      if (part == Part::query || part == Part::key || part == Part::value) shape[0] /= 3;
      Piece piece{
          {with_prefix(name), dtype_of(spec.name), shape}, spec.name, part, shape[0], shape.size() > 1 ? shape[1] : 1};
      if (spec.name == "contact.weight") piece.tensor.shape = {1, shape[0]};
      const bool vocabulary = shape[0] == model_.config.vocabulary && piece.part == Part::whole && is_vocabulary(spec);
      if (vocabulary && options_.naming == Naming::nv_esm) piece.tensor.shape[0] = kPaddedVocabulary;
      pieces.push_back(std::move(piece));
      if (part == Part::whole || part == Part::fused) return;
    }
  }

  void add_rotary() {
    const auto width = static_cast<std::int64_t>(model_.config.inv_freq.size());
    if (width == 0) return;
    for (std::int64_t i = 0; i < model_.config.layers; ++i) {
      const std::string name =
          with_prefix(fmt::format("encoder.layer.{}.attention.self.rotary_embeddings.inv_freq", i));
      pieces.push_back({{name, DType::f32, {width}}, "", Part::whole, width, 1});
    }
  }

  static bool is_vocabulary(const ParamSpec& spec) {
    return spec.name == "embed.weight" || spec.name == "lm_head.decoder.weight" || spec.name == "lm_head.bias";
  }

  std::string with_prefix(const std::string& name) const {
    if (name.rfind("lm_head.", 0) == 0) return name;
    return (options_.naming == Naming::nv_esm ? "model." : "esm.") + name;
  }

  DType dtype_of(const std::string& parameter) const {
    if (options_.dtype) return *options_.dtype;
    const DType stored = model_.params->stored_dtype(parameter);
    return stored == DType::f64 ? DType::f32 : stored;
  }

  const OpenedModel& model_;
  const ExportOptions& options_;
};

// ---- values ----

float lowest_of(DType dtype) {
  constexpr std::uint16_t kLowestBf16 = 0xff7f;
  if (dtype == DType::f16) return -kLargestF16;
  return dtype == DType::bf16 ? bf16_to_f32(kLowestBf16) : std::numeric_limits<float>::lowest();
}

class ValueWriter {
 public:
  ValueWriter(const OpenedModel& model, const ExportOptions& options, SafetensorsWriter& file, std::int64_t total)
      : model_(model), options_(options), file_(file), total_(total) {}

  void write(const Piece& piece) {
    if (piece.parameter.empty()) return put(piece, model_.config.inv_freq.data(), piece.rows);
    const bool third = piece.part == Part::query || piece.part == Part::key || piece.part == Part::value;
    const std::int64_t step = third ? model_.config.head_width() : rows_per_step(piece.columns);
    for (std::int64_t row = 0; row < piece.rows; row += step) {
      const std::int64_t count = std::min(step, piece.rows - row);
      values_.resize(static_cast<std::size_t>(count * piece.columns));
      model_.params->read(piece.parameter, third ? fused_row(piece.part, row) : row, count, values_.data());
      put(piece, values_.data(), count * piece.columns);
    }
    pad(piece);
  }

 private:
  static std::int64_t rows_per_step(std::int64_t columns) {
    constexpr std::int64_t kValues = 1 << 20;
    return std::max<std::int64_t>(1, kValues / columns);
  }

  // Row of [H, 3, D] that holds row `row` of query, key or value; `row` begins a head.
  std::int64_t fused_row(Part part, std::int64_t row) const {
    const std::int64_t D = model_.config.head_width();
    const std::int64_t which = part == Part::query ? 0 : part == Part::key ? 1 : 2;
    return (row / D * 3 + which) * D;
  }

  void put(const Piece& piece, const float* values, std::int64_t count) {
    const DType dtype = piece.tensor.dtype;
    if (dtype == DType::f16) check_f16(piece, values, count);
    bytes_.resize(static_cast<std::size_t>(count) * size_of(dtype));
    convert_from_f32(dtype, values, count, bytes_.data());
    file_.write(bytes_.data(), bytes_.size());
    done_ += static_cast<std::int64_t>(bytes_.size());
    if (options_.progress) options_.progress(done_, total_);
  }

  static void check_f16(const Piece& piece, const float* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::abs(values[i]) > kLargestF16 && std::isfinite(values[i])) {
        fail_input("{}: the value {} is too large for f16 (at most {}); use bf16 or f32", piece.tensor.name, values[i],
                   kLargestF16);
      }
    }
  }

  // Rows that only fill the vocabulary up: zeros, in the bias the lowest number, as NVIDIA writes them.
  void pad(const Piece& piece) {
    const std::int64_t missing = piece.tensor.elements() - piece.rows * piece.columns;
    if (missing == 0) return;
    const bool bias = piece.columns == 1;
    values_.assign(static_cast<std::size_t>(missing), bias ? lowest_of(piece.tensor.dtype) : 0.0f);
    put(piece, values_.data(), missing);
  }

  const OpenedModel& model_;
  const ExportOptions& options_;
  SafetensorsWriter& file_;
  std::int64_t done_ = 0, total_;
  std::vector<float> values_;
  std::vector<std::byte> bytes_;
};

// ---- files beside the weights ----

HfConfig config_of(const OpenedModel& model, const ExportOptions& options, const std::vector<Piece>& pieces) {
  const Esm2Config& from = model.config;
  const bool nv = options.naming == Naming::nv_esm;
  HfConfig config;
  config.model_type = nv ? "nv_esm" : "esm";
  const std::string architecture = from.has_lm_head ? "EsmForMaskedLM" : "EsmModel";
  config.architectures = {nv ? "NV" + architecture : architecture};
  config.hidden_size = from.hidden;
  config.num_hidden_layers = from.layers;
  config.num_attention_heads = from.heads;
  config.intermediate_size = from.feed_forward;
  config.vocab_size = from.vocabulary;
  // The shortest decimal that reads back as the same f32: 1e-05, not 9.999999747378752e-06.
  config.layer_norm_eps = std::stod(fmt::format("{}", from.layer_norm_eps));
  config.token_dropout = from.token_dropout;
  if (nv) {
    config.padded_vocab_size = kPaddedVocabulary;
    config.qkv_weight_interleaved = true;
  }
  if (model.params->has("lm_head.decoder.weight")) config.tie_word_embeddings = false;
  const DType first = pieces[0].tensor.dtype;
  const bool same = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return piece.parameter.empty() || piece.tensor.dtype == first;
  });
  config.torch_dtype = !same || first == DType::f32 ? "float32" : first == DType::f16 ? "float16" : "bfloat16";
  return config;
}

std::string vocabulary_text() {
  std::string text;
  for (const std::string_view token : esm::kTokens) text.append(token).append("\n");
  return text;
}

constexpr const char* kSpecialTokens = R"({
  "cls_token": "<cls>",
  "eos_token": "<eos>",
  "mask_token": "<mask>",
  "pad_token": "<pad>",
  "unk_token": "<unk>"
}
)";
constexpr const char* kTokenizerConfig = R"({
  "cls_token": "<cls>",
  "eos_token": "<eos>",
  "mask_token": "<mask>",
  "pad_token": "<pad>",
  "unk_token": "<unk>",
  "tokenizer_class": "EsmTokenizer",
  "do_lower_case": false
}
)";

constexpr const char* kFiles[] = {"config.json",           "vocab.txt",
                                  "tokenizer_config.json", "special_tokens_map.json",
                                  "model.safetensors",     "model.safetensors.partial"};

// The folder under construction, beside its final name. What an interrupted conversion left there is removed.
fs::path begin_folder(const std::string& target) {
  if (fs::exists(target)) fail_usage("{} exists already; name a folder that does not", target);
  const fs::path partial = fs::path(target).lexically_normal().string() + ".partial";
  std::error_code error;
  for (const char* name : kFiles) fs::remove(partial / name, error);
  fs::create_directories(partial, error);
  if (error) fail_input("cannot create {}: {}", partial.string(), error.message());
  if (!fs::is_empty(partial)) fail_usage("{} exists and holds other files", partial.string());
  return partial;
}

std::vector<std::string> losses(const OpenedModel& model, Naming naming) {
  std::vector<std::string> notes;
  if (naming != Naming::nv_esm) return notes;
  if (model.config.has_contact_head) {
    notes.emplace_back("nv_esm has no place for the contact head: it is left out, and contacts need the original");
  }
  if (!model.config.inv_freq.empty()) {
    notes.emplace_back("nv_esm has no place for rotary frequencies: they are computed anew when it is loaded");
  }
  notes.emplace_back("transformers needs NVIDIA's esm_nv.py beside these files to run them; biowarp does not");
  return notes;
}

}  // namespace

ExportReport export_model(const OpenedModel& model, const ExportOptions& options) {
  if (options.naming != Naming::hf && options.naming != Naming::nv_esm) fail_usage("biowarp writes hf and nv_esm only");
  if (options.dtype && *options.dtype != DType::f32 && *options.dtype != DType::f16 && *options.dtype != DType::bf16) {
    fail_usage("weights are written as f32, f16 or bf16, not as {}", name_of(*options.dtype));
  }
  std::string target = fs::path(options.folder).lexically_normal().string();
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const Plan plan(model, options);
  ExportReport report;
  std::vector<PlannedTensor> tensors;
  for (const Piece& piece : plan.pieces) {
    tensors.push_back(piece.tensor);
    report.bytes += piece.tensor.elements() * static_cast<std::int64_t>(size_of(piece.tensor.dtype));
  }
  report.tensors = static_cast<std::int64_t>(tensors.size());
  report.notes = losses(model, options.naming);

  const fs::path folder = begin_folder(target);
  write_text(folder / "config.json", hf_config_text(config_of(model, options, plan.pieces)));
  write_text(folder / "vocab.txt", vocabulary_text());
  write_text(folder / "tokenizer_config.json", kTokenizerConfig);
  write_text(folder / "special_tokens_map.json", kSpecialTokens);
  SafetensorsWriter file((folder / "model.safetensors").string(), tensors, {{"format", "pt"}});
  ValueWriter values(model, options, file, report.bytes);
  for (const Piece& piece : plan.pieces) values.write(piece);
  file.finish();
  std::error_code error;
  fs::rename(folder, target, error);
  if (error) fail_input("cannot rename {} to {}: {}", folder.string(), target, error.message());
  return report;
}

}  // namespace biowarp
