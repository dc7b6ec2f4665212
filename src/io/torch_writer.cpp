#include "io/torch_writer.h"

#include <cassert>
#include <string_view>

#include "io/zip_writer.h"

namespace biowarp {
namespace {

constexpr std::int64_t kStorageAlignment = 64;
const std::string kRoot = "archive/";

// Pickle protocol 2, without memo: every value is written where it is used.
class Pickler {
 public:
  Pickler() { out_ = "\x80\x02"; }

  void dict(const TorchDict& dict) {
    out_ += '}';  // EMPTY_DICT
    out_ += '(';  // MARK
    for (const auto& [key, value] : dict.items) {
      std::visit([this](const auto& k) { put(k); }, key);
      std::visit([this](const auto& v) { put(v); }, value);
    }
    out_ += 'u';  // SETITEMS
  }

  std::string finish() { return out_ + '.'; }
  // In the order of their storage numbers.
  const std::vector<const TorchTensor*>& tensors() const { return tensors_; }

 private:
  void put(const TorchDict& value) { dict(value); }

  void put(const std::string& text) {
    out_ += 'X';  // BINUNICODE
    little_endian(static_cast<std::int64_t>(text.size()), 4);
    out_ += text;
  }

  void put(std::int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';  // BININT
      return little_endian(value, 4);
    }
    out_ += "\x8a\x08";  // LONG1 of 8 bytes
    little_endian(value, 8);
  }

  // _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks)
  void put(const TorchTensor& tensor) {
    out_ += "ctorch._utils\n_rebuild_tensor_v2\n(";  // GLOBAL, MARK
    storage(tensor);
    put(std::int64_t{0});
    tuple(tensor.shape);
    tuple(strides(tensor.shape));
    out_ += '\x89';                           // NEWFALSE
    out_ += "ccollections\nOrderedDict\n)R";  // an empty OrderedDict
    out_ += "tR";                             // TUPLE, REDUCE
  }

  // Persistent id ('storage', torch.FloatStorage, number, device, elements)
  void storage(const TorchTensor& tensor) {
    out_ += '(';
    put(std::string("storage"));
    out_ += "ctorch\nFloatStorage\n";
    put(std::to_string(tensors_.size()));
    put(std::string("cpu"));
    put(static_cast<std::int64_t>(tensor.values.size()));
    out_ += "tQ";  // TUPLE, BINPERSID
    tensors_.push_back(&tensor);
  }

  void tuple(const std::vector<std::int64_t>& values) {
    out_ += '(';
    for (const std::int64_t value : values) put(value);
    out_ += 't';
  }

  static std::vector<std::int64_t> strides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    return strides;
  }

  void little_endian(std::int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff);
  }

  std::string out_;
  std::vector<const TorchTensor*> tensors_;
};

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

void write_torch_file(const std::string& path, const TorchDict& dict) {
  Pickler pickler;
  pickler.dict(dict);
  AtomicFile file(path);
  ZipWriter zip(file, kStorageAlignment);
  zip.add(kRoot + "data.pkl", {pickler.finish()});
  zip.add(kRoot + "byteorder", {"little"});
  for (std::size_t i = 0; i < pickler.tensors().size(); ++i) {
    zip.add(kRoot + "data/" + std::to_string(i), {bytes_of(pickler.tensors()[i]->values)});
  }
  zip.add(kRoot + "version", {"3\n"});
  zip.finish();
  file.commit();
}

}  // namespace biowarp
