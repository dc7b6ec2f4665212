// RecordReader on files: what people's files look like, several inputs, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.h"
#include "biowarp/error.h"
#include "biowarp/sequence.h"
#include "io/file.h"
#include "io/testing/compress.h"
#include "seq/protein.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string ugly(const std::string& name) { return (fs::path(BIOWARP_SOURCE_DIR) / "tests/data/ugly" / name).string(); }

std::string temporary(const std::string& name) { return (fs::path(testing::TempDir()) / name).string(); }

struct Totals {
  std::string ids;  // separated by blanks
  std::int64_t records = 0, letters = 0, residues = 0, refused = 0;
  LetterChanges changes;
};

Totals read(const std::vector<std::string>& paths) {
  Totals totals;
  RecordReader reader(paths);
  for (Record record; reader.next(record);) {
    EXPECT_EQ(record.index, totals.records);
    const Residues residues = read_residues(record.sequence);
    totals.ids += (totals.ids.empty() ? "" : " ") + record.id;
    totals.letters += static_cast<std::int64_t>(record.sequence.size());
    totals.residues += static_cast<std::int64_t>(residues.tokens.size());
    totals.refused += residues.error.empty() ? 0 : 1;
    totals.changes += residues.changes;
    ++totals.records;
  }
  return totals;
}

struct UglyFile {
  const char* name;
  std::int64_t records, letters, residues, refused;
  const char* ids;  // null: too many to list
};

void PrintTo(const UglyFile& file, std::ostream* out) { *out << file.name; }

class UglyFiles : public testing::TestWithParam<UglyFile> {};

TEST_P(UglyFiles, CountsAndIds) {
  const UglyFile& file = GetParam();
  const Totals totals = read({ugly(file.name)});
  EXPECT_EQ(totals.records, file.records);
  EXPECT_EQ(totals.letters, file.letters);
  EXPECT_EQ(totals.residues, file.residues);
  EXPECT_EQ(totals.refused, file.refused);
  if (file.ids) {
    EXPECT_EQ(totals.ids, file.ids);
  }
}

INSTANTIATE_TEST_SUITE_P(
    RecordReader, UglyFiles,
    testing::Values(UglyFile{"bandage_trinity_huge_headers.fasta", 13, 22817, 22817, 0, nullptr},
                    UglyFile{"bioperl_multifa.seq", 6, 517, 517, 0, "HSEARLOBE HSMETOO empty1 empty2 MMWHISK empty3"},
                    UglyFile{"bioperl_seqfile.pir", 6, 757, 327, 3, "CCHU CCCZ CCST CCFG CCND C44264"},
                    UglyFile{"bioperl_silva_SSURef_108_tax_silva_trunc.fasta", 57, 6849, 6076, 1, nullptr},
                    UglyFile{"biopython_aster.pro", 1, 107, 107, 0, "gi|3298468|dbj|BAA31520.1|"},
                    UglyFile{"biopython_flowers.pro", 3, 1377, 1377, 0,
                             "gi|2781234|pdb|1JLY|B gi|4959044|gb|AAD34209.1|AF069992_1 gi|671626|emb|CAA85685.1|"},
                    UglyFile{"boltz_ligand.fasta", 6, 828, 774, 2,
                             "A|protein|./examples/msa/seq1.a3m B|protein|./examples/msa/seq1.a3m C|ccd D|ccd E|smiles "
                             "F|smiles"},
                    UglyFile{"easel_fasta.2", 2, 497, 497, 0, "SNRPA_DROME SNRPA_HUMAN"},
                    UglyFile{"easel_fasta.odd.1", 2, 0, 0, 0, "what we"},
                    UglyFile{"emboss_ambigprot.fasta", 1, 54, 53, 0, "AMBIGPROT"},
                    UglyFile{"emboss_dna.nonewline", 1, 48, 48, 0, "record_1"},
                    UglyFile{"emboss_prot.nbrf", 1, 100, 90, 0, "pir"},
                    UglyFile{"emboss_testids.fasta", 18, 190, 190, 0,
                             "simple database:entry database:idacc database:idver database:idaccnew database:idvernew "
                             "database:idaccbad database:idverbad database:idaccnewbad database:idvernewbad swiss_id "
                             "swiss_ver "
                             "swiss-idnew swiss-vernew sanger fragment.12 Nameless record_18"},
                    UglyFile{"made_empty_file.fasta", 0, 0, 0, 0, ""},
                    UglyFile{"made_interior_stops_gaps_spaces.fasta", 3, 646, 523, 0, "P01308 P69905 P62593"},
                    UglyFile{"made_old_mac_cr.fasta", 2, 252, 252, 0, "P69905 P01308"},
                    UglyFile{"made_utf8_bom_headers.fasta", 2, 428, 428, 0, "P62593 P69905"},
                    UglyFile{"sprot_shortest_300_crlf.fasta", 300, 2037, 2037, 0, nullptr}));

