#include "io/embedding_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "biowarp/error.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace biowarp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string temporary(const std::string& name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

// A few records with values 0, 0.25, 0.5, ... so that every type holds them exactly.
class Records : public EmbeddingSource {
 public:
  Records(const EmbeddingLayout& layout, std::vector<EmbeddedRecord> records)
      : layout_(layout), records_(std::move(records)) {
    for (std::size_t i = 0; i < records_.size(); ++i) records_[i].row = static_cast<std::int64_t>(i);
  }

  std::int64_t rows() const override { return static_cast<std::int64_t>(records_.size()); }

  void visit(const Visitor& visitor) const override {
    for (const EmbeddedRecord& record : records_) visitor(record, bytes_of(record));
  }

  void visit_without_values(const std::function<void(const EmbeddedRecord&)>& visitor) const override {
    for (const EmbeddedRecord& record : records_) visitor(record);
  }

  std::vector<float> values_of(const EmbeddedRecord& record) const {
    std::int64_t count = 1;
    for (const std::int64_t size : layout_.shape_of(record.length)) count *= size;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.25f * static_cast<float>(i + static_cast<std::size_t>(record.row));
    }
    return values;
  }

  std::vector<std::byte> bytes_of(const EmbeddedRecord& record) const {
    const std::vector<float> values = values_of(record);
    std::vector<std::byte> bytes(values.size() * size_of(layout_.dtype));
    convert_from_f32(layout_.dtype, values.data(), static_cast<std::int64_t>(values.size()), bytes.data());
    return bytes;
  }

  const EmbeddedRecord& operator[](std::size_t i) const { return records_[i]; }

 private:
  EmbeddingLayout layout_;
  std::vector<EmbeddedRecord> records_;
};

EmbeddingLayout layout_of(bool per_residue, DType dtype = DType::f32, std::vector<int> layers = {6}) {
  EmbeddingLayout layout;
  layout.per_residue = per_residue;
  layout.dtype = dtype;
  layout.layers = std::move(layers);
  layout.hidden = 3;
  layout.pooling = per_residue ? "none" : "mean";
  layout.model = "tiny";
  layout.model_hash = "0123";
  layout.precision = "f32";
  return layout;
}

Records some_records(const EmbeddingLayout& layout) {
  return {layout, {{0, "P1", "human kinase", 4}, {0, "ids", "", 1}, {0, "P1", "", 2}, {0, "a/b", "slash, \"q\"", 5}}};
}

std::vector<std::string> write(const std::string& name, const EmbeddingLayout& layout, const Records& records) {
  std::vector<std::string> keys;
  const EmbeddingFormat& format = find_embedding_format("", name);
  format.write(records, layout, temporary(name), [&](std::string_view key) { keys.emplace_back(key); });
  return keys;
}

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Members of a zip without zip64, by its directory.
std::map<std::string, std::string> unzip(const std::string& path) {
  const std::string bytes = read_text(path);
  const std::size_t tail = bytes.size() - 22;
  EXPECT_EQ(little_endian(bytes, tail, 4), 0x06054b50u);
  std::size_t at = little_endian(bytes, tail + 16, 4);
  std::map<std::string, std::string> members;
  for (std::uint64_t left = little_endian(bytes, tail + 10, 2); left > 0; --left) {
    EXPECT_EQ(little_endian(bytes, at, 4), 0x02014b50u);
    const std::size_t name = little_endian(bytes, at + 28, 2), extra = little_endian(bytes, at + 30, 2);
    const std::size_t size = little_endian(bytes, at + 24, 4), local = little_endian(bytes, at + 42, 4);
    const std::size_t data = local + 30 + little_endian(bytes, local + 26, 2) + little_endian(bytes, local + 28, 2);
    members[bytes.substr(at + 46, name)] = bytes.substr(data, size);
    at += 46 + name + extra;
  }
  return members;
}

std::string array_text(const std::string& npy) { return npy.substr(10, npy.find('\n') - 10); }
std::string array_data(const std::string& npy) { return npy.substr(static_cast<std::size_t>(kNpyHeaderBytes)); }
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(EmbeddingNpy, HeaderNamesTypeAndShape) {
  const EmbeddingFormat& format = find_embedding_format("", "x.npy");
  const std::string head = format.head(layout_of(false, DType::f16, {0, 6}), 7);
  EXPECT_EQ(static_cast<std::int64_t>(head.size()), kNpyHeaderBytes);
  EXPECT_THAT(array_text(head), HasSubstr("{'descr': '<f2', 'fortran_order': False, 'shape': (7, 2, 3), }"));
  EXPECT_THAT(array_text(format.head(layout_of(false), 0)), HasSubstr("'shape': (0, 3)"));
}

