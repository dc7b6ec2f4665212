#include "biowarp/checkpoint.h"

#include "base/fail.h"
#include "models/export_model.h"
#include "models/open_model.h"

namespace biowarp {
namespace {

OpenedModel open(const ModelOptions& options) {
  return open_model({options.name, options.revision, options.adapter, options.tanh_gelu});
}

// Weights as they are packed: matrices in the precision, with an f32 scale and an i32 sum per row in int8; vectors and
// the embedding in f32.
std::int64_t packed_bytes(const std::vector<ParamSpec>& specs, Precision precision) {
  std::int64_t bytes = 0;
  for (const ParamSpec& spec : specs) {
    if (!spec.required) continue;
    std::int64_t elements = 1;
    for (const std::int64_t size : spec.shape) elements *= size;
    const bool matrix = spec.role == ParamRole::weight && spec.shape.size() == 2;
    if (!matrix || precision == Precision::f32) {
      bytes += elements * 4;
    } else if (precision == Precision::bf16) {
      bytes += elements * 2;
    } else {
      bytes += elements + spec.shape[0] * 8;
    }
  }
  return bytes;
}

ModelInfo describe(const OpenedModel& opened) {
  const Esm2Config& config = opened.config;
  ModelInfo info;
  info.name = opened.name;
  info.path = opened.path;
  info.format = opened.format;
  info.hash = opened.params->hash();
  info.layers = config.layers;
  info.hidden = config.hidden;
  info.heads = config.heads;
  info.feed_forward = config.feed_forward;
  info.vocabulary = config.vocabulary;
  info.parameters = count_parameters(config);
  info.lm_head = config.has_lm_head;
  info.contact_head = config.has_contact_head;
  info.demonstration = opened.demonstration;
  info.notes = opened.notes;
  return info;
}

}  // namespace

CheckpointInfo inspect_checkpoint(const ModelOptions& options) {
  const OpenedModel opened = open(options);
  const std::vector<ParamSpec> specs = esm2_params(opened.config);
  CheckpointInfo info;
  info.model = describe(opened);
  info.layer_norm_eps = std::stod(fmt::format("{}", opened.config.layer_norm_eps));
  info.token_dropout = opened.config.token_dropout;
  info.stored_rotary = !opened.config.inv_freq.empty();
  for (const ParamSpec& spec : specs) {
    if (opened.params->has(spec.name)) {
      info.parameters.push_back({spec.name, spec.shape, opened.params->stored_dtype(spec.name)});
    }
  }
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    info.memory.emplace_back(precision, packed_bytes(specs, precision));
  }
  return info;
}

std::string_view name_of(CheckpointFormat format) { return format == CheckpointFormat::hf ? "hf" : "nv_esm"; }

CheckpointFormat parse_checkpoint_format(std::string_view text) {
  for (const CheckpointFormat format : {CheckpointFormat::hf, CheckpointFormat::nv_esm}) {
    if (name_of(format) == text) return format;
  }
  fail_usage("unknown checkpoint format \"{}\", expected hf or nv_esm", text);
}

ConvertReport convert_checkpoint(const ConvertOptions& options) {
  const OpenedModel opened = open(options.source);
  const Naming naming = options.format == CheckpointFormat::hf ? Naming::hf : Naming::nv_esm;
  const ExportReport report = export_model(opened, {options.destination, naming, options.dtype, options.progress});
  std::vector<std::string> notes = opened.notes;
  notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  return {report.tensors, report.bytes, notes};
}

}  // namespace biowarp