TEST(RecordReader, UglyLettersAreCounted) {
  const LetterChanges odd = read({ugly("made_interior_stops_gaps_spaces.fasta")}).changes;
  EXPECT_EQ(odd.upper_cased, 30);
  EXPECT_EQ(odd.blanks, 121);
  EXPECT_EQ(odd.final_stops, 2);
  EXPECT_EQ(odd.inner_stops, 1);
  const LetterChanges alphabet = read({ugly("emboss_ambigprot.fasta")}).changes;
  EXPECT_EQ(alphabet.unknown, 2);
}

TEST(RecordReader, HeadersKeepTheirText) {
  const auto greek = read_fasta(ugly("made_utf8_bom_headers.fasta"));
  ASSERT_EQ(greek.size(), 2u);
  EXPECT_EQ(greek[0].description, "β-lactamase TEM – E. coli (Ångström, α/β)");
  EXPECT_EQ(greek[1].line, 7);
  const auto pir = read_fasta(ugly("bioperl_seqfile.pir"));
  EXPECT_EQ(pir[1].description, "cytochrome c - chimpanzee (tentative sequence)");
}

TEST(RecordReader, S30NumbersRunOverAllInputs) {
  const std::string path = temporary("record_reader_nameless.fa");
  write_text(path, ">\nMK\n>b\nTL\n>\nGG\n");
  EXPECT_EQ(read({path, path}).ids, "record_1 b record_3 record_4 b record_6");
  const auto records = read_fasta(path);
  EXPECT_EQ(records[2].file, path);
  EXPECT_EQ(records[2].line, 5);
}

TEST(RecordReader, S32CompressedFilesOfAnyName) {
  const std::string text = ">a\nMKTL\n>b\nGG\n";
  const std::string path = temporary("record_reader_packed");
  for (const std::string& packed : {gzip(text), gzip(">a\nMK") + gzip("TL\n>b\n") + gzip("GG\n"), zstd(text)}) {
    write_text(path, packed);
    EXPECT_EQ(read({path}).ids, "a b");
    EXPECT_EQ(read({path}).letters, 6);
  }
  write_text(path, gzip(text).substr(0, 25));
  try {
    read({path});
    FAIL() << "a truncated gzip was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + " is cut off"));
  }
}

TEST(RecordReader, S33NoSideFilesInAReadOnlyFolder) {
  const fs::path folder = temporary("record_reader_read_only");
  fs::create_directories(folder);
  write_text((folder / "a.fa").string(), ">a\nMK\n");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(read({(folder / "a.fa").string()}).ids, "a");
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  fs::remove_all(folder);
}

TEST(RecordReader, MissingFilesAreNamedAtOnce) {
  try {
    RecordReader reader({ugly("easel_fasta.2"), "/nonexistent/x.fa"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/x.fa: No such file"));
  }
  EXPECT_THROW(RecordReader({"-", "-"}), Error);
}

// 100,000 records of 300 letters take no more memory than the first of them.
TEST(RecordReader, S31MemoryDoesNotGrow) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep freed memory for a while";
#endif
  const std::string path = temporary("record_reader_large.fa.gz");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += ">r" + std::to_string(i) + " of many\n" + std::string(300, 'A') + "\n";
  const std::string member = gzip(text);
  {
    AtomicFile file(path);
    for (int i = 0; i < 100; ++i) file.write(member);
    file.commit();
  }
  RecordReader reader({path});
  Record record;
  ASSERT_TRUE(reader.next(record));
  const std::int64_t before = peak_resident_bytes();
  std::int64_t count = 1;
  while (reader.next(record)) ++count;
  EXPECT_EQ(count, 100'000);
  EXPECT_LT(peak_resident_bytes() - before, 1 << 20);
  fs::remove(path);
}

}  // namespace
}  // namespace biowarp
