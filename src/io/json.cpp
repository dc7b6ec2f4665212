#include "io/json.h"

#include <functional>
#include <set>
#include <vector>

#include "base/fail.h"

namespace biowarp {
namespace {

// Sees every event of the parser and throws at the first that breaks a limit.
class Guard {
 public:
  Guard(const std::string& what, const JsonLimits& limits) : what_(what), limits_(limits) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (++values_ > limits_.values) fail_input("{}: more than {} JSON values", what_, limits_.values);
    if (static_cast<std::size_t>(depth) > limits_.depth) {
      fail_input("{}: JSON nested deeper than {} levels", what_, limits_.depth);
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      fail_input("{}: key \"{}\" occurs twice", what_, parsed.get<std::string>());
    }
    return true;
  }

 private:
  const std::string& what_;
  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& what, const JsonLimits& limits) {
  Guard guard(what, limits);
  try {
    return nlohmann::json::parse(text, std::ref(guard));
  } catch (const nlohmann::json::exception& error) {
    fail_input("{} is not valid JSON: {}", what, error.what());
  }
}

}  // namespace biowarp
