// The embed job over any forward pass; embed() of biowarp/embed.h runs it over a model.
#pragma once

#include "biowarp/embed.h"
#include "tasks/embed_compute.h"
#include "tasks/embed_output.h"

namespace biowarp {

// Checks the job against the model and fills in what was left open. Throws Error(usage).
EmbedSettings resolve_job(const EmbedJob& job, const ModelInfo& model, const std::vector<int>& layers);

// Residues of a batch are computed by `forward`; everything else is the job's. Model, flops and memory of the
// summary are left to the caller.
EmbedSummary run_embed_job(const EmbedJob& job, const EmbedSettings& settings, const ForwardPass& forward);

}  // namespace biowarp
