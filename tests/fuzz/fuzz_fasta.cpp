#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/log.h"
#include "biowarp/error.h"
#include "io/record_stream.h"
#include "seq/protein.h"
#include "targets.h"

namespace biowarp::fuzz {
namespace {

// Hands out few bytes at a time, so that every buffer boundary is met.
class Steps : public ByteStream {
 public:
  Steps(Bytes bytes, std::size_t step) : rest_(bytes), step_(step) {}
  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t count = std::min({capacity, step_, rest_.size()});
    std::copy_n(reinterpret_cast<const char*>(rest_.data()), count, out);
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  Bytes rest_;
  std::size_t step_;
};

// Everything that was read, or the error, as one text.
std::string transcript(std::unique_ptr<ByteStream> bytes, const ReadOptions& options) {
  std::string text;
  try {
    const auto stream = open_records(std::move(bytes), "input", options);
    for (Record record; stream->next(record);) {
      text += record.id + '\x1f' + record.description + '\x1f' + std::to_string(record.line) + record.error;
      text += read_residues(record.sequence).error + '\x1f' + record.sequence + '\x1e';
    }
  } catch (const Error& error) {
    text += error.what();
  }
  return text;
}

void check(Bytes bytes, const ReadOptions& options) {
  set_log_level(LogLevel::off);
  const std::string whole = transcript(std::make_unique<Steps>(bytes, bytes.size()), options);
  if (whole != transcript(std::make_unique<Steps>(bytes, 1), options)) {
    throw std::logic_error("records depend on how the bytes arrive");
  }
}

}  // namespace

void fuzz_fasta(Bytes bytes) { check(bytes, {}); }

void fuzz_table(Bytes bytes) { check(bytes, {"letters", "key"}); }

void fuzz_packed(Bytes bytes) {
  char buffer[4096];
  std::size_t total = 0;
  const auto stream = memory_bytes(bytes, "input");
  // A few bytes may stand for very many; a stream holds none of them, so that reading may stop anywhere.
  while (const std::size_t count = stream->read(buffer, sizeof buffer)) {
    if ((total += count) > (1u << 24)) break;
  }
}

}  // namespace biowarp::fuzz
