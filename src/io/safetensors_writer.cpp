#include "io/safetensors_writer.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/fail.h"

namespace biowarp {
namespace {

constexpr std::size_t kAlignment = 8;  // of the data, as the reference implementation pads its header

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::toupper(c); });
  return result;
}

std::int64_t bytes_of(const PlannedTensor& tensor) {
  return tensor.elements() * static_cast<std::int64_t>(size_of(tensor.dtype));
}

std::string header_of(const std::vector<PlannedTensor>& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const PlannedTensor& tensor : tensors) {
    nlohmann::ordered_json& entry = header[tensor.name];
    entry["dtype"] = upper_case(name_of(tensor.dtype));
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, offset + bytes_of(tensor)};
    offset += bytes_of(tensor);
  }
  std::string text = tensors.empty() && metadata.empty() ? "{}" : header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

std::int64_t PlannedTensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<PlannedTensor>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path) {
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  file_.write(&length, sizeof length);
  file_.write(header);
  end_ = file_.position();
  for (const PlannedTensor& tensor : tensors) end_ += bytes_of(tensor);
}

void SafetensorsWriter::write(const void* data, std::size_t bytes) { file_.write(data, bytes); }

void SafetensorsWriter::finish() {
  if (file_.position() != end_) {
    fail(ErrorKind::internal, "{}: {} bytes written, {} planned", file_.target(), file_.position(), end_);
  }
  file_.commit();
}

}  // namespace biowarp
