#include "io/file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "biowarp/error.h"

namespace biowarp {
namespace {

std::string temporary(const char* name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

TEST(AtomicFile, NothingUnderTheFinalNameBeforeCommit) {
  const std::string path = temporary("atomic.txt");
  write_text(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    file.flush();
    EXPECT_EQ(read_text(path), "old");
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  write_text(path, "new");
  EXPECT_EQ(read_text(path), "new");
}

TEST(AtomicFile, ResumesBehindWhatWasKept) {
  const std::string path = temporary("resumed.txt");
  {
    AtomicFile file(path);
    file.write("0123456789");
    file.flush();
    file.keep();
  }
  AtomicFile file(path, 4);
  EXPECT_EQ(file.position(), 4);
  file.write("abc");
  file.write_at(0, "X", 1);
  file.commit();
  EXPECT_EQ(read_text(path), "X123abc");
}

TEST(AtomicFile, NamesThePathItCannotWrite) {
  try {
    AtomicFile file("/nonexistent-folder/out.npy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent-folder/out.npy"), std::string::npos);
  }
}

}  // namespace
}  // namespace biowarp
