#include "tasks/embed_compute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>

#include "base/fail.h"
#include "ops/pool/pool.h"

namespace biowarp {
namespace {

// One batch under way. Shapes: T tokens, N sequences of the batch; L residues of a record; C hidden.
class BatchRun {
 public:
  BatchRun(const EmbedSettings& settings, EmbedBatch& batch)
      : settings_(settings), batch_(batch), width_(settings.layout.hidden), layers_(settings.layout.layer_count()) {
    for (const EmbedSegment& segment : batch_.segments) reserve(*segment.record);
    if (!settings_.layout.per_residue) pooled_.resize(static_cast<std::size_t>(batch_.packed.sequences() * width_));
  }

  void take_layer(Context& context, std::int64_t layer, const float* hidden) {
    if (!settings_.layout.per_residue) {
      pool_rows(context, {hidden, batch_.packed.cu_lens, width_, settings_.pooling, pooled_.data(), width_});
    }
    for (std::size_t n = 0; n < batch_.segments.size(); ++n) {
      const EmbedSegment& segment = batch_.segments[n];
      if (segment.record->skipped()) continue;  // given up in an earlier batch
      const float* rows = hidden + batch_.packed.cu_lens[n] * width_;
      segment.record->windows ? merge_window(segment, layer, rows) : take_record(*segment.record, n, layer, rows);
    }
    for (const auto& record : batch_.records) {
      if (record->windows && !record->skipped()) finish_windows(context, *record, layer);
    }
  }

 private:
  void reserve(EmbedRecord& record) {
    if (record.skipped()) return;
    const std::int64_t rows = settings_.layout.per_residue ? record.length() : 1;
    record.values.resize(static_cast<std::size_t>(layers_ * rows * width_));
    if (record.windows) record.merged.resize(static_cast<std::size_t>(layers_ * (record.length() + 2) * width_));
  }

  float* merged_layer(EmbedRecord& record, std::int64_t layer) const {
    return record.merged.data() + layer * (record.length() + 2) * width_;
  }

  // rows: [L + 2, C] of a record that is one sequence
  void take_record(EmbedRecord& record, std::size_t n, std::int64_t layer, const float* rows) const {
    if (settings_.layout.per_residue) {
      const std::int64_t elements = record.length() * width_;
      std::copy_n(rows + width_, elements, record.values.data() + layer * elements);
    } else {
      std::copy_n(pooled_.data() + static_cast<std::int64_t>(n) * width_, width_,
                  record.values.data() + layer * width_);
    }
  }

  // The begin row is the first window's, the end row the last one's; residues are weighted sums, added in the
  // order of the windows.
  void merge_window(const EmbedSegment& segment, std::int64_t layer, const float* rows) const {
    EmbedRecord& record = *segment.record;
    const Windows& windows = *record.windows;
    const std::vector<float> weights = windows.weights(segment.window);
    float* merged = merged_layer(record, layer);
    if (segment.window == 0) std::copy_n(rows, width_, merged);
    for (std::int64_t i = 0; i < windows.length(); ++i) {
      const float weight = weights[static_cast<std::size_t>(i)];
      const float* from = rows + (i + 1) * width_;
      float* to = merged + (windows.start(segment.window) + i + 1) * width_;
      for (std::int64_t c = 0; c < width_; ++c) to[c] += weight * from[c];
    }
    if (segment.window + 1 == windows.count()) {
      std::copy_n(rows + (windows.length() + 1) * width_, width_, merged + (record.length() + 1) * width_);
    }
  }

  void finish_windows(Context& context, EmbedRecord& record, std::int64_t layer) const {
    const float* merged = merged_layer(record, layer);
    if (settings_.layout.per_residue) {
      const std::int64_t elements = record.length() * width_;
      std::copy_n(merged + width_, elements, record.values.data() + layer * elements);
    } else {
      const std::array<std::int64_t, 2> cu_lens{0, record.length() + 2};
      pool_rows(context, {merged, cu_lens, width_, settings_.pooling, record.values.data() + layer * width_, width_});
    }
    if (layer + 1 == layers_) record.merged = {};
  }

  const EmbedSettings& settings_;
  EmbedBatch& batch_;
  const std::int64_t width_, layers_;
  std::vector<float> pooled_;  // [N, C] of the layer at hand
};

void skip(EmbedRecord& record, const std::string& reason) {
  record.line.reason = reason;
  record.values = {};
  record.merged = {};
}

bool only_one_record(const EmbedBatch& batch) {
  return std::all_of(batch.segments.begin(), batch.segments.end(),
                     [&](const EmbedSegment& segment) { return segment.record == batch.segments[0].record; });
}

}  // namespace

std::string unfit_value(std::span<const float> values, DType dtype) {
  constexpr float kInfiniteF16 = 65520.0f;  // halfway between the largest f16, 65504, and the next power of two
  for (const float value : values) {
    if (!std::isfinite(value)) return fmt::format("a value of its embedding is {}", value);
    if (dtype == DType::f16 && std::abs(value) >= kInfiniteF16) {
      return fmt::format("its embedding holds {}, which f16 cannot; use --out-dtype bf16 or f32", value);
    }
  }
  return "";
}

void compute_batch(const EmbedSettings& settings, const ForwardPass& forward, EmbedBatch& batch) {
  const bool alone = !batch.segments.empty() && only_one_record(batch);
  const bool given_up = alone && batch.segments[0].record->skipped();
  if (!batch.segments.empty() && !given_up) {
    const auto give_up = [&](const char* why) {
      if (!alone) fail(ErrorKind::device, "{}; a smaller --tokens needs less memory", why);
      skip(*batch.segments[0].record, fmt::format("memory does not suffice: {}", why));
    };
    try {
      BatchRun run(settings, batch);
      forward(batch.packed, [&](Context& context, std::int64_t layer, const float* hidden) {
        run.take_layer(context, layer, hidden);
      });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device) throw;
      give_up(error.what());
    } catch (const std::bad_alloc&) {
      give_up("out of memory");
    }
  }
  for (const auto& record : batch.records) {
    if (record->skipped()) continue;
    const std::string unfit = unfit_value(record->values, settings.layout.dtype);
    if (!unfit.empty()) skip(*record, unfit);
  }
}

}  // namespace biowarp
