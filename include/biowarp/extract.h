// fair-esm's `esm-extract` (scripts/extract.py): one torch file per record.
//
// <OUTDIR>/<label>.pt holds a dictionary that torch.load(weights_only=True) reads:
//   label                  the whole header line
//   representations        {layer: [L, C]}   with per_tok
//   mean_representations   {layer: [C]}      with mean: over the residues
//   bos_representations    {layer: [C]}      with bos: the begin token's row
//   contacts               [L, L]            with contacts
// L counts the residues kept. Labels become file names only as far as they are safe; <OUTDIR>/index.tsv tells which
// file belongs to which record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "biowarp/export.h"
#include "biowarp/letters.h"
#include "biowarp/model.h"
#include "biowarp/records.h"
#include "biowarp/sequence.h"

namespace biowarp {

struct ExtractOptions {
  std::string output_dir;
  std::vector<int> layers{-1};  // 0 .. layers; negative from the end, -1: after the final norm
  bool mean = false, per_tok = false, bos = false, contacts = false;
  std::int64_t tokens = 4096;      // token budget of a batch
  std::int64_t max_length = 1022;  // residues kept of a longer record
  LetterPolicy letters;
  Progress progress;  // (records done, -1)
  // Called for a record that has no result.
  std::function<void(const std::string& id, const std::string& reason)> on_skip;
};

// Throws Error(input) when contacts are asked of a model without a trained contact head.
BIOWARP_API RecordCounts extract(const Model& model, RecordReader& records, const ExtractOptions& options);

}  // namespace biowarp
