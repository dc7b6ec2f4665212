// For tests of the forward pass: parameters without a trivial value, and the formulas of models/esm2.h and
// ops/attention/contacts.h as plain loops over one sequence, in f64 or f32.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "base/testing.h"
#include "models/param_source.h"
#include "seq/alphabet.h"

namespace biowarp::testing_esm2 {

// Unlike random_params: biases and norms count, attention is not flat, and the decoder may differ from the embedding.
class RandomTensors : public ParamSource {
 public:
  explicit RandomTensors(const Esm2Config& config, bool untied = false) {
    std::uint32_t seed = 1;
    for (const ParamSpec& spec : esm2_params(config)) {
      ++seed;  // also for what is left out: the others keep their values
      if (!spec.required && !(untied && spec.name == "lm_head.decoder.weight")) continue;
      const std::int64_t columns = spec.shape.size() > 1 ? spec.shape[1] : 1;
      columns_[spec.name] = columns;
      values_[spec.name] = testing::random_floats(spec.shape[0] * columns, seed, deviation(spec.role, columns));
      if (spec.role == ParamRole::norm_weight) {
        for (float& value : values_[spec.name]) value += 1.0f;
      }
    }
  }

  bool has(std::string_view name) const override { return values_.find(name) != values_.end(); }
  DType stored_dtype(std::string_view) const override { return DType::f32; }
  std::string hash() const override { return "random tensors"; }
  void read(std::string_view name, std::int64_t first, std::int64_t count, float* out) const override {
    const std::int64_t columns = columns_.find(name)->second;
    std::copy_n(at(name).data() + first * columns, count * columns, out);
  }
  const std::vector<float>& at(std::string_view name) const { return values_.find(name)->second; }

 private:
  static float deviation(ParamRole role, std::int64_t columns) {
    switch (role) {
      case ParamRole::embedding: return 1.0f;
      case ParamRole::weight: return columns == 1 ? 3.0f : 1.2f / std::sqrt(static_cast<float>(columns));
      default: return 0.2f;
    }
  }

  std::map<std::string, std::vector<float>, std::less<>> values_;
  std::map<std::string, std::int64_t, std::less<>> columns_;
};

// One sequence of T tokens, begin and end token included; L = T - 2.
template <class Real>
class PlainEsm2 {
 public:
  using Values = std::vector<Real>;

  PlainEsm2(const Esm2Config& config, const RandomTensors& params, std::vector<std::int32_t> tokens)
      : config_(config), params_(params), tokens_(std::move(tokens)) {
    const std::size_t residues = tokens_.size() - 2;
    contacts.assign(residues * residues, config.has_contact_head ? static_cast<Real>(params.at("contact.bias")[0]) : 0);
    Values x = embed();
    for (std::int64_t i = 0; i < config.layers; ++i) {
      hidden.push_back(x);
      const std::string layer = "layer." + std::to_string(i) + ".";
      Values qkv = linear(norm(x, layer + "attn_norm"), layer + "qkv");
      rotate(qkv);
      add(x, linear(attend(qkv, i), layer + "attn_out"));
      add(x, linear(gelu(linear(norm(x, layer + "mlp_norm"), layer + "fc1"), config.tanh_gelu), layer + "fc2"));
    }
    hidden.push_back(norm(x, "final_norm"));
    const Values head = norm(gelu(linear(hidden.back(), "lm_head.dense"), false), "lm_head.norm");
    const char* decoder = params.has("lm_head.decoder.weight") ? "lm_head.decoder.weight" : "embed.weight";
    logits = product(head, params.at(decoder), params.at("lm_head.bias"));
    for (Real& value : contacts) value = 1 / (1 + std::exp(-value));
  }

  std::vector<Values> hidden;  // layers + 1 times [T, C]
  Values logits;               // [T, V]
  Values contacts;             // [L, L]

 private:
  Values embed() const {
    const auto masked = std::count(tokens_.begin(), tokens_.end(), esm::kMask);
    const Real kept = static_cast<Real>(1 - 0.15 * 0.8);
    const Real scale = kept / (1 - static_cast<Real>(masked) / static_cast<Real>(tokens_.size()));
    Values x;
    for (const std::int32_t token : tokens_) {
      for (std::int64_t c = 0; c < config_.hidden; ++c) {
        const Real value = params_.at("embed.weight")[static_cast<std::size_t>(token * config_.hidden + c)];
        x.push_back(!config_.token_dropout ? value : token == esm::kMask ? 0 : value * scale);
      }
    }
    return x;
  }

  // x [T, K], w [N, K], bias [N] -> [T, N]
  static Values product(const Values& x, const std::vector<float>& w, const std::vector<float>& bias) {
    const std::size_t outputs = bias.size(), inputs = w.size() / outputs;
    Values y;
    for (std::size_t row = 0; row < x.size(); row += inputs) {
      for (std::size_t n = 0; n < outputs; ++n) {
        Real sum = 0;
        for (std::size_t k = 0; k < inputs; ++k) sum += x[row + k] * static_cast<Real>(w[n * inputs + k]);
        y.push_back(sum + static_cast<Real>(bias[n]));
      }
    }
    return y;
  }
  Values linear(const Values& x, const std::string& name) const {
    return product(x, params_.at(name + ".weight"), params_.at(name + ".bias"));
  }

