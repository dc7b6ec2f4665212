// Archives made by hand: S68 (namespaces load without torch), hostile pickles, views, damage.
#include "io/torch_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "biowarp/error.h"
#include "io/pickle.h"
#include "io/testing/zip_builder.h"
#include "io/zip_archive.h"

namespace biowarp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_zip::put;
using testing_zip::write_quickly;
using testing_zip::zip_of;
using testing_zip::ZipOptions;

// ---- pickles by hand ----

std::string text(const std::string& value) {
  std::string out = "X";
  put(out, value.size(), 4);
  return out + value;
}
std::string number(std::uint32_t value) {
  std::string out = "J";
  put(out, value, 4);
  return out;
}
std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
std::string tuple(const std::string& items) { return "(" + items + "t"; }
std::string numbers(std::initializer_list<std::uint32_t> values) {
  std::string items;
  for (const std::uint32_t value : values) items += number(value);
  return tuple(items);
}
std::string storage(const std::string& type, const std::string& key) {
  return tuple(text("storage") + global("torch", type) + text(key) + text("cpu") + number(6)) + "Q";
}
std::string tensor(const std::string& store, std::uint32_t offset, const std::string& size, const std::string& stride) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(store + number(offset) + size + stride + "\x89" + global("collections", "OrderedDict") + ")R") + "R";
}
std::string dict(const std::string& items) { return "}(" + items + "u"; }
std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }

const std::string kSix = [] {
  const float values[] = {0, 1, 2, 3, 4, 5};
  return std::string(reinterpret_cast<const char*>(values), sizeof values);
}();

std::string write_archive(const std::string& data_pkl, const ZipOptions& options = {},
                          std::vector<std::pair<std::string, std::string>> more = {}) {
  const std::string path = testing::TempDir() + "/hand_made.pt";
  std::vector<std::pair<std::string, std::string>> entries{{"archive/data.pkl", data_pkl}, {"archive/data/0", kSix}};
  entries.insert(entries.end(), more.begin(), more.end());
  write_quickly(path, zip_of(entries, options));
  return path;
}

std::string error_of(const std::string& data_pkl, const ZipOptions& options = {},
                     std::vector<std::pair<std::string, std::string>> more = {}) {
  try {
    open_weight_file(write_archive(data_pkl, options, std::move(more)));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

const std::string kTensor = tensor(storage("FloatStorage", "0"), 0, numbers({2, 3}), numbers({3, 1}));
const std::string kGood = pickle(dict(text("w") + kTensor));

float at(const TensorInfo& tensor, std::int64_t i, std::int64_t j) {
  float value = 0;
  std::memcpy(&value, tensor.data + 4 * (i * tensor.strides[0] + j * tensor.strides[1]), 4);
  return value;
}

TEST(TorchFile, ReadsTensorsAndViewsInPlace) {
  const std::string turned = tensor(storage("FloatStorage", "0"), 1, numbers({2, 2}), numbers({1, 2}));
  const WeightFile file =
      open_weight_file(write_archive(pickle(dict(text("w") + kTensor + text("v") + turned)), {.comment = "note"}));
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(at(*file.find("w"), 1, 2), 5.0f);
  EXPECT_TRUE(file.find("w")->contiguous());
  EXPECT_EQ(at(*file.find("v"), 1, 1), 4.0f);
  EXPECT_FALSE(file.find("v")->contiguous());
  const auto bytes = file.maps[0].bytes();
  EXPECT_GE(file.find("w")->data, bytes.data());
  EXPECT_LT(file.find("w")->data, bytes.data() + bytes.size()) << "not a copy";
}

TEST(TorchFile, Zip64Archives) {
  EXPECT_EQ(error_of(kGood, {.zip64 = true}), "");
  const WeightFile file = open_weight_file(write_archive(kGood, {.zip64 = true}));
  EXPECT_EQ(at(*file.find("w"), 0, 1), 1.0f);
}

TEST(TorchFile, S68NamespacesAndNumbersBesideTheTensors) {
  const std::string settings =
      global("argparse", "Namespace") + ")\x81" +
      dict(text("layers") + "K\x06" + text("ratio") + "G\x3f\xe0" + std::string(6, '\0') + text("flag") + "\x88" +
           text("arch") + text("esm2") + text("none") + "N" + text("big") + "\x8a\x09" + std::string(8, '\0') + "\x01" +
           text("minus") + "\x8a\x01\xfe") +
      "b";
  const WeightFile file = open_weight_file(
      write_archive(pickle(dict(text("args") + settings + text("model") + dict(text("w") + kTensor)))));
  EXPECT_EQ(file.tensors.size(), 1u);
  EXPECT_EQ(file.metadata.at("args.layers"), "6");
  EXPECT_EQ(file.metadata.at("args.ratio"), "0.5");
  EXPECT_EQ(file.metadata.at("args.flag"), "true");
  EXPECT_EQ(file.metadata.at("args.arch"), "esm2");
  EXPECT_EQ(file.metadata.at("args.minus"), "-2");
  EXPECT_EQ(file.metadata.at("args.big"), "1.8446744073709552e+19");
  EXPECT_EQ(file.metadata.count("args.none"), 0u);
}

TEST(TorchFile, HostilePicklesAreRefusedByName) {
  const std::string shell = text("touch /tmp/owned");
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"os", "system"},
                                                        {"posix", "system"},
                                                        {"builtins", "eval"},
                                                        {"builtins", "exec"},
                                                        {"builtins", "getattr"},
                                                        {"subprocess", "Popen"},
                                                        {"torch", "load"},
                                                        {"torch.hub", "load"},
                                                        {"runpy", "run_path"},
                                                        {"numpy.core.multiarray", "_reconstruct"},
                                                        {"collections", "Counter"},
                                                        {"torch.storage", "_load_from_bytes"},
                                                        {"__builtin__", "compile"},
                                                        {"codecs", "decode"}}) {
    EXPECT_THAT(error_of(pickle(global(module, name) + tuple(shell) + "R")),
                AllOf(HasSubstr("asks for " + module + "." + name), HasSubstr("does not run")));
    const std::string by_stack = text(module) + text(name) + "\x93";
    EXPECT_THAT(error_of(pickle(by_stack + tuple(shell) + "R")), HasSubstr("asks for " + module + "." + name));
    EXPECT_THAT(error_of(pickle(dict(text("w") + kTensor + text("x") + by_stack))), HasSubstr(module + "." + name));
  }
  EXPECT_THAT(error_of(pickle("(ios\nsystem\n")), HasSubstr("instruction 0x69"));  // INST
  EXPECT_THAT(error_of(pickle("\x82\x01")), HasSubstr("instruction 0x82"));        // EXT1
  EXPECT_THAT(error_of(pickle("P1\n")), HasSubstr("instruction 0x50"));            // PERSID of protocol 0
  EXPECT_THAT(error_of("\x80\x06N."), HasSubstr("protocol 6"));
}

