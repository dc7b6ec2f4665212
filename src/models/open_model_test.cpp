#include "models/open_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "biowarp/error.h"

namespace biowarp {
namespace {

TEST(OpenModel, TheDemonstrationModelIsFoundWithoutAName) {
  const OpenedModel model = open_model({});
  EXPECT_TRUE(model.demonstration);
  EXPECT_EQ(model.name, "biowarp-esm2-8m");
  EXPECT_EQ(model.format, "hf");
  EXPECT_EQ(model.config.layers, 6);
  EXPECT_EQ(model.config.hidden, 320);
  EXPECT_EQ(model.config.heads, 20);
  EXPECT_EQ(model.config.feed_forward, 1280);
  EXPECT_TRUE(model.config.has_lm_head);
  EXPECT_FALSE(model.config.has_contact_head);
  EXPECT_EQ(count_parameters(model.config), 7512353);
  EXPECT_EQ(model.params->stored_dtype("embed.weight"), DType::f16);
  std::vector<float> rows(3 * 320);
  model.params->read("layer.5.qkv.weight", 957, 3, rows.data());
  for (const float value : rows) ASSERT_TRUE(std::isfinite(value));
}

TEST(OpenModel, S47HashNamesTheWeights) {
  EXPECT_EQ(open_model({}).params->hash().size(), 32u);
  EXPECT_EQ(open_model({}).params->hash(), open_model({}).params->hash());
}

}  // namespace
}  // namespace biowarp
