#include "io/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/fail.h"
#include "io/pickle.h"
#include "io/zip_archive.h"

namespace biowarp {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kTensorV2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kTensorV3 = "torch._utils._rebuild_tensor_v3";  // untyped storage and a dtype
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kParameterState = "torch._utils._rebuild_parameter_with_state";
constexpr std::string_view kSize = "torch.Size";
constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kNamespace = "argparse.Namespace";

struct TypeName {
  std::string_view name;
  DType dtype;
};
// Bytes of an untyped storage get their type from the tensor.
constexpr std::array<TypeName, 12> kStorages{{{"torch.DoubleStorage", DType::f64},
                                              {"torch.FloatStorage", DType::f32},
                                              {"torch.HalfStorage", DType::f16},
                                              {"torch.BFloat16Storage", DType::bf16},
                                              {"torch.LongStorage", DType::i64},
                                              {"torch.IntStorage", DType::i32},
                                              {"torch.ShortStorage", DType::i16},
                                              {"torch.CharStorage", DType::i8},
                                              {"torch.ByteStorage", DType::u8},
                                              {"torch.BoolStorage", DType::boolean},
                                              {"torch.UntypedStorage", DType::u8},
                                              {"torch.storage.UntypedStorage", DType::u8}}};
constexpr std::array<TypeName, 10> kTypes{{{"torch.float64", DType::f64},
                                           {"torch.float32", DType::f32},
                                           {"torch.float16", DType::f16},
                                           {"torch.bfloat16", DType::bf16},
                                           {"torch.int64", DType::i64},
                                           {"torch.int32", DType::i32},
                                           {"torch.int16", DType::i16},
                                           {"torch.int8", DType::i8},
                                           {"torch.uint8", DType::u8},
                                           {"torch.bool", DType::boolean}}};

// Everything a pickle may mention. Objects of the last row are kept as they are and never looked into.
const std::set<std::string, std::less<>>& allowed_globals() {
  static const std::set<std::string, std::less<>> allowed = [] {
    std::set<std::string, std::less<>> names;
    for (const auto name : {kTensorV2, kTensorV3, kParameter, kParameterState, kSize, kOrderedDict, kNamespace}) {
      names.emplace(name);
    }
    for (const TypeName& type : kStorages) names.emplace(type.name);
    for (const TypeName& type : kTypes) names.emplace(type.name);
    for (const char* name : {"torch.device", "_codecs.encode", "_io.BytesIO", "builtins.set", "__builtin__.set",
                             "builtins.bytearray", "__builtin__.bytearray", "__builtin__.bytes"}) {
      names.emplace(name);
    }
    return names;
  }();
  return allowed;
}

template <std::size_t N>
std::optional<DType> type_named(const std::array<TypeName, N>& rows, std::string_view name) {
  for (const TypeName& row : rows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

using Entries = std::vector<std::pair<std::string, PickleId>>;  // text keys only, in file order

class TorchReader {
 public:
  TorchReader(const ZipArchive& archive, std::string root)
      : archive_(archive),
        path_(archive.file().path()),
        root_(std::move(root)),
        pickle_(archive.entry(root_ + "data.pkl"), path_ + ", data.pkl", allowed_globals()) {}

  void read_into(WeightFile& result) {
    const auto top = entries_of(pickle_.root());
    if (!top) fail_input("{}: expected a dictionary of tensors, the file holds something else", path_);
    const auto [name, state_dict] = find_state_dict(*top);
    std::map<std::string, TensorInfo> tensors;  // a key that is set twice keeps its last value, as in Python
    for (const auto& [key, id] : state_dict) {
      if (auto tensor = tensor_of(id, key)) tensors[key] = std::move(*tensor);
    }
    for (auto& [key, tensor] : tensors) result.tensors.push_back(std::move(tensor));
    for (const auto& [key, id] : *top) {
      if (key != name && !state_dict_is_top_) flatten(key, id, 0, result.metadata);
    }
  }

 private:
  // Items of a dict, an OrderedDict or a namespace; nothing for other values.
  std::optional<Entries> entries_of(const PickleValue& value) const {
    Entries entries;
    if (value.kind == Kind::dict) {
      append_entries(value.items, entries);
    } else if (pickle_.calls(value, kOrderedDict)) {
      for (const PickleId list : pickle_[value.args].items) {  // OrderedDict([(key, value), ...]) of old torch
        for (const PickleId pair : pickle_[list].items) {
          if (pickle_[pair].items.size() == 2) append_entries(pickle_[pair].items, entries);
        }
      }
      append_entries(value.items, entries);
    } else if (pickle_.calls(value, kNamespace)) {
      if (value.has_state) append_entries(pickle_[value.state].items, entries);
    } else {
      return std::nullopt;
    }
    return entries;
  }
  void append_entries(const std::vector<PickleId>& items, Entries& entries) const {
    constexpr std::size_t kMost = 1'000'000;  // one list may be named many times
    if (entries.size() + items.size() / 2 > kMost) fail_input("{}: a dictionary of more than {} entries", path_, kMost);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (pickle_[items[i]].kind == Kind::text) entries.emplace_back(pickle_[items[i]].text, items[i + 1]);
    }
  }

  bool has_tensors(const Entries& entries) const {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const auto& entry) { return is_tensor(pickle_[entry.second]); });
  }
  bool is_tensor(const PickleValue& value) const {
    return pickle_.calls(value, kTensorV2) || pickle_.calls(value, kTensorV3) || pickle_.calls(value, kParameter) ||
           pickle_.calls(value, kParameterState);
  }

