#include "biowarp/hub.h"
#include "models/esm2_config.h"

namespace biowarp {

std::string hub_name(std::string_view name) {
  const auto size = name.find('/') == std::string_view::npos ? find_esm2_size(name) : std::nullopt;
  return size ? "facebook/" + std::string(size->full_name) : std::string(name);
}

}  // namespace biowarp
