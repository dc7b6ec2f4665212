// Perplexity of a masked language model on protein records. There is no single such number: every report
// carries the definition it was computed by (docs/perplexity.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/export.h"
#include "biowarp/letters.h"
#include "biowarp/model.h"
#include "biowarp/records.h"
#include "biowarp/sequence.h"

namespace biowarp {

// What stands at a selected residue in the input.
//   mixed  80 % <mask>, 10 % a random letter, 10 % the letter itself (BERT's and ESM-2's training)
//   mask   always <mask>
enum class MaskScheme : std::uint8_t { mixed, mask };
BIOWARP_API MaskScheme parse_mask_scheme(std::string_view text);  // "80/10/10" or "mask"

// Where random letters come from: the 20 standard amino acids, or all 33 tokens (as Hugging Face's collator).
enum class RandomLetters : std::uint8_t { amino_acids, vocabulary };
BIOWARP_API RandomLetters parse_random_letters(std::string_view text);  // "aa" or "vocab"

struct MaskOptions {
  double rate = 0.15;  // probability that a residue is selected, each on its own
  MaskScheme scheme = MaskScheme::mixed;
  RandomLetters random = RandomLetters::amino_acids;
  std::uint64_t seed = 0;  // selection is a pure function of (seed, record number, residue number)
  std::string masks_file;  // take selection and inputs from this table instead (format: docs/perplexity.md)
};

struct ScoringOptions {
  std::int64_t max_length = 1022;  // only the first so many residues of a record are used; 0: all
  LetterPolicy letters;
  std::int64_t tokens = 0;   // token budget of a batch; 0: chosen from the model and free memory
  std::string records_file;  // table with one row per record; "-": standard output; empty: none
  Progress progress;         // records done; total -1: not known
  SkipHandler on_skip;
};

struct PerplexityReport {
  std::string definition;
  MaskedLoss total;
  std::map<std::string, MaskedLoss> groups;  // by what stands before the first ':' or '|' of the id
  RecordCounts counts;
};

// Masked-language-model loss of all records. dump_masks: file for the table of selections; empty: none.
BIOWARP_API PerplexityReport masked_perplexity(const Model& model, RecordReader& records, const MaskOptions& masks,
                                               const ScoringOptions& scoring, const std::string& dump_masks = "");

// The same for sequences in memory; record numbers are their places. Throws Error(input) for a letter that
// cannot be read.
BIOWARP_API MaskedLoss masked_loss(const Model& model, std::span<const std::string> sequences,
                                   const MaskOptions& masks = {}, std::int64_t max_length = 1022);

// Pseudo-log-likelihood: every residue scored with only itself masked, L passes for L residues.
struct PseudoReport {
  std::string definition;
  double pll_sum = 0;   // sum of natural logs over all residues of all records
  double pll_mean = 0;  // pll_sum / residues
  double pppl = 0;      // exp(-pll_mean)
  RecordCounts counts;
};

BIOWARP_API PseudoReport pseudo_perplexity(const Model& model, RecordReader& records, const ScoringOptions& scoring);

}  // namespace biowarp
