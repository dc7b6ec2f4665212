// pull() against server.py, which acts as a hub that works, breaks off, lies or refuses.
#include "biowarp/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "biowarp/error.h"
#include "io/http.h"
#include "io/hub_cache.h"

namespace biowarp {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
constexpr std::int64_t kWeights = 300'000;

// server.py as a child process.
class Server {
 public:
  Server() {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);  // it must not outlive a test that crashes
      dup2(ends[1], STDOUT_FILENO);
      execl(BIOWARP_PYTHON, BIOWARP_PYTHON, BIOWARP_HUB_SERVER, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    std::FILE* out = fdopen(ends[0], "r");
    if (std::fscanf(out, "port %d", &port_) != 1) port_ = 0;
    std::fclose(out);
  }
  ~Server() {
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // One line per request: METHOD PATH RANGE AUTHORIZATION.
  std::string requests() const { return HttpClient(url(), "").get(url() + "/requests").body; }

 private:
  pid_t child_ = -1;
  int port_ = 0;
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Hub : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE"}) {
      unsetenv(name);
    }
    setenv("no_proxy", "*", 1);
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    cache_ = fs::path(testing::TempDir()) / (std::string("hub_test_") + test->name());
    fs::remove_all(cache_);
    setenv("HF_HUB_CACHE", cache_.c_str(), 1);
    setenv("HF_HOME", (cache_ / "home").c_str(), 1);
    setenv("HF_ENDPOINT", (server_.url() + "/").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(cache_); }

  static PullOptions options(const std::string& repo, const std::string& revision = "") {
    PullOptions options;
    options.repo = repo;
    options.revision = revision;
    options.retry_delay = 0.001;
    return options;
  }

