#include "io/pickle.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "base/fail.h"

namespace biowarp {

using Kind = PickleValue::Kind;

namespace {

// A state dict of the largest model has some 15,000 values in 2 MB.
constexpr std::size_t kLargestPickle = 64u << 20;
constexpr std::size_t kMostValues = 1'000'000;  // also of marks and memo entries
constexpr std::size_t kDeepestStack = 4'000'000;
constexpr std::size_t kLargestInteger = 256;  // bytes
constexpr int kOldestProtocol = 2, kNewestProtocol = 5;

}  // namespace

// The pickle virtual machine: a stack of value ids, a stack of marks and a memo.
class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, std::span<const std::byte> bytes, const std::string& what,
                const std::set<std::string, std::less<>>& allowed)
      : values_(pickle.values_), bytes_(bytes), what_(what), allowed_(allowed) {}

  PickleId run() {
    while (true) {
      const auto op = get<std::uint8_t>();
      if (op == '.') return pop();
      if (!scalar(op) && !container(op) && !stack_or_memo(op) && !object(op)) {
        fail_input(
            "{}: instruction 0x{:02x} at byte {} is not one that a saved model needs (pickle protocols {} to "
            "{})",
            what_, op, at_ - 1, kOldestProtocol, kNewestProtocol);
      }
    }
  }

 private:
  // ---- groups of instructions; each returns false for one that is not its own ----

  bool scalar(std::uint8_t op) {
    switch (op) {
      case 'N': push({}); return true;
      case 0x88: push_integer(Kind::boolean, 1); return true;
      case 0x89: push_integer(Kind::boolean, 0); return true;
      case 'J': push_integer(Kind::integer, get<std::int32_t>()); return true;
      case 'K': push_integer(Kind::integer, get<std::uint8_t>()); return true;
      case 'M': push_integer(Kind::integer, get<std::uint16_t>()); return true;
      case 0x8a: push_long(get<std::uint8_t>()); return true;
      case 0x8b: push_long(get<std::uint32_t>()); return true;
      case 'G': push_real(std::bit_cast<double>(__builtin_bswap64(get<std::uint64_t>()))); return true;
      case 0x8c: push_text(Kind::text, get<std::uint8_t>()); return true;
      case 'X': push_text(Kind::text, get<std::uint32_t>()); return true;
      case 0x8d: push_text(Kind::text, get<std::uint64_t>()); return true;
      case 'U': push_text(Kind::text, get<std::uint8_t>()); return true;  // str of Python 2
      case 'T': push_text(Kind::text, get<std::uint32_t>()); return true;
      case 'C': push_text(Kind::bytes, get<std::uint8_t>()); return true;
      case 'B': push_text(Kind::bytes, get<std::uint32_t>()); return true;
      case 0x8e:
      case 0x96: push_text(Kind::bytes, get<std::uint64_t>()); return true;
      default: return false;
    }
  }

  bool container(std::uint8_t op) {
    switch (op) {
      case ')': push_items(Kind::tuple, {}); return true;
      case ']': push_items(Kind::list, {}); return true;
      case '}': push_items(Kind::dict, {}); return true;
      case 0x8f: push_items(Kind::set, {}); return true;
      case 't': push_items(Kind::tuple, pop_mark()); return true;
      case 'l': push_items(Kind::list, pop_mark()); return true;
      case 'd': push_items(Kind::dict, pairs(pop_mark())); return true;
      case 0x91: push_items(Kind::set, pop_mark()); return true;
      case 0x85: push_items(Kind::tuple, pop_many(1)); return true;
      case 0x86: push_items(Kind::tuple, pop_many(2)); return true;
      case 0x87: push_items(Kind::tuple, pop_many(3)); return true;
      case 'a': add_items(pop_many(1)); return true;
      case 'e':
      case 0x90: add_items(pop_mark()); return true;
      case 's': add_items(pop_many(2)); return true;
      case 'u': add_items(pairs(pop_mark())); return true;
      default: return false;
    }
  }

  bool stack_or_memo(std::uint8_t op) {
    switch (op) {
      case 0x80: check_protocol(get<std::uint8_t>()); return true;
      case 0x95: get<std::uint64_t>(); return true;  // frame: a hint for readers of streams
      case '(': push_mark(); return true;
      case '0': pop(); return true;
      case '1': pop_mark(); return true;
      case '2': push_id(top()); return true;
      case 'q': remember(get<std::uint8_t>()); return true;
      case 'r': remember(get<std::uint32_t>()); return true;
      case 0x94: remember(static_cast<std::uint32_t>(memo_.size())); return true;
      case 'h': push_id(recall(get<std::uint8_t>())); return true;
      case 'j': push_id(recall(get<std::uint32_t>())); return true;
      default: return false;
    }
  }

  bool object(std::uint8_t op) {
    switch (op) {
      case 'c': {
        const std::string module = get_line();
        push_global(module, get_line());
        return true;
      }
      case 0x93: {
        const std::vector<PickleId> names = pop_many(2);
        push_global(values_[names[0]].text, values_[names[1]].text);
        return true;
      }
      case 'R':     // callable, arguments
      case 0x81: {  // class, arguments
        const std::vector<PickleId> call = pop_many(2);
        push_call(call[0], call[1]);
        return true;
      }
      case 'Q': {
        PickleValue value{.kind = Kind::persistent, .text = {}, .items = {}};
        value.args = pop();
        push(std::move(value));
        return true;
      }
      case 'b': {
        const PickleId state = pop();
        PickleValue& target = values_[top()];
        if (target.kind != Kind::call) fail_input("{}: a state for something that is no object", what_);
        target.state = state;
        target.has_state = true;
        return true;
      }
      default: return false;
    }
  }

  // ---- reading ----

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail_input("{}: the pickle ends within an instruction: it is cut short", what_);
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string get_line() {
    std::string line;
    for (char c = get<char>(); c != '\n'; c = get<char>()) line += c;
    return line;
  }
  void check_protocol(int protocol) const {
    if (protocol < kOldestProtocol || protocol > kNewestProtocol) {
      fail_input("{}: pickle protocol {}, expected {} to {}", what_, protocol, kOldestProtocol, kNewestProtocol);
    }
  }

  // ---- stack ----

  void push_id(PickleId id) {
    if (stack_.size() >= kDeepestStack) fail_input("{}: more than {} values on the stack", what_, kDeepestStack);
    stack_.push_back(id);
  }
  void push(PickleValue value) {
    if (values_.size() >= kMostValues) fail_input("{}: more than {} values", what_, kMostValues);
    values_.push_back(std::move(value));
    push_id(static_cast<PickleId>(values_.size() - 1));
  }
  // Values below the innermost mark belong to somebody else.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId top() const {
    if (stack_.size() <= floor()) fail_input("{}: the stack is empty at byte {}", what_, at_);
    return stack_.back();
  }
  PickleId pop() {
    const PickleId id = top();
    stack_.pop_back();
    return id;
  }
  std::vector<PickleId> pop_many(std::size_t count) {
    if (stack_.size() - floor() < count) fail_input("{}: the stack is empty at byte {}", what_, at_);
    const std::vector<PickleId> ids(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return ids;
  }
  std::vector<PickleId> pop_mark() {
    if (marks_.empty()) fail_input("{}: no mark at byte {}", what_, at_);
    const std::vector<PickleId> ids = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return ids;
  }
  void push_mark() {
    if (marks_.size() >= kMostValues) fail_input("{}: more than {} marks", what_, kMostValues);
    marks_.push_back(stack_.size());
  }
  void remember(std::uint32_t index) {
    if (memo_.size() >= kMostValues) fail_input("{}: more than {} memo entries", what_, kMostValues);
    memo_[index] = top();
  }
  PickleId recall(std::uint32_t index) const {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail_input("{}: memo {} was never stored", what_, index);
    return found->second;
  }

  // ---- building ----

  void push_integer(Kind kind, std::int64_t number) {
    PickleValue value;
    value.kind = kind;
    value.integer = number;
    push(std::move(value));
  }
  void push_real(double number) {
    PickleValue value;
    value.kind = Kind::real;
    value.real = number;
    push(std::move(value));
  }
  // Little-endian two's complement; numbers beyond 64 bits (random states, seeds) become reals.
  void push_long(std::uint64_t count) {
    if (count > kLargestInteger) fail_input("{}: an integer of {} bytes", what_, count);
    const auto bytes = take(count);
    double real = 0;
    std::uint64_t low = 0;
    for (std::size_t i = count; i-- > 0;) {
      real = real * 256 + std::to_integer<int>(bytes[i]);
      low = low << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    const bool negative = count > 0 && std::to_integer<int>(bytes[count - 1]) >= 128;
    if (count > sizeof low) return push_real(negative ? real - std::ldexp(1.0, static_cast<int>(8 * count)) : real);
    if (negative && count < sizeof low) low |= ~std::uint64_t{0} << (8 * count);
    push_integer(Kind::integer, static_cast<std::int64_t>(low));
  }
  void push_text(Kind kind, std::uint64_t count) {
    const auto bytes = take(count);
    PickleValue value;
    value.kind = kind;
    value.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    push(std::move(value));
  }
  void push_items(Kind kind, std::vector<PickleId> items) {
    PickleValue value;
    value.kind = kind;
    value.items = std::move(items);
    push(std::move(value));
  }
  void push_global(const std::string& module, const std::string& name) {
    PickleValue value;
    value.kind = Kind::global;
    value.text = module + "." + name;
    if (allowed_.find(value.text) == allowed_.end()) {
      fail_input(
          "{}: the pickle asks for {}, which biowarp does not run: it builds tensors, numbers, texts, lists, "
          "dicts "
          "and namespaces only. If you trust the file, load it with torch and save its state dict as "
          "safetensors",
          what_, value.text);
    }
    push(std::move(value));
  }
  void push_call(PickleId callee, PickleId args) {
    if (values_[callee].kind != Kind::global) fail_input("{}: a call of something that is no class or function", what_);
    PickleValue value;
    value.kind = Kind::call;
    value.callee = callee;
    value.args = args;
    push(std::move(value));
  }
  void add_items(const std::vector<PickleId>& added) {
    PickleValue& target = values_[top()];
    const Kind kind = target.kind;
    if (kind != Kind::list && kind != Kind::dict && kind != Kind::set && kind != Kind::call) {
      fail_input("{}: items for something that is no container", what_);
    }
    target.items.insert(target.items.end(), added.begin(), added.end());
  }
  std::vector<PickleId> pairs(std::vector<PickleId> items) const {
    if (items.size() % 2 != 0) fail_input("{}: a key without a value", what_);
    return items;
  }

  std::deque<PickleValue>& values_;
  std::span<const std::byte> bytes_;
  const std::string& what_;
  const std::set<std::string, std::less<>>& allowed_;
  std::size_t at_ = 0;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, PickleId> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::string what, const std::set<std::string, std::less<>>& allowed) {
  if (bytes.size() > kLargestPickle) fail_input("{}: {} bytes are too many for a saved model", what, bytes.size());
  root_ = PickleMachine(*this, bytes, what, allowed).run();
}

bool Pickle::calls(const PickleValue& value, std::string_view global) const {
  return value.kind == Kind::call && values_[value.callee].text == global;
}

}  // namespace biowarp
