#include "io/zip_writer.h"

#include <zlib.h>

#include <cassert>

#include "base/fail.h"

namespace biowarp {
namespace {

constexpr std::int64_t kLimit32 = 0xffffffff;
constexpr std::uint16_t kDate = (0 << 9) | (1 << 5) | 1;  // 1980-01-01
constexpr std::uint16_t kUtf8Names = 1 << 11;
constexpr std::uint16_t kMadeByUnix = (3 << 8) | 45;
constexpr std::uint32_t kRegularFile = 0100644u << 16;
constexpr std::int64_t kLocalHeaderBytes = 30;
constexpr std::int64_t kCrcOffset = 14;  // within a local header
constexpr std::size_t kExtraHeaderBytes = 4;

// Little-endian fields, one after the other.
class Fields {
 public:
  Fields& u16(std::uint64_t value) { return put(value, 2); }
  Fields& u32(std::uint64_t value) { return put(value, 4); }
  Fields& u64(std::uint64_t value) { return put(value, 8); }
  // 32 bits, or all ones when the value stands in a zip64 field instead.
  Fields& u32_or_zip64(std::int64_t value) {
    return u32(value < kLimit32 ? static_cast<std::uint64_t>(value) : kLimit32);
  }
  Fields& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Fields& put(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xff);
    return *this;
  }
  std::string bytes_;
};

std::uint16_t version_needed(bool zip64) { return zip64 ? 45 : 20; }

std::uint16_t flags_for(std::string_view name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) >= 0x80) return kUtf8Names;
  }
  return 0;
}

}  // namespace

void ZipWriter::write_local_header(const Member& member) {
  if (member.name.size() > 0xffff) fail_input("a zip member name has {} bytes; 65535 are possible", member.name.size());
  const bool zip64 = member.bytes >= kLimit32;
  Fields extra;
  if (zip64) {
    extra.u16(0x0001)
        .u16(16)
        .u64(static_cast<std::uint64_t>(member.bytes))
        .u64(static_cast<std::uint64_t>(member.bytes));
  }
  const auto start =
      member.offset + kLocalHeaderBytes + static_cast<std::int64_t>(member.name.size() + extra.bytes().size());
  if (alignment_ > 1 && start % alignment_ != 0) {
    const std::int64_t least = start + static_cast<std::int64_t>(kExtraHeaderBytes);
    const auto padding = static_cast<std::size_t>((alignment_ - least % alignment_) % alignment_);
    extra.text("FB").u16(padding).text(std::string(padding, '\0'));
  }
  Fields header;
  header.u32(0x04034b50).u16(version_needed(zip64)).u16(flags_for(member.name)).u16(0).u16(0).u16(kDate);
  header.u32(member.crc).u32_or_zip64(member.bytes).u32_or_zip64(member.bytes);
  header.u16(member.name.size()).u16(extra.bytes().size()).text(member.name).text(extra.bytes());
  file_.write(header.bytes());
}

void ZipWriter::begin(std::string_view name, std::int64_t bytes) {
  assert(left_ == 0);
  members_.push_back({std::string(name), file_.position(), bytes, 0});
  left_ = bytes;
  write_local_header(members_.back());
}

void ZipWriter::write(const void* data, std::size_t bytes) {
  left_ -= static_cast<std::int64_t>(bytes);
  assert(left_ >= 0);
  std::uint32_t& crc = members_.back().crc;
  crc = static_cast<std::uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), bytes));
  file_.write(data, bytes);
}

void ZipWriter::end() {
  assert(left_ == 0);
  const Member& member = members_.back();
  const std::string crc = Fields().u32(member.crc).bytes();
  file_.write_at(member.offset + kCrcOffset, crc.data(), crc.size());
}

void ZipWriter::add(std::string_view name, std::initializer_list<std::string_view> pieces) {
  Member member{std::string(name), file_.position(), 0, 0};
  for (const std::string_view piece : pieces) {
    member.bytes += static_cast<std::int64_t>(piece.size());
    member.crc =
        static_cast<std::uint32_t>(crc32_z(member.crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
  }
  write_local_header(member);
  for (const std::string_view piece : pieces) file_.write(piece);
  members_.push_back(std::move(member));
}

void ZipWriter::write_directory_entry(const Member& member) {
  Fields wide;  // only the fields that do not fit 32 bits, in this order
  if (member.bytes >= kLimit32) {
    wide.u64(static_cast<std::uint64_t>(member.bytes)).u64(static_cast<std::uint64_t>(member.bytes));
  }
  if (member.offset >= kLimit32) wide.u64(static_cast<std::uint64_t>(member.offset));
  const bool zip64 = !wide.bytes().empty();
  Fields extra;
  if (zip64) extra.u16(0x0001).u16(wide.bytes().size()).text(wide.bytes());

  Fields entry;
  entry.u32(0x02014b50)
      .u16(kMadeByUnix)
      .u16(version_needed(zip64))
      .u16(flags_for(member.name))
      .u16(0)
      .u16(0)
      .u16(kDate);
  entry.u32(member.crc).u32_or_zip64(member.bytes).u32_or_zip64(member.bytes);
  entry.u16(member.name.size()).u16(extra.bytes().size()).u16(0).u16(0).u16(0).u32(kRegularFile);
  entry.u32_or_zip64(member.offset).text(member.name).text(extra.bytes());
  file_.write(entry.bytes());
}

void ZipWriter::finish() {
  assert(left_ == 0);
  const std::int64_t start = file_.position();
  for (const Member& member : members_) write_directory_entry(member);
  const std::int64_t end = file_.position();
  const auto count = static_cast<std::uint64_t>(members_.size());

  Fields tail;
  if (count >= 0xffff || end >= kLimit32) {
    tail.u32(0x06064b50).u64(44).u16(kMadeByUnix).u16(45).u32(0).u32(0).u64(count).u64(count);
    tail.u64(static_cast<std::uint64_t>(end - start)).u64(static_cast<std::uint64_t>(start));
    tail.u32(0x07064b50).u32(0).u64(static_cast<std::uint64_t>(end)).u32(1);
  }
  const std::uint64_t short_count = count < 0xffff ? count : 0xffff;
  tail.u32(0x06054b50).u16(0).u16(0).u16(short_count).u16(short_count);
  tail.u32_or_zip64(end - start).u32_or_zip64(start).u16(0);
  file_.write(tail.bytes());
}

}  // namespace biowarp