  std::string error_of(const PullOptions& asked, ErrorKind kind = ErrorKind::input) {
    try {
      pull(asked);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    return "no error";
  }

  fs::path folder(const std::string& repo) const { return hub_repo_folder(cache_.string(), repo); }
  std::vector<std::string> incomplete(const std::string& repo) const {
    std::vector<std::string> names = names_in(folder(repo) / "blobs");
    std::erase_if(names, [](const std::string& name) { return name.find(".incomplete") == std::string::npos; });
    return names;
  }

  Server server_;
  fs::path cache_;
};

TEST_F(Hub, WritesTheCacheLayout) {
  const PullResult result = pull(options("test/plain"));
  EXPECT_EQ(result.commit, kCommit);
  EXPECT_EQ(find_in_hub_cache("test/plain", ""), result.snapshot);
  EXPECT_EQ(find_in_hub_cache("test/plain", kCommit), result.snapshot);
  EXPECT_THAT(names_in(result.snapshot),
              ElementsAre("config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"));
  EXPECT_EQ(text_of(folder("test/plain") / "refs/main"), kCommit);
  const fs::path weights = fs::path(result.snapshot) / "model.safetensors";
  EXPECT_EQ(fs::read_symlink(weights).string().substr(0, 12), "../../blobs/");
  EXPECT_EQ(fs::read_symlink(weights).filename().string().size(), 64u);
  EXPECT_EQ(fs::file_size(weights), static_cast<std::uintmax_t>(kWeights));
  EXPECT_EQ(text_of(fs::path(result.snapshot) / "config.json"), "{\"model_type\": \"esm\"}\n");
  EXPECT_EQ(names_in(folder("test/plain") / "blobs").size(), 4u);
}

TEST_F(Hub, NothingIsFetchedTwice) {
  pull(options("test/plain"));
  const PullResult again = pull(options("test/plain"));
  for (const PulledFile& file : again.files) EXPECT_FALSE(file.downloaded) << file.name;
  const std::string requests = server_.requests();
  const std::string store = "GET /store/test/plain/model.safetensors";
  EXPECT_NE(requests.find(store), std::string::npos);
  EXPECT_EQ(requests.find(store), requests.rfind(store));
}

TEST_F(Hub, RevisionsBranchAndCommit) {
  const PullResult branch = pull(options("test/plain", "refs/pr/1"));
  EXPECT_NE(branch.commit, kCommit);
  EXPECT_EQ(find_in_hub_cache("test/plain", "refs/pr/1"), branch.snapshot);
  EXPECT_EQ(find_in_hub_cache("test/plain", ""), std::nullopt);
  const PullResult commit = pull(options("test/plain", kCommit));
  EXPECT_EQ(find_in_hub_cache("test/plain", kCommit), commit.snapshot);
  EXPECT_FALSE(fs::exists(folder("test/plain") / "refs" / kCommit));
}

TEST_F(Hub, ShardsAndTorchFiles) {
  EXPECT_THAT(names_in(pull(options("test/sharded")).snapshot),
              ElementsAre("config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                          "model.safetensors.index.json", "tokenizer_config.json", "vocab.txt"));
  EXPECT_THAT(names_in(pull(options("test/bin")).snapshot),
              ElementsAre("config.json", "pytorch_model.bin", "tokenizer_config.json", "vocab.txt"));
}

TEST_F(Hub, GoesOnWhereAConnectionBroke) {
  const PullResult result = pull(options("test/cut"));
  EXPECT_EQ(fs::file_size(fs::path(result.snapshot) / "model.safetensors"), static_cast<std::uintmax_t>(kWeights));
  const std::string requests = server_.requests();
  EXPECT_THAT(requests, HasSubstr("GET /store/test/cut/model.safetensors bytes=100007-"));
  EXPECT_THAT(requests, HasSubstr("GET /store/test/cut/model.safetensors bytes=200007-"));
  EXPECT_TRUE(incomplete("test/cut").empty());
}

TEST_F(Hub, BeginsAgainWhereRangesAreIgnored) {
  const PullResult result = pull(options("test/no-range"));
  EXPECT_EQ(fs::file_size(fs::path(result.snapshot) / "model.safetensors"), static_cast<std::uintmax_t>(kWeights));
}

TEST_F(Hub, ASecondRunGoesOnWhereTheFirstEnded) {
  EXPECT_THAT(error_of(options("test/always-cut")), HasSubstr("ended at 100007 of 300000 bytes"));
  ASSERT_EQ(incomplete("test/always-cut").size(), 1u);
  EXPECT_EQ(find_in_hub_cache("test/always-cut", ""), std::nullopt);
  // The same content lies at test/plain: what is there is taken over, the rest is fetched.
  fs::create_directories(folder("test/plain") / "blobs");
  const std::string name = incomplete("test/always-cut")[0];
  fs::copy_file(folder("test/always-cut") / "blobs" / name, folder("test/plain") / "blobs" / name);
  pull(options("test/plain"));
  EXPECT_THAT(server_.requests(), HasSubstr("GET /store/test/plain/model.safetensors bytes=100007-"));
}

TEST_F(Hub, ADamagedRestIsRemoved) {
  EXPECT_THAT(error_of(options("test/always-cut")), HasSubstr("run the same command again"));
  const std::string name = incomplete("test/always-cut")[0];
  fs::create_directories(folder("test/plain") / "blobs");
  std::ofstream(folder("test/plain") / "blobs" / name) << "these bytes are not the file's";
  EXPECT_THAT(error_of(options("test/plain")), HasSubstr("is damaged: expected hash"));
  EXPECT_TRUE(incomplete("test/plain").empty());
  EXPECT_EQ(pull(options("test/plain")).commit, kCommit);
}

TEST_F(Hub, WrongContentNeverGetsItsName) {
  EXPECT_THAT(error_of(options("test/wrong-hash")), HasSubstr("is damaged: expected hash"));
  EXPECT_THAT(error_of(options("test/too-short")), HasSubstr("fewer than the 300000 bytes"));
  EXPECT_THAT(error_of(options("test/too-long")), HasSubstr("more than the 300000 bytes"));
  for (const char* repo : {"test/wrong-hash", "test/too-short", "test/too-long"}) {
    EXPECT_EQ(find_in_hub_cache(repo, ""), std::nullopt);
    EXPECT_FALSE(fs::exists(folder(repo) / "snapshots" / kCommit / "model.safetensors"));
    for (const std::string& name : incomplete(repo)) EXPECT_EQ(fs::file_size(folder(repo) / "blobs" / name), 0u);
  }
}

TEST_F(Hub, ABusyServerIsAskedAgain) { EXPECT_EQ(pull(options("test/busy")).commit, kCommit); }

TEST_F(Hub, TheTokenIsSentToTheEndpointOnly) {
  EXPECT_THAT(error_of(options("test/private")), HasSubstr("set HF_TOKEN"));
  setenv("HF_TOKEN", "wrong", 1);
  EXPECT_THAT(error_of(options("test/private")), HasSubstr("the token in use"));
  setenv("HF_TOKEN", "secret\n", 1);
  EXPECT_EQ(pull(options("test/private")).commit, kCommit);
  const std::string requests = server_.requests();
  EXPECT_THAT(requests, HasSubstr("GET /test/private/resolve/" + kCommit + "/model.safetensors - Bearer secret"));
  EXPECT_THAT(requests, HasSubstr("GET /store/test/private/model.safetensors - -"));
}

TEST_F(Hub, TheTokenFileIsRead) {
  fs::create_directories(cache_ / "home");
  std::ofstream(cache_ / "home/token") << "secret\n";
  EXPECT_EQ(pull(options("test/private")).commit, kCommit);
}

TEST_F(Hub, RefusalsInWords) {
  EXPECT_THAT(error_of(options("test/plain", "v9")), HasSubstr("has no revision 'v9' of test/plain"));
  EXPECT_THAT(error_of(options("other/absent")), HasSubstr("has no model other/absent"));
  EXPECT_THAT(error_of(options("test/gated")), HasSubstr("accept its terms"));
  EXPECT_THAT(error_of(options("test/no-model")), HasSubstr("it holds README.md"));
  EXPECT_THAT(error_of(options("test/evil-shard")), HasSubstr("which the repository does not hold"));
  EXPECT_FALSE(fs::exists(cache_ / "escaped"));
  EXPECT_THAT(error_of(options("test/loop")), HasSubstr("redirects more than"));
  EXPECT_THAT(error_of(options("../../etc"), ErrorKind::usage), HasSubstr("'owner/name'"));
  EXPECT_THAT(error_of(options("test/plain", "../x"), ErrorKind::usage), HasSubstr("'../x'"));
}

TEST_F(Hub, OfflineInWords) {
  setenv("HF_ENDPOINT", "http://127.0.0.1:9", 1);
  EXPECT_THAT(error_of(options("test/plain")), HasSubstr("cannot reach http://127.0.0.1:9"));
  setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_THAT(error_of(options("test/plain"), ErrorKind::usage), HasSubstr("HF_HUB_OFFLINE"));
}

TEST_F(Hub, ProgressCountsAllBytes) {
  PullOptions asked = options("test/cut");
  std::vector<PullProgress> seen;
  asked.progress = [&](const PullProgress& progress) { seen.push_back(progress); };
  const PullResult result = pull(asked);
  std::int64_t total = 0;
  for (const PulledFile& file : result.files) total += file.bytes;
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().done, total);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].done, seen[i - 1].done);
    EXPECT_EQ(seen[i].total, total);
  }
}

TEST(HubName, ShortNames) {
  EXPECT_EQ(hub_name("650M"), "facebook/esm2_t33_650M_UR50D");
  EXPECT_EQ(hub_name("t6"), "facebook/esm2_t6_8M_UR50D");
  EXPECT_EQ(hub_name("esm2_t36_3B_UR50D"), "facebook/esm2_t36_3B_UR50D");
  EXPECT_EQ(hub_name("nvidia/esm2_t6_8M_UR50D"), "nvidia/esm2_t6_8M_UR50D");
  EXPECT_EQ(hub_name("someone/else"), "someone/else");
}

TEST(Http, Origins) {
  EXPECT_TRUE(same_origin("https://a.org/x", "https://A.org:443"));
  EXPECT_FALSE(same_origin("https://a.org/x", "http://a.org"));
  EXPECT_FALSE(same_origin("https://a.org.evil.com/x", "https://a.org"));
  EXPECT_FALSE(same_origin("https://a.org@evil.com/x", "https://a.org"));
  EXPECT_FALSE(same_origin("http://127.0.0.1:80/", "http://127.0.0.1:81/"));
  EXPECT_FALSE(same_origin("no url", "no url"));
}

}  // namespace
}  // namespace biowarp
