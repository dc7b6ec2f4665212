// Settings: what a checkpoint says about its architecture, from config.json, fair-esm's namespaces, ESME's
// metadata and the shapes of its tensors; and the refusal of architectures that look like ESM-2 and are not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoint.h"
#include "models/esm2_config.h"
#include "models/naming.h"

namespace biowarp {

// Where each tensor belongs: our parameter -> its parts.
struct Placement {
  std::map<std::string, std::map<Part, const TensorInfo*>, std::less<>> params;
  std::vector<const TensorInfo*> rotary;
  std::vector<std::string> unexpected;  // names that mean nothing in this naming
  std::vector<std::string> classifier;  // tensors of task heads

  // The tensor of a parameter that lies in one piece, or nothing.
  const TensorInfo* find(std::string_view parameter) const;
};

// Throws Error(input) for an architecture that is recognised and is not ESM-2: ESM-1, ESM-1b, ESM-1v, MSA
// Transformer, ESM-IF1, ESM-C, ESM3, SaProt, ESMFold. Each is refused by name.
void refuse_other_architectures(const Checkpoint& checkpoint);

// Sizes and switches; heads of the result (lm_head, contact) are those that `placement` has. `name` may give
// the number of heads away when nothing else does. Adds to `notes`. Throws Error(input) when a size cannot be
// known.
Esm2Config derive_config(const Checkpoint& checkpoint, Naming naming, const Placement& placement,
                         const std::string& name, std::vector<std::string>& notes);

}  // namespace biowarp