  std::pair<std::string, Entries> find_state_dict(const Entries& top) {
    state_dict_is_top_ = has_tensors(top);
    if (state_dict_is_top_) return {"", top};
    for (const char* name : {"model", "state_dict", "model_state_dict", "module"}) {
      for (const auto& [key, id] : top) {
        if (key != name) continue;
        const auto inner = entries_of(pickle_[id]);
        if (inner && has_tensors(*inner)) return {name, *inner};
      }
    }
    std::vector<std::string> keys;
    for (const auto& [key, id] : top) keys.push_back(key);
    fail_input(
        "{}: no state dict; looked for tensors at the top and under model, state_dict, model_state_dict and "
        "module; the file has the keys: {}",
        path_, fmt::join(keys, ", "));
  }

  // ---- tensors ----

  std::vector<std::int64_t> integers(PickleId id, const std::string& name) const {
    const PickleValue* value = &pickle_[id];
    if (pickle_.calls(*value, kSize) && !pickle_[value->args].items.empty()) {
      value = &pickle_[pickle_[value->args].items[0]];
    }
    constexpr std::size_t kMostAxes = 16;
    if (value->items.size() > kMostAxes) fail_input("{}: {}: {} axes are too many", path_, name, value->items.size());
    std::vector<std::int64_t> result;
    for (const PickleId item : value->items) {
      const PickleValue& number = pickle_[item];
      if (number.kind != Kind::integer || number.integer < 0) fail_input("{}: {}: not a size", path_, name);
      result.push_back(number.integer);
    }
    return result;
  }

  struct Storage {
    std::span<const std::byte> bytes;
    DType dtype;
  };
  // ("storage", class, key, device, elements)
  Storage storage_of(PickleId id, const std::string& name) const {
    const PickleValue& value = pickle_[id];
    const auto& parts = pickle_[value.args].items;
    if (value.kind != Kind::persistent || parts.size() < 3 || pickle_[parts[1]].kind != Kind::global ||
        pickle_[parts[2]].kind != Kind::text) {
      fail_input("{}: {}: its storage is described in a way biowarp does not know", path_, name);
    }
    const auto dtype = type_named(kStorages, pickle_[parts[1]].text);
    if (!dtype) fail_input("{}: {}: {} is no storage", path_, name, pickle_[parts[1]].text);
    return {archive_.entry(root_ + "data/" + pickle_[parts[2]].text), *dtype};
  }

  std::optional<TensorInfo> tensor_of(PickleId id, const std::string& name) const {
    constexpr int kDeepestWrapping = 4;
    const PickleValue* value = &pickle_[id];
    for (int depth = 0; pickle_.calls(*value, kParameter) || pickle_.calls(*value, kParameterState); ++depth) {
      const auto& args = pickle_[value->args].items;
      if (args.empty() || depth > kDeepestWrapping) fail_input("{}: {}: not a parameter", path_, name);
      value = &pickle_[args[0]];
    }
    const bool typed = pickle_.calls(*value, kTensorV2);
    if (!typed && !pickle_.calls(*value, kTensorV3)) return std::nullopt;

    // storage, offset, size, stride, requires_grad, hooks [, dtype]
    const auto& args = pickle_[value->args].items;
    const std::size_t needed = typed ? 4 : 7;
    if (args.size() < needed || pickle_[args[1]].kind != Kind::integer || pickle_[args[1]].integer < 0) {
      fail_input("{}: {}: not a tensor", path_, name);
    }
    Storage storage = storage_of(args[0], name);
    if (!typed) {
      const auto dtype = type_named(kTypes, pickle_[args[6]].text);
      if (!dtype) fail_input("{}: {}: elements of type {} are not supported", path_, name, pickle_[args[6]].text);
      storage.dtype = *dtype;
    }
    TensorInfo tensor{name, storage.dtype, integers(args[2], name), integers(args[3], name), nullptr};
    place(storage, pickle_[args[1]].integer, tensor);
    return tensor;
  }