TEST(EmbeddingNpy, RefusesWhatNumpyCannotHold) {
  EXPECT_THAT(find_embedding_format("npy", "").why_not(layout_of(false, DType::bf16)), HasSubstr("bf16"));
  EXPECT_THAT(find_embedding_format("npz", "").why_not(layout_of(true, DType::bf16)), HasSubstr("bf16"));
  EXPECT_THAT(find_embedding_format("npy", "").why_not(layout_of(true)), HasSubstr(".h5"));
  EXPECT_EQ(find_embedding_format("h5", "").why_not(layout_of(true, DType::bf16)), "");
}

TEST(EmbeddingFormats, UnknownNamesAndSuffixesListTheKnown) {
  for (const auto& [name, path] : {std::pair{"pickle", "x.npy"}, std::pair{"", "x.dat"}}) {
    try {
      find_embedding_format(name, path);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("safetensors"));
    }
  }
  EXPECT_EQ(find_embedding_format("h5", "x.npy").name, "h5");
}

TEST(EmbeddingNpz, PooledMatrixWithIdsAndLengths) {
  const EmbeddingLayout layout = layout_of(false);
  const Records records = some_records(layout);
  EXPECT_THAT(write("pooled.npz", layout, records), ElementsAre("P1", "ids", "P1", "a/b"));
  auto members = unzip(temporary("pooled.npz"));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_THAT(array_text(members["embeddings.npy"]), HasSubstr("'<f4', 'fortran_order': False, 'shape': (4, 3)"));
  std::string expected;
  for (std::size_t i = 0; i < 4; ++i) expected += text_of(records.bytes_of(records[i]));
  EXPECT_EQ(array_data(members["embeddings.npy"]), expected);
  EXPECT_THAT(array_text(members["ids.npy"]), HasSubstr("'<U3', 'fortran_order': False, 'shape': (4,)"));
  EXPECT_EQ(array_data(members["ids.npy"]).substr(0, 12), std::string("P\0\0\0001\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(little_endian(array_data(members["lengths.npy"]), 24, 8), 5u);
}

// The next free name, for repeated and for reserved ids.
TEST(EmbeddingNpz, S23ArraysPerResidueHaveUniqueNames) {
  const EmbeddingLayout layout = layout_of(true, DType::f16, {0, 6});
  const Records records = some_records(layout);
  EXPECT_THAT(write("residues.npz", layout, records), ElementsAre("P1", "ids#2", "P1#2", "a/b"));
  auto members = unzip(temporary("residues.npz"));
  ASSERT_EQ(members.size(), 4u);
  EXPECT_THAT(array_text(members["a/b.npy"]), HasSubstr("'<f2', 'fortran_order': False, 'shape': (2, 5, 3)"));
  EXPECT_EQ(array_data(members["P1#2.npy"]), text_of(records.bytes_of(records[2])));
}

std::vector<float> read_dataset(hid_t file, const std::string& name) {
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Sclose(space);
  H5Dclose(dataset);
  return values;
}

std::string read_attribute(hid_t file, const std::string& object, const char* name) {
  const hid_t attribute = H5Aopen_by_name(file, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute);
  char* data = nullptr;
  H5Aread(attribute, type, &data);
  const std::string text = data ? data : "";
  H5free_memory(data);
  H5Tclose(type);
  H5Aclose(attribute);
  return text;
}

class EmbeddingH5 : public testing::TestWithParam<DType> {};

// One dataset per id with the model in attributes of the file; every type reads back as floats.
TEST_P(EmbeddingH5, S75DatasetPerRecord) {
  const EmbeddingLayout layout = layout_of(true, GetParam());
  const Records records = some_records(layout);
  EXPECT_THAT(write("residues.h5", layout, records), ElementsAre("P1", "ids", "P1#2", "a_b"));
  const hid_t file = H5Fopen(temporary("residues.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  const char* names[] = {"P1", "ids", "P1#2", "a_b"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(read_dataset(file, names[i]), records.values_of(records[i])) << names[i];
  EXPECT_EQ(read_attribute(file, "a_b", "original_id"), "a/b");
  EXPECT_EQ(read_attribute(file, "P1", "description"), "human kinase");
  EXPECT_EQ(read_attribute(file, "/", "model"), "tiny");
  EXPECT_EQ(read_attribute(file, "/", "model_hash"), "0123");
  EXPECT_EQ(read_attribute(file, "/", "layer"), "6");
  EXPECT_EQ(read_attribute(file, "/", "pooling"), "none");
  H5Fclose(file);
}

INSTANTIATE_TEST_SUITE_P(Types, EmbeddingH5, testing::Values(DType::f32, DType::f16, DType::bf16));

TEST(EmbeddingH5Size, S76HalfPrecisionHalvesTheValues) {
  const EmbeddingLayout wide = layout_of(true), half = layout_of(true, DType::f16);
  const std::vector<EmbeddedRecord> one{{0, "a", "", 10'000}};
  write("wide.h5", wide, Records(wide, one));
  write("half.h5", half, Records(half, one));
  const auto saved = static_cast<std::int64_t>(std::filesystem::file_size(temporary("wide.h5"))) -
                     static_cast<std::int64_t>(std::filesystem::file_size(temporary("half.h5")));
  EXPECT_EQ(saved, 60'000);
}

TEST(EmbeddingFiles, SameRecordsSameBytes) {
  for (const bool per_residue : {false, true}) {
    const EmbeddingLayout layout = layout_of(per_residue);
    for (const char* suffix : {".npz", ".h5", ".safetensors", ".tsv", ".csv"}) {
      write(std::string("one") + suffix, layout, some_records(layout));
      write(std::string("two") + suffix, layout, some_records(layout));
      EXPECT_EQ(read_text(temporary(std::string("one") + suffix)), read_text(temporary(std::string("two") + suffix)))
          << suffix;
    }
  }
}

// Nothing under the final name, and nothing beside it, when writing fails.
TEST(EmbeddingFiles, NothingStaysBehindAFailure) {
  class Failing : public EmbeddingSource {
    std::int64_t rows() const override { return 1; }
    void visit(const Visitor&) const override { throw Error(ErrorKind::input, "no values"); }
    void visit_without_values(const std::function<void(const EmbeddedRecord&)>&) const override {}
  };
  const EmbeddingLayout layout = layout_of(false);
  for (const EmbeddingFormat& format : embedding_formats()) {
    if (!format.write) continue;
    const std::string path = temporary(fmt::format("failing.{}", format.name));
    EXPECT_THROW(format.write(Failing(), layout, path, [](std::string_view) {}), Error) << format.name;
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
    EXPECT_FALSE(std::filesystem::exists(path + ".partial")) << path;
  }
}

TEST(EmbeddingSafetensors, ReadsBackPooledAndPerResidue) {
  const EmbeddingLayout pooled = layout_of(false);
  const Records records = some_records(pooled);
  write("pooled.safetensors", pooled, records);
  const WeightFile file = open_weight_file(temporary("pooled.safetensors"));
  const TensorInfo* embeddings = file.find("embeddings");
  ASSERT_TRUE(embeddings);
  EXPECT_THAT(embeddings->shape, ElementsAre(4, 3));
  EXPECT_EQ(std::memcmp(embeddings->data + 36, records.bytes_of(records[3]).data(), 12), 0);
  EXPECT_EQ(file.metadata.at("ids"), R"(["P1","ids","P1","a/b"])");
  EXPECT_EQ(file.metadata.at("model_hash"), "0123");

  const EmbeddingLayout layout = layout_of(true, DType::bf16);
  EXPECT_THAT(write("residues.safetensors", layout, some_records(layout)), ElementsAre("P1", "ids", "P1#2", "a/b"));
  const WeightFile residues = open_weight_file(temporary("residues.safetensors"));
  ASSERT_EQ(residues.tensors.size(), 4u);
  EXPECT_EQ(residues.find("a/b")->dtype, DType::bf16);
  EXPECT_THAT(residues.find("a/b")->shape, ElementsAre(5, 3));
}

TEST(EmbeddingText, QuotesCsvAndNumbersResidues) {
  const EmbeddingLayout pooled = layout_of(false);
  const Records records(pooled, {{0, "a,\"b", "", 2}});
  write("pooled.csv", pooled, records);
  EXPECT_EQ(read_text(temporary("pooled.csv")), "id,length,e0,e1,e2\n\"a,\"\"b\",2,0,0.25,0.5\n");
  const EmbeddingLayout layout = layout_of(true, DType::f32, {0, 6});
  write("residues.tsv", layout, Records(layout, {{0, "a", "", 2}}));
  EXPECT_EQ(read_text(temporary("residues.tsv")),
            "id\tposition\tl0_e0\tl0_e1\tl0_e2\tl6_e0\tl6_e1\tl6_e2\n"
            "a\t1\t0\t0.25\t0.5\t1.5\t1.75\t2\n"
            "a\t2\t0.75\t1\t1.25\t2.25\t2.5\t2.75\n");
}

TEST(EmbeddingText, ShortestNumbersReadBackTheSame) {
  EmbeddingLayout layout = layout_of(false);
  layout.hidden = 1;
  for (const float value : {0.1f, 1.0f / 3, std::numeric_limits<float>::denorm_min(), 3.4e38f}) {
    std::vector<std::byte> bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    const std::string line = EmbeddingText(layout, '\t').lines({0, "a", "", 1}, bytes);
    EXPECT_EQ(std::strtof(line.substr(4).c_str(), nullptr), value) << line;
  }
}

}  // namespace
}  // namespace biowarp
