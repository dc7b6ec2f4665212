#include "models/bind.h"

#include <algorithm>

#include "base/fail.h"
#include "io/convert.h"

namespace biowarp {
namespace {

using Parts = std::map<Part, const TensorInfo*>;

constexpr std::int64_t kPaddedVocabulary = 64;  // rows of NVIDIA's embedding, a multiple of what their kernels want

bool same_values(const StoredMatrix& a, const StoredMatrix& b, std::int64_t rows) {
  std::vector<float> left(static_cast<std::size_t>(rows * a.columns)), right(left.size());
  a.read(0, rows, left.data());
  b.read(0, rows, right.data());
  return std::equal(left.begin(), left.end(), right.begin());
}

bool same_values(const TensorInfo& a, const TensorInfo& b) {
  if (a.shape != b.shape || a.shape.size() > 2 || !is_floating(a.dtype) || !is_floating(b.dtype)) return false;
  return same_values(as_matrix(a, false), as_matrix(b, false), as_matrix(a, false).rows);
}

// Collects what does not fit and says it in one error.
class Misfits {
 public:
  std::vector<std::string> missing, unexpected, misshapen;

  void throw_if_any(const std::string& path, const Esm2Config& config) const {
    if (missing.empty() && unexpected.empty() && misshapen.empty()) return;
    fail_input("{}: the tensors do not make an ESM-2 of {} layers, width {}, {} heads{}{}{}", path, config.layers,
               config.hidden, config.heads, list("missing", missing), list("unexpected", unexpected),
               list("misshapen", misshapen));
  }

 private:
  static std::string list(const char* what, std::vector<std::string> names) {
    if (names.empty()) return "";
    std::sort(names.begin(), names.end());
    return fmt::format("\n  {} ({}):\n    {}", what, names.size(), fmt::join(names, "\n    "));
  }
};

class Binder {
 public:
  Binder(const NamingTable& table, const Esm2Config& config, const BindOptions& options)
      : table_(table), config_(config), options_(options) {}

  Misfits misfits;

  StoredParam bind(const ParamSpec& spec, const Parts& parts) {
    const std::vector<std::int64_t>& shape = spec.shape;
    StoredParam param{shape[0], shape.size() > 1 ? shape[1] : 1, RowOrder::plain, {}};
    if (parts.count(Part::whole) != 0) {
      add_part(spec, Part::whole, *parts.at(Part::whole), shape, param);
    } else if (parts.count(Part::fused) != 0) {
      param.order = options_.interleaved_qkv ? RowOrder::plain : RowOrder::three_blocks;
      add_part(spec, Part::fused, *parts.at(Part::fused), shape, param);
      for (const auto& [part, tensor] : parts) {
        if (part != Part::fused) misfits.unexpected.push_back(tensor->name);
      }
    } else {
      param.order = RowOrder::three_parts;
      for (const Part part : {Part::query, Part::key, Part::value}) {
        if (const auto found = parts.find(part); found != parts.end()) {
          std::vector<std::int64_t> third = shape;
          third[0] /= 3;
          add_part(spec, part, *found->second, third, param);
        } else {
          misfits.missing.push_back(stored_name(table_, spec.name, part));
        }
      }
    }
    return param;
  }

  void miss(const ParamSpec& spec) {
    for (const Part part : {Part::whole, Part::fused, Part::query, Part::key, Part::value}) {
      const std::string name = stored_name(table_, spec.name, part);
      if (!name.empty()) misfits.missing.push_back(name);
      if (!name.empty() && (part == Part::whole || part == Part::fused)) return;
    }
  }

 private:
  void add_part(const ParamSpec& spec, Part part, const TensorInfo& tensor, const std::vector<std::int64_t>& expected,
                StoredParam& param) {
    if (!is_floating(tensor.dtype)) {
      misfits.misshapen.push_back(
          fmt::format("{} is {}, expected floating-point values", tensor.name, name_of(tensor.dtype)));
    } else if (!fits(spec, tensor.shape, expected)) {
      misfits.misshapen.push_back(
          fmt::format("{} is {}, expected {}", tensor.name, describe_shape(tensor.shape), describe_shape(expected)));
    } else {
      StoredMatrix matrix = as_matrix(tensor, expected.size() == 1);
      const auto update = options_.updates.find({spec.name, part});
      if (update != options_.updates.end()) matrix.update = update->second;
      param.parts.push_back(std::move(matrix));
    }
  }

  bool fits(const ParamSpec& spec, const std::vector<std::int64_t>& shape,
            const std::vector<std::int64_t>& expected) const {
    if (shape == expected) return true;
    if (spec.name == "contact.weight") return shape == std::vector<std::int64_t>{1, expected[0]};
    // Rows beyond the vocabulary are padding and never read (S52).
    const bool padded = table_.naming == Naming::nv_esm && expected[0] == config_.vocabulary && !shape.empty() &&
                        shape[0] == kPaddedVocabulary;
    return padded && std::equal(shape.begin() + 1, shape.end(), expected.begin() + 1, expected.end());
  }

  const NamingTable& table_;
  const Esm2Config& config_;
  const BindOptions& options_;
};

}  // namespace

Placement place_tensors(const Checkpoint& checkpoint, Naming naming) {
  const NamingTable& table = table_of(naming);
  Placement placement;
  for (const TensorInfo& tensor : checkpoint.weights.tensors) {
    const Resolved resolved = resolve(table, tensor.name);
    switch (resolved.use) {
      case Use::ignored: break;
      case Use::rotary: placement.rotary.push_back(&tensor); break;
      case Use::classifier: placement.classifier.push_back(tensor.name); break;
      case Use::unknown: placement.unexpected.push_back(tensor.name); break;
      case Use::parameter: {
        const auto [place, fresh] = placement.params[resolved.parameter].emplace(resolved.part, &tensor);
        if (!fresh && !same_values(*place->second, tensor)) {
          fail_input("{}: {} and {} stand for the same parameter and differ", checkpoint.weights.path,
                     place->second->name, tensor.name);
        }
        break;
      }
    }
  }
  return placement;
}

std::map<std::string, StoredParam, std::less<>> bind_params(const Checkpoint& checkpoint, Naming naming,
                                                            const Placement& placement, const Esm2Config& config,
                                                            const BindOptions& options) {
  std::map<std::string, StoredParam, std::less<>> params;
  Binder binder(table_of(naming), config, options);
  binder.misfits.unexpected = placement.unexpected;
  std::size_t bound = 0;
  for (const ParamSpec& spec : esm2_params(config)) {
    const auto found = placement.params.find(spec.name);
    if (found != placement.params.end()) {
      params.emplace(spec.name, binder.bind(spec, found->second));
      ++bound;
    } else if (spec.required) {
      binder.miss(spec);
    }
  }
  if (bound < placement.params.size()) {  // layers beyond the last
    for (const auto& [name, parts] : placement.params) {
      if (params.count(name) != 0) continue;
      for (const auto& [part, tensor] : parts) binder.misfits.unexpected.push_back(tensor->name);
    }
  }
  binder.misfits.throw_if_any(checkpoint.weights.path, config);

  const auto decoder = params.find("lm_head.decoder.weight");
  if (decoder != params.end() &&
      same_values(decoder->second.parts[0], params.at("embed.weight").parts[0], config.vocabulary)) {
    params.erase(decoder);
  }
  return params;
}

}  // namespace biowarp
