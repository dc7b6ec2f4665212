#include "io/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace biowarp {

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

JsonText& JsonText::add_raw(std::string_view name, std::string_view value) {
  fields_ += fmt::format("{}{}: {}", fields_.empty() ? "" : ", ", json_quoted(name), value);
  return *this;
}

JsonText& JsonText::add(std::string_view name, double value) {
  return add_raw(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

JsonText& JsonText::add(std::string_view name, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ", ") + json_quoted(value);
  return add_raw(name, "[" + list + "]");
}

}  // namespace biowarp