  // Checks that the view lies within its storage, and points it there.
  void place(const Storage& storage, std::int64_t offset, TensorInfo& tensor) const {
    const auto element = static_cast<std::int64_t>(size_of(storage.dtype));
    const std::int64_t available = static_cast<std::int64_t>(storage.bytes.size()) / element;
    if (tensor.shape.size() != tensor.strides.size())
      fail_input("{}: {}: sizes and strides differ in number", path_, tensor.name);
    std::int64_t count = 1, last = offset;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      std::int64_t reach = 0;
      const std::int64_t size = std::max<std::int64_t>(tensor.shape[axis], 1);
      if (__builtin_mul_overflow(size - 1, tensor.strides[axis], &reach) ||
          __builtin_add_overflow(last, reach, &last) || __builtin_mul_overflow(count, size, &count) ||
          count >> 60 != 0) {
        fail_input("{}: {}: {} is too large to be true", path_, tensor.name, describe_shape(tensor.shape));
      }
    }
    const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    if (!empty && last >= available) {
      fail_input("{}: {}: {} of {} reaches beyond its storage of {} elements", path_, tensor.name,
                 describe_shape(tensor.shape), name_of(tensor.dtype), available);
    }
    if (!empty && count > available) {
      fail_input("{}: {}: {} repeats elements of a smaller storage; save a contiguous copy", path_, tensor.name,
                 describe_shape(tensor.shape));
    }
    tensor.data = empty ? storage.bytes.data() : storage.bytes.data() + offset * element;
  }

  // ---- settings beside the tensors ----

  void flatten(const std::string& name, PickleId id, int depth, std::map<std::string, std::string>& out) {
    constexpr int kDeepest = 4;
    constexpr std::size_t kMost = 10'000;  // values looked at: a dictionary may contain itself
    if (++flattened_ > kMost) return;
    const PickleValue& value = pickle_[id];
    switch (value.kind) {
      case Kind::boolean: out[name] = value.integer != 0 ? "true" : "false"; return;
      case Kind::integer: out[name] = fmt::format("{}", value.integer); return;
      case Kind::real: out[name] = fmt::format("{}", value.real); return;
      case Kind::text: out[name] = value.text; return;
      default: break;
    }
    const auto entries = depth < kDeepest ? entries_of(value) : std::nullopt;
    if (!entries) return;
    for (const auto& [key, inner] : *entries) flatten(name + "." + key, inner, depth + 1, out);
  }

  const ZipArchive& archive_;
  const std::string path_;
  const std::string root_;
  Pickle pickle_;
  bool state_dict_is_top_ = false;
  std::size_t flattened_ = 0;
};

// The magic number that opens torch files older than version 1.6: a pickled 0x1950a86a20f9469cfc6c.
constexpr std::string_view kLegacyMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);

bool is_legacy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 64));
  return text.size() > 2 && text[0] == '\x80' && text.substr(2, kLegacyMagic.size()) == kLegacyMagic;
}

// "archive/" when the archive's pickle is archive/data.pkl.
std::string root_of(const ZipArchive& archive) {
  for (const auto& [name, bytes] : archive.entries()) {
    constexpr std::string_view kPickle = "data.pkl";
    const std::size_t slash = name.find('/');
    if (name == kPickle) return "";
    if (slash != std::string::npos && name.substr(slash + 1) == kPickle) return name.substr(0, slash + 1);
  }
  fail_input("{}: a zip archive, but not of torch: it has no data.pkl", archive.file().path());
}

void refuse_torchscript(const ZipArchive& archive, const std::string& root) {
  if (!archive.has(root + "constants.pkl")) return;
  fail_input(
      "{}: a TorchScript archive (a compiled program); save the weights instead: "
      "torch.save(model.state_dict(), \"model.pt\")",
      archive.file().path());
}

void check_byte_order(const ZipArchive& archive, const std::string& root) {
  if (!archive.has(root + "byteorder")) return;
  const auto bytes = archive.entry(root + "byteorder");
  const std::string_view order(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (order != "little") {
    fail_input("{}: written on a machine of {}-endian byte order; save it again on an x86 or ARM machine",
               archive.file().path(), order);
  }
}

}  // namespace

bool looks_like_torch(std::span<const std::byte> bytes) { return looks_like_zip(bytes) || is_legacy(bytes); }

WeightFile open_torch_file(const MappedFile& file) {
  if (is_legacy(file.bytes())) {
    fail_input(
        "{}: a torch file from before version 1.6 (not a zip archive); with torch at hand: "
        "torch.save(torch.load(\"{}\"), \"new.pt\")",
        file.path(), file.path());
  }
  const ZipArchive archive(file);
  const std::string root = root_of(archive);
  refuse_torchscript(archive, root);
  check_byte_order(archive, root);
  WeightFile result;
  result.path = file.path();
  result.maps.push_back(file);
  TorchReader(archive, root).read_into(result);
  return result;
}

}  // namespace biowarp
