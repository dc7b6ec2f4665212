// Distinct names for things that people named alike: the first keeps its name, later ones get the next free
// "#k".
//
//   "a" "a" "ids" "a"   with "ids" reserved  ->  "a" "a#2" "ids#2" "a#3"
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace biowarp {

class UniqueNames {
 public:
  // Remembers the names itself.
  UniqueNames(std::initializer_list<std::string> reserved);
  // Asks `taken`, which must know every name handed out so far; memory grows with repeated names only.
  explicit UniqueNames(std::function<bool(const std::string&)> taken) : taken_(std::move(taken)) {}

  std::string claim(const std::string& wanted);

 private:
  std::unordered_set<std::string> names_;
  std::function<bool(const std::string&)> taken_;
  std::unordered_map<std::string, std::int64_t> next_;  // for names wanted more than once: the next k to try
};

}  // namespace biowarp