  Values norm(const Values& x, const std::string& name) const {
    const auto &weight = params_.at(name + ".weight"), &bias = params_.at(name + ".bias");
    const std::size_t width = weight.size();
    Values y;
    for (std::size_t row = 0; row < x.size(); row += width) {
      Real mean = 0, variance = 0;
      for (std::size_t c = 0; c < width; ++c) mean += x[row + c] / static_cast<Real>(width);
      for (std::size_t c = 0; c < width; ++c) variance += (x[row + c] - mean) * (x[row + c] - mean);
      const Real deviation = std::sqrt(variance / static_cast<Real>(width) + static_cast<Real>(config_.layer_norm_eps));
      for (std::size_t c = 0; c < width; ++c) y.push_back((x[row + c] - mean) / deviation * weight[c] + bias[c]);
    }
    return y;
  }

  static Values gelu(Values x, bool tanh_form) {
    const Real root = std::sqrt(2 / std::numbers::pi_v<Real>);
    for (Real& v : x) {
      const Real inner = tanh_form ? std::tanh(root * (v + static_cast<Real>(0.044715) * v * v * v))
                                   : std::erf(v / std::numbers::sqrt2_v<Real>);
      v = v * (1 + inner) / 2;
    }
    return x;
  }

  static void add(Values& x, const Values& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  // Queries and keys of qkv [T, H, 3, D].
  void rotate(Values& qkv) const {
    const std::int64_t D = config_.head_width(), parts = config_.heads * 3;
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      for (std::int64_t part = 0; part < parts; ++part) {
        if (part % 3 == 2) continue;
        Real* v = qkv.data() + (static_cast<std::int64_t>(t) * parts + part) * D;
        for (std::int64_t j = 0; j < D / 2; ++j) {
          const double frequency = config_.inv_freq.empty() ? std::pow(10000.0, -2.0 * static_cast<double>(j) / D)
                                                            : config_.inv_freq[static_cast<std::size_t>(j)];
          const double angle = static_cast<double>(t) * frequency;
          const Real c = static_cast<Real>(std::cos(angle)), s = static_cast<Real>(std::sin(angle));
          const Real low = v[j], high = v[j + D / 2];
          v[j] = low * c - high * s;
          v[j + D / 2] = high * c + low * s;
        }
      }
    }
  }

  // Softmax over all tokens, [T, T].
  Values probabilities(const Values& qkv, std::int64_t head) const {
    const std::int64_t D = config_.head_width(), stride = config_.heads * 3 * D;
    const auto tokens = static_cast<std::int64_t>(tokens_.size());
    const Real* base = qkv.data() + head * 3 * D;
    Values all;
    for (std::int64_t q = 0; q < tokens; ++q) {
      Values p;
      for (std::int64_t k = 0; k < tokens; ++k) {
        Real dot = 0;
        for (std::int64_t d = 0; d < D; ++d) dot += base[q * stride + d] * base[k * stride + D + d];
        p.push_back(dot / std::sqrt(static_cast<Real>(D)));
      }
      const Real largest = *std::max_element(p.begin(), p.end());
      Real total = 0;
      for (Real& value : p) total += value = std::exp(value - largest);
      for (const Real value : p) all.push_back(value / total);
    }
    return all;
  }

  // qkv [T, H, 3, D] -> [T, H*D]; adds the layer's part of the contact scores.
  Values attend(const Values& qkv, std::int64_t layer) {
    const std::int64_t D = config_.head_width(), H = config_.heads;
    const auto tokens = static_cast<std::int64_t>(tokens_.size());
    Values out(static_cast<std::size_t>(tokens * H * D), Real{0});
    for (std::int64_t h = 0; h < H; ++h) {
      const Values p = probabilities(qkv, h);
      for (std::int64_t q = 0; q < tokens; ++q) {
        for (std::int64_t k = 0; k < tokens; ++k) {
          for (std::int64_t d = 0; d < D; ++d)
            out[(q * H + h) * D + d] += p[q * tokens + k] * qkv[((k * H + h) * 3 + 2) * D + d];
        }
      }
      if (config_.has_contact_head) add_contacts(p, static_cast<Real>(params_.at("contact.weight")[layer * H + h]));
    }
    return out;
  }

  void add_contacts(const Values& p, Real weight) {
    const auto tokens = static_cast<std::int64_t>(tokens_.size()), L = tokens - 2;
    Values s, sums(static_cast<std::size_t>(L), Real{0});
    Real total = 0;
    for (std::int64_t i = 0; i < L; ++i) {
      for (std::int64_t j = 0; j < L; ++j) {
        s.push_back(p[(i + 1) * tokens + j + 1] + p[(j + 1) * tokens + i + 1]);
        sums[i] += s.back();
        total += s.back();
      }
    }
    for (std::int64_t i = 0; i < L * L; ++i) contacts[i] += weight * (s[i] - sums[i / L] * sums[i % L] / total);
  }

  const Esm2Config& config_;
  const RandomTensors& params_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace biowarp::testing_esm2
