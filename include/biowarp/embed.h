// The embed job: protein records of files in, one file of embeddings (or several numbered ones) and an index
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/export.h"
#include "biowarp/letters.h"
#include "biowarp/model.h"
#include "biowarp/sequence.h"
#include "biowarp/types.h"

namespace biowarp {

// What happens to records of more than max_length residues.
//   full      embedded whole, at any length (ESM-2's positions are rotary; it was trained on up to 1,022
//   residues) truncate  the first max_length residues are embedded window    windows of max_length residues
//   that overlap are embedded and merged (docs/embed.md has the weights) error     the record is skipped,
//   with the reason in the index
enum class LongPolicy : std::uint8_t { full, truncate, window, error };
BIOWARP_API std::string_view name_of(LongPolicy policy);
// Throws Error(usage) with the known names.
BIOWARP_API LongPolicy parse_long_policy(std::string_view text);

struct EmbedProgress {
  std::int64_t records = 0;  // done by this run, without those a resumed run already had
  std::int64_t residues = 0;
  std::int64_t residues_total = -1;  // of this run; -1: not known (yet)
};

struct EmbedJob {
  std::vector<std::string> inputs;  // files in this order; "-": standard input
  ReadOptions read;
  LetterPolicy letters;

  std::string output;           // file, or "-": standard output (tsv, csv, npy)
  std::string format;           // npy, npz, h5, safetensors, tsv, csv; empty: by the suffix of `output`
  std::vector<int> layers{-1};  // 0 .. layers; negative from the end, -1: after the final norm
  Pooling pooling = Pooling::mean;
  bool per_residue = false;      // every residue's row instead of one pooled row
  DType out_dtype = DType::f32;  // f32, f16 or bf16

  std::int64_t tokens = 0;  // token budget of a batch; 0: chosen from the model and free memory
  LongPolicy long_policy = LongPolicy::full;
  std::int64_t max_length = 1022;  // residues
  std::int64_t overlap = -1;       // residues that neighbouring windows share, at least; -1: half of max_length

  bool resume = false;        // go on behind what an interrupted run left; nothing to do if it was complete
  bool unique_ids = false;    // a repeated id ends the job with Error(input) instead of being kept
  std::int64_t shard = 0;     // records per output file; 0: one file
  bool measure_peak = false;  // afterwards, for the share of it that the job reached
  std::function<void(const EmbedProgress&)> progress;  // called from another thread
};

struct EmbedSummary {
  std::string model, model_hash, device;
  Precision precision = Precision::f32;
  bool demonstration = false;

  std::vector<std::string> files;  // outputs, without their indices
  std::string index;               // index of the (first) output; empty for standard output
  std::int64_t records = 0;        // read
  std::int64_t embedded = 0;       // have their row
  std::int64_t skipped = 0;
  std::int64_t resumed = 0;  // of `records`: taken over from an earlier run
  std::int64_t truncated = 0, windowed = 0;
  std::int64_t beyond_training = 0;       // embedded at full length although longer than 1,022 residues
  std::int64_t residues = 0;              // embedded
  std::string letter_changes;             // what was changed in letters, over all records; empty: nothing
  std::int64_t changed_records = 0;       // records whose letters were changed
  std::vector<std::string> skip_reasons;  // the first few, each with its record

  // Of this run alone:
  std::int64_t run_records = 0, run_residues = 0;
  std::int64_t run_tokens = 0;       // begin, end and window overlaps included
  double seconds = 0;                // model already loaded, output complete
  std::int64_t peak_bytes = 0;       // largest resident size of the process
  double flops = 0;                  // arithmetic of the model's matrix products and attention
  double peak_flops_per_second = 0;  // what this machine's processors can do at most; 0: not measured
};

// Throws Error(usage) for what cannot work whatever the model.
BIOWARP_API void check_embed_job(const EmbedJob& job);

// Runs the whole job. Records that cannot be embedded are skipped and listed, never a reason to stop.
// Nothing stands under its final name before it is whole. Throws Error for what concerns the job as a whole.
BIOWARP_API EmbedSummary embed(const Model& model, const EmbedJob& job);

// Lines for people.
BIOWARP_API std::string describe(const EmbedSummary& summary);
// One JSON object, the same fields and the metrics derived from them.
BIOWARP_API std::string to_json(const EmbedSummary& summary);

}  // namespace biowarp
