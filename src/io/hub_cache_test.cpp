#include "io/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/file.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

// A cache of its own, named by `variable`, and no other variable that could name one.
class HubCache : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) unsetenv(name);
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / (std::string("hub_cache_") + test->name());
    fs::remove_all(root_);
    setenv("HF_HUB_CACHE", root_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("HF_HUB_CACHE");
    fs::remove_all(root_);
  }
  void add_snapshot(const std::string& ref) {
    const fs::path folder = root_ / "models--owner--name";
    fs::create_directories(folder / "snapshots" / kCommit);
    fs::create_directories((folder / "refs" / ref).parent_path());
    write_text((folder / "refs" / ref).string(), kCommit);
  }
  fs::path root_;
};

TEST_F(HubCache, FolderFollowsTheEnvironment) {
  EXPECT_EQ(hub_cache_folder(), root_.string());
  unsetenv("HF_HUB_CACHE");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(hub_cache_folder(), "/x/huggingface/hub");
  setenv("HF_HOME", "/h", 1);
  EXPECT_EQ(hub_cache_folder(), "/h/hub");
  unsetenv("HF_HOME");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(hub_cache_folder(), "/home/someone/.cache/huggingface/hub");
  setenv("HF_HOME", "~/models", 1);
  EXPECT_EQ(hub_cache_folder(), "/home/someone/models/hub");
  unsetenv("HF_HOME");
}

TEST_F(HubCache, FindsBranchesCommitsAndNestedRefs) {
  add_snapshot("main");
  add_snapshot("refs/pr/3");
  const std::string snapshot = (root_ / "models--owner--name/snapshots" / kCommit).string();
  EXPECT_EQ(find_in_hub_cache("owner/name", ""), snapshot);
  EXPECT_EQ(find_in_hub_cache("owner/name", "main"), snapshot);
  EXPECT_EQ(find_in_hub_cache("owner/name", "refs/pr/3"), snapshot);
  EXPECT_EQ(find_in_hub_cache("owner/name", kCommit), snapshot);
  EXPECT_EQ(find_in_hub_cache("owner/name", "v2"), std::nullopt);
  EXPECT_EQ(find_in_hub_cache("owner/other", ""), std::nullopt);
}

TEST_F(HubCache, NamesThatLeaveTheCacheAreNotLookedUp) {
  add_snapshot("main");
  EXPECT_EQ(find_in_hub_cache("../owner/name", ""), std::nullopt);
  EXPECT_EQ(find_in_hub_cache("owner/name", "../refs/main"), std::nullopt);
  EXPECT_EQ(find_in_hub_cache("owner/..", ""), std::nullopt);
  write_text((root_ / "models--owner--name/refs/main").string(), "../..");
  EXPECT_EQ(find_in_hub_cache("owner/name", ""), std::nullopt);
}

TEST_F(HubCache, SaysWhatIsThereInstead) {
  EXPECT_THAT(describe_cache_search("owner/name"), HasSubstr(root_.string() + " does not exist"));
  add_snapshot("v1");
  EXPECT_THAT(describe_cache_search("owner/name"), HasSubstr("v1"));
  EXPECT_THAT(describe_cache_search("owner/other"), HasSubstr("does not hold it"));
}

}  // namespace
}  // namespace biowarp
