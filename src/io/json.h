// JSON from files that nobody vouches for: size, depth and number of values are limited, a repeated key is an
// error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace biowarp {

struct JsonLimits {
  std::size_t depth = 32;
  std::size_t values = 4'000'000;
};

// `what` names the text in errors ("config.json of ..."). Throws Error(input) with line and column of the
// first fault.
nlohmann::json parse_json(std::string_view text, const std::string& what, const JsonLimits& limits = {});

}  // namespace biowarp
