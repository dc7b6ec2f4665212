#include "io/unique_names.h"

#include <fmt/format.h>

namespace biowarp {

UniqueNames::UniqueNames(std::initializer_list<std::string> reserved) : names_(reserved) {}

std::string UniqueNames::claim(const std::string& wanted) {
  const auto is_taken = [&](const std::string& name) { return taken_ ? taken_(name) : names_.contains(name); };
  std::string name = wanted;
  if (is_taken(name)) {
    std::int64_t& k = next_.try_emplace(wanted, 2).first->second;
    do {
      name = fmt::format("{}#{}", wanted, k++);
    } while (is_taken(name));
  }
  if (!taken_) names_.insert(name);
  return name;
}

}  // namespace biowarp
