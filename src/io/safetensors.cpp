#include "io/safetensors.h"

#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "io/json.h"

namespace biowarp {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestHeader = 100'000'000;  // the reference implementation's limit
constexpr std::size_t kLengthBytes = 8;

std::uint64_t header_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

struct Entry {
  TensorInfo tensor;
  std::uint64_t begin, end;  // in the data section
};

std::vector<std::uint64_t> naturals(const json& list, const std::string& where) {
  if (!list.is_array()) fail_input("{}: expected a list of integers", where);
  std::vector<std::uint64_t> values;
  for (const json& item : list) {
    if (!item.is_number_unsigned()) fail_input("{}: expected integers >= 0, got {}", where, item.dump());
    values.push_back(item.get<std::uint64_t>());
  }
  return values;
}

// Bytes of a tensor. Empty axes count as 1 in the check, so that strides can be counted in 63 bits too.
std::uint64_t bytes_of(const std::vector<std::uint64_t>& shape, DType dtype, const std::string& where) {
  std::uint64_t bytes = size_of(dtype);
  bool empty = false;
  for (const std::uint64_t size : shape) {
    empty = empty || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes) || bytes >> 62 != 0) {
      fail_input("{}: shape is too large to be true", where);
    }
  }
  return empty ? 0 : bytes;
}

DType dtype_of(const json& entry, const std::string& where) {
  if (!entry["dtype"].is_string()) fail_input("{}: dtype is not text", where);
  try {
    return parse_dtype(entry["dtype"].get<std::string>());
  } catch (const Error&) {
    fail_input("{}: elements of type {} are not supported; F64, F32, F16, BF16, BOOL and integers up to I64 are", where,
               entry["dtype"].get<std::string>());
  }
}

Entry read_entry(const std::string& path, const std::string& name, const json& entry) {
  const std::string where = fmt::format("{}: tensor {}", path, name);
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.is_object() || !entry.contains(key)) fail_input("{}: no \"{}\" in the header", where, key);
  }
  const std::vector<std::uint64_t> shape = naturals(entry["shape"], where + ", shape");
  const std::vector<std::uint64_t> offsets = naturals(entry["data_offsets"], where + ", data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fail_input("{}: data_offsets must be [begin, end], got {}", where, entry["data_offsets"].dump());
  }
  Entry result{{name, dtype_of(entry, where), {shape.begin(), shape.end()}, {}, nullptr}, offsets[0], offsets[1]};
  const std::uint64_t expected = bytes_of(shape, result.tensor.dtype, where);
  if (expected != offsets[1] - offsets[0]) {
    fail_input("{}: shape {} of {} needs {} bytes, data_offsets give {}", where, describe_shape(result.tensor.shape),
               name_of(result.tensor.dtype), expected, offsets[1] - offsets[0]);
  }
  result.tensor.strides = row_major_strides(result.tensor.shape);
  return result;
}

// The entries, sorted by offset, must cover [0, bytes) without gap and without overlap.
void check_coverage(const std::string& path, std::vector<Entry>& entries, std::uint64_t bytes) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.end > bytes) {
      fail_input("{}: tensor {} ends at byte {} of the data, the file has {}: it is cut short", path, entry.tensor.name,
                 entry.end, bytes);
    }
    if (entry.begin != covered) {
      fail_input("{}: tensor {} begins at byte {} of the data where {} was expected: the header has {}", path,
                 entry.tensor.name, entry.begin, covered, entry.begin < covered ? "overlapping tensors" : "a hole");
    }
    covered = entry.end;
  }
  if (covered != bytes) fail_input("{}: {} bytes behind the last tensor", path, bytes - covered);
}

void read_metadata(const json& block, WeightFile& result) {
  if (!block.is_object()) fail_input("{}: __metadata__ is not an object", result.path);
  for (const auto& [key, value] : block.items()) {
    if (!value.is_string()) fail_input("{}: __metadata__ entry {} is not text", result.path, key);
    result.metadata.emplace(key, value.get<std::string>());
  }
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > kLengthBytes && header_length(bytes) <= kLargestHeader && bytes[kLengthBytes] == std::byte{'{'};
}

WeightFile open_safetensors(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  if (!looks_like_safetensors(bytes)) fail_input("{}: not a safetensors file", file.path());
  const std::uint64_t length = header_length(bytes);
  if (length > bytes.size() - kLengthBytes) {
    fail_input("{}: the header should have {} bytes, the file has {}: it is cut short", file.path(), length,
               bytes.size());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  constexpr JsonLimits kLimits{.depth = 4};
  const json header = parse_json(text, fmt::format("{}: the safetensors header", file.path()), kLimits);

  WeightFile result;
  result.path = file.path();
  result.maps.push_back(file);
  std::vector<Entry> entries;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      read_metadata(entry, result);
    } else {
      entries.push_back(read_entry(file.path(), name, entry));
    }
  }
  const std::byte* data = bytes.data() + kLengthBytes + length;
  check_coverage(file.path(), entries, bytes.size() - kLengthBytes - length);
  for (Entry& entry : entries) {
    entry.tensor.data = data + entry.begin;
    result.tensors.push_back(std::move(entry.tensor));
  }
  return result;
}

}  // namespace biowarp
