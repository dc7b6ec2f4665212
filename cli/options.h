// Options that several commands share, so that every command spells them alike.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "biowarp/letters.h"
#include "biowarp/model.h"
#include "biowarp/sequence.h"

// --model --revision --adapter --dtype --threads --tanh-gelu --device
class ModelFlags {
 public:
  void declare(CLI::App& app);
  // Throws Error(usage) for an unknown precision and Error(device) for a device that biowarp cannot use.
  biowarp::ModelOptions read() const;

 private:
  std::string name_, revision_, adapter_;
  std::string dtype_ = "f32", device_ = "auto";
  int threads_ = 0;
  bool tanh_gelu_ = false;
};

// IN... --seq-col --id-col --strip-gaps --soft-mask
struct InputFlags {
  std::vector<std::string> paths;
  biowarp::ReadOptions read;
  biowarp::LetterPolicy letters;

  // required: at least one input must be named ("-" is standard input).
  void declare(CLI::App& app, bool required = true);
};

// --tokens; 0 means chosen from the model and the free memory.
void declare_tokens(CLI::App& app, std::int64_t& tokens);

// --keep-going: exit code 0 although records were skipped.
void declare_keep_going(CLI::App& app, bool& keep_going);

// Loads the model and says on stderr what a person should know about it.
biowarp::Model load_model(const ModelFlags& flags);
