// Tensor names of the checkpoints people have, and our parameter behind each.
//
// Sources: HF transformers modeling_esm.py; NVIDIA esm_nv.py; facebookresearch/esm esm/model/esm2.py;
// esme/esm.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/weight_file.h"

namespace biowarp {

enum class Naming : std::uint8_t { hf, nv_esm, fair_esm, esme };

// What of our parameter a stored tensor holds. `fused` is all of Q, K and V in one tensor.
enum class Part : std::uint8_t { whole, query, key, value, fused };

// `stored` and `ours` in the names' own words, '*' standing for a layer number. A name that ends in '.' or
// '_' stands for two rows: one with "weight" and one with "bias" behind it on both sides.
struct NameRow {
  std::string_view stored, ours;
  Part part = Part::whole;
};

struct NamingTable {
  Naming naming;
  std::string_view title;                      // OpenedModel::format
  std::span<const std::string_view> prefixes;  // wrappers that may stand before a name, in any number
  std::span<const NameRow> rows;               // where two rows give one parameter, the first is written on export
  std::span<const std::string_view> ignored;   // unused in ESM-2: position tables, pooler, buffers
};

const NamingTable& table_of(Naming naming);

enum class Use : std::uint8_t {
  parameter,
  rotary,      // rotary frequencies; `layer` is its layer or -1 for all
  classifier,  // a task head that biowarp does not run
  ignored,
  unknown,
};

struct Resolved {
  Use use = Use::unknown;
  std::string parameter;  // our name
  Part part = Part::whole;
};

// Meaning of a stored name; LayerNorm.gamma and .beta count as .weight and .bias.
Resolved resolve(const NamingTable& table, std::string_view stored);

// The name under which `table` stores (a part of) one of our parameters; empty when it has no place for it.
std::string stored_name(const NamingTable& table, std::string_view parameter, Part part);

// The naming of a checkpoint, told by its first feed-forward weight; nothing when no table fits.
std::optional<Naming> recognise_naming(std::span<const TensorInfo> tensors);

}  // namespace biowarp
