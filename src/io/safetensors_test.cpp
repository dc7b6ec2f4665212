#include "io/safetensors.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

#include "biowarp/error.h"
#include "io/safetensors_writer.h"

namespace biowarp {
namespace {

using testing::HasSubstr;

std::string path_of(const char* name) { return testing::TempDir() + "/" + name; }

// A file with this header and so many bytes of data.
std::string write_file(const std::string& header, std::size_t data_bytes) {
  const std::string path = path_of("hand_made.safetensors");
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  write_text(path, bytes + header + std::string(data_bytes, 'x'));
  return path;
}

std::string error_of(const std::string& header, std::size_t data_bytes) {
  try {
    open_weight_file(write_file(header, data_bytes));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

TEST(Safetensors, ReadsWhatTheWriterWrites) {
  const std::string path = path_of("written.safetensors");
  SafetensorsWriter writer(path, {{"b", DType::f32, {2, 2}}, {"a", DType::i64, {}}, {"c", DType::f16, {0, 7}}},
                           {{"name", "x\"y"}});
  const float matrix[] = {1, 2, 3, 4};
  const std::int64_t number = -5;
  writer.write(matrix, sizeof matrix);
  writer.write(&number, sizeof number);
  writer.finish();
  const WeightFile file = open_weight_file(path);
  EXPECT_EQ(file.metadata.at("name"), "x\"y");
  ASSERT_EQ(file.tensors.size(), 3u);
  const TensorInfo& b = *file.find("b");
  EXPECT_EQ(b.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(b.strides, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(b.data, matrix, sizeof matrix), 0);
  EXPECT_EQ(file.find("a")->elements(), 1);
  EXPECT_EQ(file.find("c")->elements(), 0);
  EXPECT_EQ(file.find("d"), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data) % 8, 0u) << "the header is padded";
}

TEST(Safetensors, AnUnfinishedFileLeavesNothing) {
  const std::string path = path_of("unfinished.safetensors");
  std::filesystem::remove(path);
  {
    SafetensorsWriter writer(path, {{"a", DType::f32, {4}}}, {});
    writer.write("1234", 4);
    EXPECT_THROW(writer.finish(), Error);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, HeadersThatBreakTheFormatAreRefusedWithTheTensor) {
  const auto tensor = [](const char* name, const char* rest) {
    return std::string("\"") + name + "\":{\"dtype\":\"F32\"," + rest + "}";
  };
  const std::string good = tensor("w", R"("shape":[2],"data_offsets":[0,8])");
  EXPECT_EQ(error_of("{" + good + "}", 8), "");
  EXPECT_EQ(error_of("{" + good + "}   ", 8), "") << "padding";
  EXPECT_THAT(error_of("{" + good + "}", 7), HasSubstr("cut short"));
  EXPECT_THAT(error_of("{" + good + "}", 9), HasSubstr("1 bytes behind the last tensor"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[3],"data_offsets":[0,8])") + "}", 8), HasSubstr("needs 12 bytes"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[2],"data_offsets":[8,0])") + "}", 8), HasSubstr("[begin, end]"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[2],"data_offsets":[0])") + "}", 8), HasSubstr("[begin, end]"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[-2],"data_offsets":[0,8])") + "}", 8), HasSubstr("integers >= 0"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[2.0],"data_offsets":[0,8])") + "}", 8),
              HasSubstr("integers >= 0"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[4294967296,4294967296],"data_offsets":[0,8])") + "}", 8),
              HasSubstr("too large to be true"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[0,4611686018427387904],"data_offsets":[0,0])") + "}", 0),
              HasSubstr("too large to be true"));
  EXPECT_THAT(error_of("{" + tensor("w", R"("shape":[2])") + "}", 8), HasSubstr("no \"data_offsets\""));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor w: elements of type F8_E4M3"));
  EXPECT_THAT(error_of(R"({"w":3})", 0), HasSubstr("tensor w"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})", 0), HasSubstr("entry a is not text"));
}

TEST(Safetensors, OverlapsHolesAndRepeatedNamesAreRefused) {
  const auto pair = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(error_of(pair("[4,8]", "[0,4]"), 8), "");
  EXPECT_THAT(error_of(pair("[0,4]", "[2,6]"), 6), HasSubstr("overlapping"));
  EXPECT_THAT(error_of(pair("[0,4]", "[5,9]"), 9), HasSubstr("a hole"));
  EXPECT_THAT(error_of(pair("[1,5]", "[5,9]"), 9), HasSubstr("a hole"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                       1),
              HasSubstr("occurs twice"));
}

TEST(Safetensors, HostileHeadersEndEarly) {
  EXPECT_THAT(error_of("{" + std::string(100'000, '['), 0), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(error_of("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", 0),
              HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{\"a\":1", 0), HasSubstr("not valid JSON"));
  std::string bytes(16, '\xff');
  write_text(path_of("length.safetensors"), bytes);
  EXPECT_THROW(open_weight_file(path_of("length.safetensors")), Error);
  write_text(path_of("length.safetensors"), std::string("\x40\0\0\0\0\0\0\0{}", 10));
  EXPECT_THROW(open_weight_file(path_of("length.safetensors")), Error);
}

}  // namespace
}  // namespace biowarp
