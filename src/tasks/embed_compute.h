// The computing part of an embed job: hidden states of a batch become the values of its records.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "mem/context.h"
#include "tasks/embed_record.h"

namespace biowarp {

// Takes a hidden state [T, C] of the batch; `layer` counts the layers asked for, from 0.
using LayerSink = std::function<void(Context& context, std::int64_t layer, const float* hidden)>;

// Runs a model over a batch. Throws Error(device) or std::bad_alloc when memory does not suffice.
using ForwardPass = std::function<void(const PackedBatch& batch, const LayerSink& sink)>;

// Why a record with these values cannot be written in this type, as a phrase; empty when it can.
std::string unfit_value(std::span<const float> values, DType dtype);

// Fills `values` of the records that are complete with `batch`. A record alone in a batch that memory cannot
// hold is marked as skipped; so is a record with a result that is not finite.
void compute_batch(const EmbedSettings& settings, const ForwardPass& forward, EmbedBatch& batch);

}  // namespace biowarp