// Allowed names in places where they mean nothing build nothing.
TEST(TorchFile, AllowedNamesInStrangePlaces) {
  EXPECT_THAT(error_of(pickle(text("os.system") + tuple(text("x")) + "R")), HasSubstr("no class or function"));
  EXPECT_THAT(error_of(pickle(global("torch", "Size") + tuple("") + "R")), HasSubstr("expected a dictionary"));
  EXPECT_THAT(error_of(pickle(dict(text("w") + text("x")))), HasSubstr("no state dict"));
  EXPECT_THAT(error_of(pickle("N")), HasSubstr("expected a dictionary"));
  EXPECT_THAT(error_of(pickle(dict("") + dict("") + "b")), HasSubstr("a state for something that is no object"));
  EXPECT_THAT(error_of(pickle("N(Ne")), HasSubstr("no container"));
  EXPECT_THAT(error_of(pickle("}(Nu")), HasSubstr("a key without a value"));
}

TEST(TorchFile, TensorsThatLeaveTheirStorage) {
  const auto with = [](const std::string& value) { return error_of(pickle(dict(text("w") + value))); };
  const std::string store = storage("FloatStorage", "0");
  EXPECT_THAT(with(tensor(store, 1, numbers({2, 3}), numbers({3, 1}))), HasSubstr("w: [2, 3] of f32 reaches beyond"));
  EXPECT_THAT(with(tensor(store, 0, numbers({2}), numbers({6}))), HasSubstr("reaches beyond"));
  EXPECT_THAT(with(tensor(store, 0, numbers({1000, 1000}), numbers({0, 0}))), HasSubstr("repeats elements"));
  EXPECT_THAT(with(tensor(store, 0, numbers({2, 3}), numbers({1}))), HasSubstr("differ in number"));
  EXPECT_THAT(with(tensor(store, 0, numbers({0xffffffff}), numbers({1}))), HasSubstr("not a size"));
  const std::string huge = tuple("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_THAT(with(tensor(store, 0, huge, huge)), HasSubstr("too large to be true"));
  EXPECT_THAT(with(tensor(storage("FloatStorage", "1"), 0, numbers({1}), numbers({1}))),
              HasSubstr("no archive/data/1"));
  EXPECT_THAT(with(tensor(storage("DoubleStorage", "0"), 0, numbers({2, 3}), numbers({3, 1}))),
              HasSubstr("storage of 3 elements"));
  EXPECT_THAT(with(tensor(text("storage"), 0, numbers({1}), numbers({1}))),
              HasSubstr("in a way biowarp does not know"));
  EXPECT_THAT(with(tensor(storage("ComplexFloatStorage", "0"), 0, numbers({1}), numbers({1}))),
              HasSubstr("torch.ComplexFloatStorage"));
}

// Small files that would need much memory or a deep stack if they were believed.
TEST(TorchFile, PickleBombs) {
  std::string nested;  // a list in a list in a list ...
  for (int i = 0; i < 200'000; ++i) nested += "]q\x01";
  for (int i = 0; i < 200'000 - 1; ++i) nested += "a";
  EXPECT_THAT(error_of(pickle(dict(text("x") + nested))), HasSubstr("no state dict"));
  EXPECT_THAT(error_of(pickle(std::string(2'000'000, 'N'))), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(error_of(pickle(std::string(2'000'000, '('))), HasSubstr("more than 1000000 marks"));
  EXPECT_THAT(error_of(pickle("N" + std::string(2'000'000, '\x94'))), HasSubstr("more than 1000000 memo"));
  EXPECT_THAT(error_of(pickle("N" + std::string(5'000'000, '2'))), HasSubstr("on the stack"));
  EXPECT_THAT(error_of(pickle("\x8b\xff\xff\xff\x7f")), HasSubstr("an integer of"));
  EXPECT_THAT(error_of(pickle("\x8d\xff\xff\xff\xff\xff\xff\xff\xff")), HasSubstr("cut short"));

  // Dictionaries that hold each other a thousand times over: each is looked at, none is copied.
  std::string bomb = dict(text("end") + number(1)) + "q\x01";
  for (int level = 0; level < 20; ++level) {
    std::string items;
    for (int i = 0; i < 1000; ++i) items += text(std::to_string(i)) + "h\x01";
    bomb += dict(items) + "q\x01";
  }
  EXPECT_EQ(error_of(pickle(dict(text("w") + kTensor) + "0" + bomb + "0" +
                            dict(text("model") + dict(text("w") + kTensor) + text("x") + "h\x01"))),
            "");
  EXPECT_EQ(error_of(pickle("}q\x01" + text("self") + "h\x01s" + text("model") + dict(text("w") + kTensor) + "s")), "");
}

TEST(TorchFile, DamagedPickles) {
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    EXPECT_THAT(error_of(kGood.substr(0, size)), testing::Not(testing::IsEmpty())) << size;
  }
  for (const char* broken : {"0", "1", "t", "a", "R", "Q", "b", "h\x05", "q\x05", "\x85", "\x93", "}(ab", "(0"}) {
    EXPECT_THAT(error_of(pickle(broken)), testing::Not(testing::IsEmpty())) << broken;
  }
}

TEST(TorchFile, ArchivesThatAreNotOfTorchSave) {
  EXPECT_THAT(error_of(kGood, {}, {{"archive/constants.pkl", "x"}}), HasSubstr("TorchScript"));
  EXPECT_THAT(error_of(kGood, {}, {{"archive/byteorder", "big"}}), HasSubstr("big-endian"));
  EXPECT_EQ(error_of(kGood, {}, {{"archive/byteorder", "little"}, {"archive/version", "3\n"}}), "");
  const std::string path = testing::TempDir() + "/other.zip";
  write_quickly(path, zip_of({{"word/document.xml", "x"}}));
  EXPECT_THROW(open_weight_file(path), Error);
}

TEST(ZipArchive, DamageIsNamed) {
  EXPECT_THAT(error_of(kGood, {.method = 8}), HasSubstr("archive/data.pkl is compressed"));
  EXPECT_THAT(error_of(kGood, {.flags = 1}), HasSubstr("encrypted"));
  EXPECT_THAT(error_of(kGood, {}, {{"archive/data/0", "y"}}), HasSubstr("occurs twice"));
  const std::string path = testing::TempDir() + "/cut.zip";
  for (const bool zip64 : {false, true}) {
    const std::string whole = zip_of({{"archive/data.pkl", kGood}, {"archive/data/0", kSix}}, {.zip64 = zip64});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_quickly(path, whole.substr(0, size));
      EXPECT_THROW(open_weight_file(path), Error) << size;
    }
  }
}

// Every single-byte change either is harmless or is refused; none reads outside the file.
TEST(ZipArchive, FlippedBytesNeverEscapeTheFile) {
  const std::string path = testing::TempDir() + "/flipped.zip";
  const std::string whole = zip_of({{"archive/data.pkl", kGood}, {"archive/data/0", kSix}}, {.zip64 = true});
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0xff);
    write_quickly(path, flipped);
    try {
      const WeightFile file = open_weight_file(path);
      const std::byte* begin = file.maps[0].bytes().data();
      const std::byte* end = begin + whole.size();
      for (const TensorInfo& tensor : file.tensors) {
        EXPECT_TRUE(tensor.data >= begin && tensor.data <= end) << at;
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace biowarp
