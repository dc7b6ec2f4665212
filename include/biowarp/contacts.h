// Contact maps of many proteins, written to one file.
#pragma once

#include <cstdint>
#include <string>

#include "biowarp/export.h"
#include "biowarp/letters.h"
#include "biowarp/model.h"
#include "biowarp/records.h"

namespace biowarp {

struct ContactOptions {
  // By suffix: .npz, one [L, L] f32 map per record, named by its id; .tsv (or "-", standard output), one row
  // per pair of residues: id, i, j (1-based, i < j), probability. A taken id gets the next free "id#k".
  std::string output;
  double min_probability = 0.1;     // .tsv: pairs below are left out
  std::int64_t min_separation = 6;  // .tsv: pairs with j - i below are left out
  LetterPolicy letters;
  Progress progress;  // records done; total -1: not known
  SkipHandler on_skip;
};

// Throws Error(input) when the model has no trained contact head, before anything is read or written.
BIOWARP_API RecordCounts write_contacts(const Model& model, RecordReader& records, const ContactOptions& options);

}  // namespace biowarp
