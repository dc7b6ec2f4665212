// Zip archives, torch files, .npy headers, unique names and index lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/file.h"
#include "io/index_file.h"
#include "io/npy.h"
#include "io/torch_writer.h"
#include "io/unique_names.h"
#include "io/utf8.h"
#include "io/zip_writer.h"

namespace biowarp {
namespace {

using testing::HasSubstr;

std::string temporary(const std::string& name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

TEST(ZipWriter, CrcIsPatchedIntoStreamedMembers) {
  {
    AtomicFile file(temporary("streamed.zip"));
    ZipWriter zip(file);
    zip.begin("a", 9);
    zip.write("12345", 5);
    zip.write("6789", 4);
    zip.end();
    zip.add("b", {"1234", "56789"});
    zip.finish();
    file.commit();
  }
  const std::string bytes = read_text(temporary("streamed.zip"));
  EXPECT_EQ(little_endian(bytes, 14, 4), 0xcbf43926u);       // CRC-32's check value
  EXPECT_EQ(little_endian(bytes, 40 + 14, 4), 0xcbf43926u);  // second member: 30 + 1 + 9 bytes on
}

TEST(ZipWriter, AlignsData) {
  AtomicFile file(temporary("aligned.zip"));
  ZipWriter zip(file, 64);
  for (const char* name : {"a", "bc", "a-name-of-another-length"}) zip.add(name, {"x"});
  zip.finish();
  file.commit();
  const std::string bytes = read_text(temporary("aligned.zip"));
  std::size_t at = 0;
  for (int member = 0; member < 3; ++member) {
    at += 30 + little_endian(bytes, at + 26, 2) + little_endian(bytes, at + 28, 2);
    EXPECT_EQ(at % 64, 0u);
    EXPECT_EQ(bytes[at], 'x');
    ++at;
  }
}

TEST(ZipWriter, Zip64DirectoryForManyMembers) {
  constexpr std::uint64_t kMembers = 70'000;
  {
    AtomicFile file(temporary("many.zip"));
    ZipWriter zip(file);
    for (std::uint64_t i = 0; i < kMembers; ++i) zip.add(std::to_string(i), {});
    zip.finish();
    file.commit();
  }
  const std::string bytes = read_text(temporary("many.zip"));
  const std::size_t end = bytes.size() - 22, locator = end - 20, record = locator - 56;
  EXPECT_EQ(little_endian(bytes, end + 10, 2), 0xffffu);
  EXPECT_EQ(little_endian(bytes, locator, 4), 0x07064b50u);
  EXPECT_EQ(little_endian(bytes, locator + 8, 8), record);
  EXPECT_EQ(little_endian(bytes, record, 4), 0x06064b50u);
  EXPECT_EQ(little_endian(bytes, record + 32, 8), kMembers);
  EXPECT_EQ(little_endian(bytes, record + 40, 8) + little_endian(bytes, record + 48, 8), record);
}

TEST(TorchWriter, PicklesNestedDictionaries) {
  TorchDict inner;
  inner.items.emplace_back(std::int64_t{33}, TorchTensor{{2, 1}, {1.0f, 2.0f}});
  TorchDict dict;
  dict.items.emplace_back("label", std::string("P1"));
  dict.items.emplace_back("mean", inner);
  write_torch_file(temporary("a.pt"), dict);
  const std::string bytes = read_text(temporary("a.pt"));
  using std::string_literals::operator""s;
  EXPECT_THAT(bytes, HasSubstr("\x80\x02}(X\x05\0\0\0labelX\x02\0\0\0P1X\x04\0\0\0mean}(J\x21\0\0\0"
                               "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"
                               "X\x01\0\0\0"
                               "0X\x03\0\0\0cpuJ\x02\0\0\0tQJ\0\0\0\0(J\x02\0\0\0J\x01\0\0\0t(J\x01\0\0\0J\x01\0\0\0t"
                               "\x89"
                               "ccollections\nOrderedDict\n)RtRuu."s));
  EXPECT_THAT(bytes, HasSubstr("archive/data/0"));
}

TEST(UniqueNames, NextFreeNumber) {
  UniqueNames names{"ids"};
  EXPECT_EQ(names.claim("a"), "a");
  EXPECT_EQ(names.claim("a#2"), "a#2");
  EXPECT_EQ(names.claim("a"), "a#3");
  EXPECT_EQ(names.claim("a"), "a#4");
  EXPECT_EQ(names.claim("ids"), "ids#2");
}

TEST(Utf8, CodePoints) {
  EXPECT_EQ(code_points("a\xc3\xa4\xe2\x82\xac\xf0\x9f\xa7\xac"), U"a\u00e4\u20ac\U0001f9ec");
  EXPECT_EQ(code_points(""), U"");
}

TEST(IndexFile, LinesReadBack) {
  IndexLine line;
  line.row = 7;
  line.key = "a#2";
  line.id = "a";
  line.description = "tab\there, back\\slash";
  line.length = 12;
  line.changes = "truncated from 20 to 12 residues";
  line.hash = "abc";
  std::string text = format_index_line(line);
  ASSERT_EQ(text.back(), '\n');
  text.pop_back();
  IndexLine read;
  ASSERT_TRUE(parse_index_line(text, read));
  EXPECT_EQ(format_index_line(read), text + "\n");
  EXPECT_EQ(read.description, line.description);
  EXPECT_FALSE(read.skipped());
  EXPECT_FALSE(parse_index_line(text.substr(0, text.find_last_of('\t')), read));
  EXPECT_FALSE(parse_index_line(text.substr(0, text.size() - 3), read));
}

TEST(IndexFile, EndsAtATornLine) {
  IndexLine line;
  line.id = "a";
  line.reason = "no residues";
  line.hash = "abc";
  const std::string text = format_index_line(line);
  std::ofstream(temporary("torn.tsv")) << kIndexHeader << text << text.substr(0, text.size() - 1);
  IndexReader reader(temporary("torn.tsv"));
  ASSERT_TRUE(reader.valid());
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(line.skipped());
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.position(), static_cast<std::int64_t>(kIndexHeader.size() + text.size()));
  EXPECT_FALSE(IndexReader(temporary("not-there.tsv")).valid());
}

}  // namespace
}  // namespace biowarp
