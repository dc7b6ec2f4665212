// One flat or nested JSON object as text, fields in the order in which they were added. Writing only.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view value) { return add_raw(name, quoted(value)); }
  JsonObject& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  JsonObject& add(std::string_view name, bool value) { return add_raw(name, value ? "true" : "false"); }
  template <std::integral Integer>
  JsonObject& add(std::string_view name, Integer value) {
    return add_raw(name, fmt::format("{}", value));
  }
  // Shortest text that reads back as the same number; JSON has no NaN or infinity: null.
  JsonObject& add(std::string_view name, double value) {
    return add_raw(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
  }
  JsonObject& add(std::string_view name, const std::vector<double>& values) {
    return add_raw(name, fmt::format("[{}]", fmt::join(values, ", ")));
  }
  JsonObject& add(std::string_view name, const JsonObject& value) { return add_raw(name, value.text()); }
  JsonObject& add(std::string_view name, const std::vector<JsonObject>& values) {
    std::string list;
    for (const JsonObject& value : values) list += (list.empty() ? "" : ", ") + value.text();
    return add_raw(name, "[" + list + "]");
  }

  // One line, no line break at its end.
  std::string text() const { return "{" + fields_ + "}"; }

 private:
  JsonObject& add_raw(std::string_view name, std::string_view value) {
    fields_ += fmt::format("{}{}: {}", fields_.empty() ? "" : ", ", quoted(name), value);
    return *this;
  }

  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
    }
    return out + "\"";
  }

  std::string fields_;
};
