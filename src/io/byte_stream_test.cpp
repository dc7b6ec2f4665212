#include "io/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "biowarp/error.h"
#include "io/file.h"
#include "io/testing/compress.h"

namespace biowarp {
namespace {

using testing::HasSubstr;

std::string read_all(ByteStream& stream, std::size_t step = 1000) {
  std::string all, part(step, '\0');
  while (const std::size_t count = stream.read(part.data(), part.size())) all.append(part, 0, count);
  return all;
}

std::string read_memory(const std::string& bytes, std::size_t step = 1000) {
  return read_all(*memory_bytes(std::as_bytes(std::span(bytes)), "input.fa"), step);
}

std::string error_of(const std::string& bytes) {
  try {
    read_memory(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

std::string long_text() {
  std::string text;
  for (std::int64_t i = 0; i < 200'000; ++i) text += static_cast<char>('A' + (i * i + i / 7) % 26);
  return text;
}

TEST(ByteStream, PlainBytesPassUnchanged) {
  EXPECT_EQ(read_memory(""), "");
  EXPECT_EQ(read_memory(">"), ">");
  EXPECT_EQ(read_memory(long_text(), 7), long_text());
}

TEST(ByteStream, S32GzipOfSeveralMembers) {
  const std::string text = long_text();
  EXPECT_EQ(read_memory(gzip(text)), text);
  EXPECT_EQ(read_memory(gzip(text) + gzip("") + gzip("more"), 3), text + "more");
  EXPECT_EQ(read_memory(gzip(text) + std::string(512, '\0')), text);
}

TEST(ByteStream, S32ZstdOfSeveralFrames) {
  const std::string text = long_text();
  EXPECT_EQ(read_memory(zstd(text)), text);
  EXPECT_EQ(read_memory(zstd(text) + zstd("") + zstd("more"), 3), text + "more");
  const std::string skippable("\x51\x2a\x4d\x18\x03\0\0\0abc", 11);
  EXPECT_EQ(read_memory(skippable + zstd(text)), text);
}

TEST(ByteStream, S32TruncatedOrDamagedInputIsAnErrorThatNamesTheFile) {
  for (const std::string& whole : {gzip(long_text()), zstd(long_text()), gzip("short"), zstd("short")}) {
    for (const std::size_t kept : {whole.size() - 1, whole.size() / 2, std::size_t{6}}) {
      EXPECT_THAT(error_of(whole.substr(0, kept)), HasSubstr("input.fa is cut off")) << kept;
    }
  }
  std::string damaged = gzip(long_text());
  damaged[damaged.size() - 5] ^= 1;  // in the CRC
  EXPECT_THAT(error_of(damaged), HasSubstr("input.fa holds damaged gzip data"));
  EXPECT_THAT(error_of(gzip("text") + "rest"), HasSubstr("behind its gzip data"));
  EXPECT_THAT(error_of(zstd("text") + "rest"), HasSubstr("damaged zstd data"));
}

TEST(ByteStream, CompressionsThatAreNotReadAreNamed) {
  EXPECT_THAT(error_of("BZh91AY&SY"), HasSubstr("bzip2"));
  EXPECT_THAT(error_of(std::string("\xfd\x37zXZ\0....", 10)), HasSubstr("xz"));
  EXPECT_THAT(error_of("PK\x03\x04...."), HasSubstr("zip"));
}

TEST(ByteStream, FilesAreToldByContentNotBySuffix) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "byte_stream_no_suffix").string();
  write_text(path, gzip("MKTL"));
  EXPECT_EQ(read_all(*open_bytes(path)), "MKTL");
  std::filesystem::remove(path);
  EXPECT_THROW(open_bytes(path), Error);
  EXPECT_THROW(open_bytes(testing::TempDir()), Error);
}

}  // namespace
}  // namespace biowarp
