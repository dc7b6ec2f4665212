// FASTA, PIR and tables from memory. Files as found in the wild: record_reader_test.cpp.
#include "io/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "biowarp/error.h"

namespace biowarp {
namespace {

using testing::HasSubstr;

// Hands out one byte at a time.
class Trickle : public ByteStream {
 public:
  explicit Trickle(const std::string& text) : text_(text) {}
  std::size_t read(char* out, std::size_t capacity) override {
    if (capacity == 0 || at_ == text_.size()) return 0;
    *out = text_[at_++];
    return 1;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

std::vector<Record> drain(RecordStream& stream) {
  std::vector<Record> records;
  for (Record record; stream.next(record);) records.push_back(record);
  return records;
}

std::vector<Record> parse(const std::string& text, const ReadOptions& options = {}) {
  auto bytes = memory_bytes(std::as_bytes(std::span(text)), "input");
  return drain(*open_records(std::move(bytes), "input", options));
}

// "id|description|sequence" of each record, a space between records, line numbers left out.
std::string summary(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) {
    text += (text.empty() ? "" : " ") + record.id + "|" + record.description + "|" + record.sequence;
    if (!record.error.empty()) text += "!";
  }
  return text;
}

std::string error_of(const std::string& text, const ReadOptions& options = {}) {
  try {
    parse(text, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "no error";
}

TEST(Fasta, S22EmptyRecordsAreKept) {
  EXPECT_EQ(summary(parse(">a\n>b\nMK")), "a|| b||MK");
  EXPECT_EQ(summary(parse(">a\nMK\n>b\n\n")), "a||MK b||");
  EXPECT_EQ(summary(parse("")), "");
  EXPECT_EQ(summary(parse("\n \n")), "");
}

TEST(Fasta, S23DuplicateIdsAreKept) { EXPECT_EQ(summary(parse(">a\nMK\n>a\nML")), "a||MK a||ML"); }

TEST(Fasta, S24S25IdsStandAsTheyAre) {
  const std::string header(400, 'h');
  EXPECT_EQ(summary(parse(">sp/P1/X\nM\n>../../x\nK\n>" + header + "\nL")), "sp/P1/X||M ../../x||K " + header + "||L");
}

TEST(Fasta, S26IdIsTheFirstWordAndTheRestIsKept) {
  EXPECT_EQ(summary(parse(">P1 human  kinase \nM")), "P1|human  kinase|M");
  EXPECT_EQ(summary(parse(">\tP1\thuman\nM")), "P1|human|M");
}

TEST(Fasta, S27CtrlAEndsTheId) {
  EXPECT_EQ(summary(parse(">P1\x01P2 human\nM")), "P1|P2 human|M");
  EXPECT_EQ(summary(parse(">P1 a\x01P2 b\nM")), "P1|a\x01P2 b|M");
  std::string header = ">first";
  for (int i = 0; i < 2000; ++i) header += "\x01gi|" + std::to_string(i) + "| protein";
  const auto records = parse(header + "\nMK");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].id, "first");
  EXPECT_EQ(std::count(records[0].description.begin(), records[0].description.end(), '\x01'), 1999);
}

TEST(Fasta, S28LineBreaksOfEveryKind) {
  const std::string expected = "a|x|MKTL b||GG";
  EXPECT_EQ(summary(parse(">a x\nMK\nTL\n>b\nGG\n")), expected);
  EXPECT_EQ(summary(parse(">a x\r\nMK\r\nTL\r\n>b\r\nGG\r\n")), expected);
  EXPECT_EQ(summary(parse(">a x\nMK\n\n\nTL\n\n>b\n\nGG")), expected);
  EXPECT_EQ(summary(parse("\n\n>a x\nMK\r\nTL\n>b\rGG\r\r")), expected);
}

TEST(Fasta, S28LoneCarriageReturn) {
  const auto records = parse(">a x\rMK\rTL\r>b\rGG");
  EXPECT_EQ(summary(records), "a|x|MKTL b||GG");
  EXPECT_EQ(records[1].line, 4);
}

TEST(Fasta, S28LineNumbersCountEveryKindOfBreakOnce) {
  const auto records = parse("\r\n\n>a\rMK\n\r>b\r\nGG\n");  // lines: "", "", >a, MK, "", >b, GG
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].line, 3);
  EXPECT_EQ(records[1].line, 6);
}

TEST(Fasta, S28BlanksAndTabsStayInTheLetters) {
  EXPECT_EQ(summary(parse(">a\n  1 MK TL\t\n")), "a||  1 MK TL\t");
  EXPECT_EQ(summary(parse("  >a\nMK")), "a||MK");
}

TEST(Fasta, S30HeadersWithoutIdHaveNone) {
  EXPECT_EQ(summary(parse(">\nMK")), "||MK");
  EXPECT_EQ(summary(parse("> Nameless\nMK")), "Nameless||MK");
}

TEST(Fasta, ByteOrderMarkAndEncodings) {
  EXPECT_EQ(summary(parse("\xef\xbb\xbf>a \xce\xb2\nMK")), "a|\xce\xb2|MK");
  EXPECT_EQ(summary(parse(">h\xe9mo globine \xe9\nMK")), "h\xc3\xa9mo|globine \xc3\xa9|MK");
  EXPECT_THAT(error_of(std::string("\xff\xfe>\0a\0", 6)), HasSubstr("UTF-16"));
}

TEST(Fasta, TextWithoutAHeaderIsOneRecord) {
  EXPECT_EQ(summary(parse("MKTL\nGG\n")), "||MKTLGG");
  EXPECT_EQ(summary(parse("MKTL\n>a\nGG\n")), "||MKTL a||GG");
}

TEST(Fasta, SemicolonComments) {
  EXPECT_EQ(summary(parse(">a\nMK\n; note\nTL\n;x\n")), "a||MKTL");
  EXPECT_EQ(summary(parse("; made by hand\n;\n>a\nMK")), "a||MK");
  EXPECT_EQ(summary(parse(";LCBO prolactin\n; a comment\nMDSK\nGSS\n;NEXT\nMK")), "LCBO|prolactin|MDSKGSS NEXT||MK");
  EXPECT_EQ(summary(parse("; nothing else\n")), "");
}

TEST(Fasta, PirHasADescriptionLineAndEndsWithAStar) {
  EXPECT_EQ(summary(parse(">P1;CCHU\ncytochrome c\n MGD VEK*\n>P1;B\n\nMK\nTL\n*\nC;comment\n>F1;C x\ny\nM*K\nL*  \n")),
            "CCHU|cytochrome c| MGD VEK B||MKTL C|xy|M*KL");
  EXPECT_EQ(summary(parse(">P1;A\n; odd title\nMK\n>b\nTL*")), "A|; odd title|MK b||TL*");
  EXPECT_EQ(summary(parse(">P1:A\nMK*\n")), "P1:A||MK*");
}

TEST(Fasta, LinesLongerThanTheBufferAndBytesOneByOne) {
  std::string text = ">long\n" + std::string(1'000'003, 'A') + "\n>b " + std::string(300'000, 'd') + "\n";
  for (int i = 0; i < 20'000; ++i) text += "MKTLLGGAVC\r";
  text += "\r\n>c\r\nW";
  const auto whole = parse(text);
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(whole[0].sequence.size(), 1'000'003u);
  EXPECT_EQ(whole[1].description.size(), 300'000u);
  EXPECT_EQ(whole[1].sequence.size(), 200'000u);
  EXPECT_EQ(whole[2].line, 20'005);
  const auto trickled = drain(*open_records(std::make_unique<Trickle>(text), "input", {}));
  EXPECT_EQ(summary(trickled), summary(whole));
}

TEST(Table, CsvWithQuotedFields) {
  EXPECT_EQ(summary(parse("id,sequence\nP1,MKTL\nP2,GG\n")), "P1||MKTL P2||GG");
  EXPECT_EQ(summary(parse("\"id\",\"note\",\"sequence\"\n\"P\"\"1\"\"\",\"a, b\nc\",\"MK\nTL\"\n")), "P\"1\"||MKTL");
  EXPECT_EQ(summary(parse("Seq;Name\r\nMK;P1\r\n\r\nTL;P2")), "P1||MK P2||TL");
  EXPECT_EQ(summary(parse("sequence\nMK\nTL\n")), "||MK ||TL");
  EXPECT_EQ(summary(parse("\xef\xbb\xbfsequence,id\nMK,a\n")), "a||MK");
}

TEST(Table, TsvTakesQuotesAsText) {
  EXPECT_EQ(summary(parse("Entry\tProtein names\tSequence\nP1\t\"Tail\" protein\tMK\nP2\t5\" end\tTL\n")),
            "P1||MK P2||TL");
  EXPECT_EQ(summary(parse("id\tseq\n\"a \"\"b\"\"\"\t\"MK\"\n")), "a \"b\"||MK");
}

TEST(Table, ColumnsAreChosenByName) {
  const std::string text = "key,heavy,light\nk1,MK,GG\n";
  EXPECT_EQ(summary(parse(text, {"light", "key"})), "k1||GG");
  EXPECT_EQ(summary(parse(text, {"heavy", ""})), "||MK");
  EXPECT_THAT(error_of(text, {"Light", ""}), HasSubstr("column 'Light'; its first line has key, heavy, light"));
  EXPECT_THAT(error_of(text, {"light", "id"}), HasSubstr("column 'id' for the ids; its columns are key, heavy, light"));
  EXPECT_THAT(error_of(text), HasSubstr("its columns are key, heavy, light"));
  EXPECT_EQ(summary(parse(">a\nMK", {"light", ""})), "a||MK");
}

TEST(Table, RowsOfAnotherWidthAreRecordsWithAnError) {
  const auto records = parse("id,sequence,n\na,MK,1\nb,a,b,MK,2\nc\n\"d\",TL,3,,\n");
  EXPECT_EQ(summary(records), "a||MK b||! c||! d||TL");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1].error, "expected 3 columns as in the header, got 5");
  EXPECT_EQ(records[1].line, 3);
  EXPECT_EQ(records[3].line, 5);
}

TEST(Table, LineNumbersCountBreaksWithinQuotes) {
  const auto records = parse("id,sequence\n\"a\n\nb\",MK\nc,TL\n");
  EXPECT_EQ(summary(records), "a  b||MK c||TL");
  EXPECT_EQ(records[0].line, 2);
  EXPECT_EQ(records[1].line, 5);
}

TEST(Table, AnOpenQuoteIsAnErrorWithItsLine) {
  EXPECT_THAT(error_of("id,sequence\na,MK\nb,\"TL\nc,MK\n"), HasSubstr("row at line 3 has a quote"));
}

TEST(Table, BytesOneByOne) {
  const std::string text = "id,sequence,x\n\"a\"\"\n\",\"MK\"\"\",\"\"\r\nb,TL,\"\"\"\"\n";
  EXPECT_EQ(summary(drain(*open_records(std::make_unique<Trickle>(text), "input", {}))), summary(parse(text)));
  EXPECT_EQ(summary(parse(text)), "a\"||MK\" b||TL");
}

TEST(RecordStream, BinaryFilesAreRefused) {
  EXPECT_THAT(error_of(std::string("\x08\0\0\0\0\0\0\0{}", 10)), HasSubstr("expected input to be FASTA, CSV or TSV"));
}

}  // namespace
}  // namespace biowarp
