// How fast this machine runs a model: throughput, latency, memory, and where the time goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "biowarp/export.h"
#include "biowarp/model.h"
#include "biowarp/sequence.h"

namespace biowarp {

struct BenchOptions {
  ModelOptions model;
  std::vector<std::string> paths;  // empty: a built-in mix of lengths as in Swiss-Prot, random residues
  ReadOptions read;
  std::int64_t limit = 0;          // first so many records; 0: all of a file, 64 of the built-in mix
  std::int64_t max_length = 1022;  // records cropped to so many residues; 0: full length
  std::int64_t tokens = 0;         // token budget of a batch; 0: chosen from the model and free memory
  int repeat = 3;                  // timed rounds
  bool ops = true;                 // one further round for the table of ops
  Progress progress;               // rounds done, rounds in all
};

// Time of one kind of op, summed over workers.
struct BenchOp {
  std::string name;
  double seconds = 0;
  double share = 0;             // of all workers' time in the round
  double flops_per_second = 0;  // of one worker; 0: not counted
};

struct BenchReport {
  ModelInfo model;
  int processors = 0;  // this process may use
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;   // of all sequences, begin and end tokens included
  std::int64_t longest = 0;  // tokens
  std::int64_t budget = 0;   // tokens of a batch

  double load_seconds = 0;          // opening and packing the model
  double first_result_seconds = 0;  // from the start of the process to the first short sequence's embedding
  double latency_seconds = 0;       // of that sequence when all is warm; median
  std::int64_t latency_tokens = 0;

  std::vector<double> round_seconds;
  double tokens_per_second = 0;      // median round
  double ms_per_sequence = 0;        // median round
  double flops_per_second = 0;       // matrix products and attention of the model, all workers; from the profiled round
  double peak_flops_per_second = 0;  // of matrix products whose panels and weights stay in the caches, all workers
  std::int64_t peak_bytes = 0;       // largest resident size of the process
  std::vector<BenchOp> ops;          // from a round of its own; "waiting" is what the ops do not cover
};

BIOWARP_API BenchReport run_bench(const BenchOptions& options);

}  // namespace biowarp
