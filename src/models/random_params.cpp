// Random weights of any size without a file: every value is a pure function of (seed, parameter name, index), so that
// reads in any order and on any thread agree.
#include <map>

#include "base/fail.h"
#include "base/hash.h"
#include "base/random.h"
#include "models/param_source.h"

namespace biowarp {
namespace {

// Roughly normal, mean 0 and variance 1: the sum of four 16-bit uniforms, scaled (Irwin-Hall). Fast enough for 15B.
float roughly_normal(std::uint64_t bits) {
  const auto sum = static_cast<float>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  constexpr float kMean = 2.0f * 65535.0f;
  constexpr float kDeviation = 65536.0f * 0.57735027f;  // sqrt(4 / 12)
  return (sum - kMean) / kDeviation;
}

class RandomParams : public ParamSource {
 public:
  RandomParams(const Esm2Config& config, std::uint64_t seed) : seed_(seed) {
    for (const ParamSpec& spec : esm2_params(config)) {
      if (spec.required) specs_.emplace(spec.name, spec);
    }
    identity_.add(&config.layers, sizeof config.layers * 3).add(&config.feed_forward, sizeof config.feed_forward);
    identity_.add(&seed, sizeof seed);
  }

  bool has(std::string_view name) const override { return specs_.find(name) != specs_.end(); }
  DType stored_dtype(std::string_view) const override { return DType::f32; }
  std::string hash() const override { return identity_.hex(); }

  void read(std::string_view name, std::int64_t first, std::int64_t count, float* out) const override {
    const ParamSpec& spec = specs_.find(name)->second;
    const std::int64_t columns = spec.shape.size() > 1 ? spec.shape[1] : 1;
    const std::uint64_t stream = mix_bits(seed_ ^ std::hash<std::string_view>{}(name));
    for (std::int64_t i = 0; i < count * columns; ++i) {
      out[i] = value(spec.role, stream, static_cast<std::uint64_t>(first * columns + i));
    }
  }

 private:
  static float value(ParamRole role, std::uint64_t stream, std::uint64_t index) {
    constexpr float kInitializerRange = 0.02f;
    switch (role) {
      case ParamRole::norm_weight: return 1.0f;
      case ParamRole::norm_bias:
      case ParamRole::bias: return 0.0f;
      case ParamRole::weight:
      case ParamRole::embedding: return kInitializerRange * roughly_normal(mix_bits(stream + index));
    }
    return 0.0f;
  }

  std::uint64_t seed_;
  std::map<std::string, ParamSpec, std::less<>> specs_;
  ContentHash identity_;
};

}  // namespace

std::shared_ptr<const ParamSource> random_params(const Esm2Config& config, std::uint64_t seed) {
  return std::make_shared<RandomParams>(config, seed);
}

}  // namespace biowarp
