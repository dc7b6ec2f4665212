// Damaged checkpoints either load or are refused: whatever a byte becomes, nothing is read outside the file and only
// biowarp::Error is thrown. (The formats alone are fuzzed in tests/fuzz; here the whole way to parameters is gone.)
#include <gmock/gmock.h>

#include <fstream>

#include "io/file.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

using namespace testing_checkpoints;

class Mutation : public testing::TestWithParam<const char*> {};

TEST_P(Mutation, NeverEscapes) {
  constexpr int kMutations = 200;
  const std::string source = golden(GetParam());
  const std::string whole = read_text(source);
  const TemporaryFolder folder;
  const std::string path = folder / std::filesystem::path(source).filename().string();
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = whole;
    // Headers of safetensors stand first, pickles and directories of archives at both ends.
    const std::uint64_t reach = std::min<std::uint64_t>(bytes.size(), 6000);
    for (std::uint64_t k = 0; k <= random(3); ++k) {
      const std::uint64_t at = random(2) == 0 ? random(reach) : bytes.size() - 1 - random(reach);
      bytes[at] = static_cast<char>(random(3) == 0 ? '0' + random(10) : random(256));
    }
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      const OpenedModel model = open(path);
      for (const ParamSpec& spec : esm2_params(model.config)) {
        if (model.params->has(spec.name)) values(model, spec);
      }
      model.params->hash();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kMutations / 20);
}

INSTANTIATE_TEST_SUITE_P(Files, Mutation,
                         testing::Values("state_dict_contact/w.safetensors", "state_dict_rotary/w.pt",
                                         "fair_esm/esm2_tiny.pt", "esme/tiny.safetensors"));

}  // namespace
}  // namespace biowarp
