// A program outside the tree: embeds two proteins with the installed demonstration model and prints
// "<version> <sequences> <width> <all finite> <kind of the error for a bad letter>".
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "biowarp/error.h"
#include "biowarp/model.h"
#include "biowarp/version.h"

namespace {

bool all_finite(const std::vector<float>& values) {
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return !values.empty();
}

int exit_code_for(const biowarp::Model& model, const std::string& sequence) {
  try {
    model.encode(std::vector<std::string>{sequence});
    return 0;
  } catch (const biowarp::Error& error) {
    return biowarp::exit_code(error.kind());
  }
}

}  // namespace

int main() {
  const biowarp::Model model = biowarp::Model::load();
  const biowarp::Embeddings result = model.encode(std::vector<std::string>{"MKTAYIAKQR", "GSHM"});
  std::printf("%s %d %d %d %d\n", biowarp::kVersion, static_cast<int>(result.count), static_cast<int>(result.hidden),
              all_finite(result.pooled), exit_code_for(model, "MK1!T"));
  return 0;
}
