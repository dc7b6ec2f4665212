// main() of every test program: gives the process a temporary folder of its own, which testing::TempDir() names, and
// removes it at the end. Tests run side by side and may use the same file names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "biowarp_test_XXXXXX").string();
    if (!mkdtemp(pattern.data())) return;
    path_ = pattern;
    setenv("TEST_TMPDIR", pattern.c_str(), 1);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  bool made() const { return !path_.empty(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  const TemporaryFolder folder;
  if (!folder.made()) return 1;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
