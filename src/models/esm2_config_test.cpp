#include "models/esm2_config.h"

#include <gtest/gtest.h>

namespace biowarp {
namespace {

// Exact counts of the public checkpoints with their contact heads.
TEST(Esm2Config, ParameterCountsOfThePublicSizes) {
  const std::vector<std::int64_t> counts{7512474, 33501394, 148140154, 651043254, 2839005634, 15129100194};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    EXPECT_EQ(count_parameters(config_of(esm2_sizes()[i])), counts[i]) << esm2_sizes()[i].name;
  }
}

TEST(Esm2Config, S67NamesPeopleType) {
  for (const char* name :
       {"650M", "t33", "esm2_t33_650M_UR50D", "facebook/esm2_t33_650M_UR50D", "nvidia/esm2_t33_650M_UR50D"}) {
    ASSERT_TRUE(find_esm2_size(name)) << name;
    EXPECT_EQ(find_esm2_size(name)->hidden, 1280);
  }
  EXPECT_FALSE(find_esm2_size("esm2"));
}

}  // namespace
}  // namespace biowarp
