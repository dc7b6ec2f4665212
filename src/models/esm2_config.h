// Sizes and switches of an ESM-2 model, and the list of its parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/types.h"

namespace biowarp {

struct Esm2Config {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;        // C
  std::int64_t heads = 0;         // H; head width D = C / H, even
  std::int64_t feed_forward = 0;  // F
  std::int64_t vocabulary = 33;   // V, without padding rows
  float layer_norm_eps = 1e-5f;
  bool token_dropout = true;  // scale embeddings, zero <mask> rows
  bool tanh_gelu = false;     // TransformerEngine's form of GELU in the MLP; the exact erf form otherwise
  bool has_lm_head = false;
  bool has_contact_head = false;
  std::vector<float> inv_freq;  // [D/2] rotary frequencies from the checkpoint; empty: 10000^(-2j/D)

  std::int64_t head_width() const { return hidden / heads; }
};

// Public sizes: "8M", "35M", "150M", "650M", "3B", "15B", each also as "t6", "t12", ... and as
// "esm2_t6_8M_UR50D" with or without "facebook/" or "nvidia/" before it.
struct Esm2Size {
  std::string_view name;       // "8M"
  std::string_view full_name;  // "esm2_t6_8M_UR50D"
  std::int64_t layers, hidden, heads;
};
const std::vector<Esm2Size>& esm2_sizes();
std::optional<Esm2Size> find_esm2_size(std::string_view name);
Esm2Config config_of(const Esm2Size& size);  // with both heads

// One parameter by our name. Shapes in the letters of Esm2Config.
//
//   embed.weight [V,C]
//   layer.<i>.attn_norm.{weight,bias} [C]
//   layer.<i>.qkv.{weight,bias} [H*3*D, C], [H*3*D]   rows ordered head, then q/k/v, then d (nv_esm's order)
//   layer.<i>.attn_out.{weight,bias} [C,C], [C]
//   layer.<i>.mlp_norm.{weight,bias} [C]
//   layer.<i>.fc1.{weight,bias} [F,C], [F]
//   layer.<i>.fc2.{weight,bias} [C,F], [C]
//   final_norm.{weight,bias} [C]
//   lm_head.dense.{weight,bias} [C,C], [C]    lm_head.norm.{weight,bias} [C]    lm_head.bias [V]
//   lm_head.decoder.weight [V,C]              only when it differs from embed.weight
//   contact.weight [layers*H] (layer-major)   contact.bias [1]
enum class ParamRole : std::uint8_t { weight, bias, norm_weight, norm_bias, embedding };
struct ParamSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  ParamRole role;
  bool required;  // false for heads the config does not have
};
std::vector<ParamSpec> esm2_params(const Esm2Config& config);

// All parameters, tied decoder counted once.
std::int64_t count_parameters(const Esm2Config& config);

}  // namespace biowarp
