// Writing a model as a checkpoint folder that other programs load.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/naming.h"
#include "models/open_model.h"

namespace biowarp {

struct ExportOptions {
  std::string folder;          // must not exist
  Naming naming = Naming::hf;  // hf or nv_esm
  std::optional<DType> dtype;  // f32, f16 or bf16; nothing: every parameter as it is stored (f64 as f32)
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // bytes
};

struct ExportReport {
  std::int64_t tensors = 0, bytes = 0;
  std::vector<std::string> notes;
};

// hf: per-layer inv_freq when the model has its own frequencies, no decoder when it is tied.
// nv_esm: the names since 2026 (`model.` prefix), fused QKV interleaved per head, 64 vocabulary rows; it has no place
// for the contact head and for rotary frequencies, which is noted.
ExportReport export_model(const OpenedModel& model, const ExportOptions& options);

}  // namespace biowarp
