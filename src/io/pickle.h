// A reader of Python pickles that executes nothing.
//
// Protocols 2 to 5 (https://docs.python.org/3/library/pickletools.html). Calls are not made but written down:
// a value of kind `call` names the callee and its arguments, and whoever asked for the pickle gives it a
// meaning or does not. A global name outside the caller's list ends the reading with an error that names it,
// before anything is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace biowarp {

using PickleId = std::uint32_t;  // index of a value in its Pickle

struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    bytes,
    list,
    tuple,
    dict,
    set,
    global,      // text is "module.name"
    call,        // callee(args), then perhaps items that were added and a state
    persistent,  // args is the id that the pickler gave an object outside the pickle
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<PickleId> items;  // dict: key, value, key, value ...
  PickleId callee = 0, args = 0, state = 0;
  bool has_state = false;
};

class Pickle {
 public:
  // `what` names the pickle in errors. `allowed` are the globals it may mention, as "module.name".
  // Throws Error(input) for anything else, for damage, and beyond limits on size, values and stack.
  Pickle(std::span<const std::byte> bytes, std::string what, const std::set<std::string, std::less<>>& allowed);

  const PickleValue& root() const { return values_[root_]; }
  const PickleValue& operator[](PickleId id) const { return values_[id]; }
  // Whether `value` is a call of the global "module.name".
  bool calls(const PickleValue& value, std::string_view global) const;

 private:
  friend class PickleMachine;
  std::deque<PickleValue> values_;  // flat, so that no nesting in the file can exhaust the stack
  PickleId root_ = 0;
};

}  // namespace biowarp
