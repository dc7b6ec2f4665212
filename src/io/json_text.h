// Writing one JSON object, fields in the order in which they are added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace biowarp {

// A JSON string, quotes included. `text` is UTF-8; what is not becomes U+FFFD.
std::string json_quoted(std::string_view text);

class JsonText {
 public:
  JsonText& add(std::string_view name, std::string_view value) { return add_raw(name, json_quoted(value)); }
  JsonText& add(std::string_view name, const std::string& value) { return add(name, std::string_view(value)); }
  JsonText& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  JsonText& add(std::string_view name, bool value) { return add_raw(name, value ? "true" : "false"); }
  JsonText& add(std::string_view name, std::int64_t value) { return add_raw(name, std::to_string(value)); }
  // null when not finite
  JsonText& add(std::string_view name, double value);
  JsonText& add(std::string_view name, const std::vector<std::string>& values);

  // One line, without a line break at its end.
  std::string text() const { return "{" + fields_ + "}"; }

 private:
  JsonText& add_raw(std::string_view name, std::string_view value);
  std::string fields_;
};

}  // namespace biowarp
