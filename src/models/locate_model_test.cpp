#include "models/locate_model.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "io/file.h"
#include "models/testing/checkpoints.h"

namespace biowarp {
namespace {

using namespace testing_checkpoints;
using testing::AllOf;
using testing::HasSubstr;

// Sets a variable and puts the old value back.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::string error_of_name(const std::string& name) {
  try {
    locate_model(name, "");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

// A cache with one model in it, as the hub's client lays it out.
class HubCache : public testing::Test {
 protected:
  void add(const std::string& repo_folder, const std::string& commit, const std::string& branch) {
    const std::string snapshot = folder_ / (repo_folder + "/snapshots/" + commit);
    std::filesystem::create_directories(snapshot);
    std::filesystem::create_directories(folder_ / (repo_folder + "/refs"));
    std::filesystem::copy(golden("hf_safetensors"), snapshot);
    write_text(folder_ / (repo_folder + "/refs/" + branch), commit);
  }

  TemporaryFolder folder_;
  Variable cache_{"HF_HUB_CACHE", folder_.path()};
};

const std::string kCommit(40, 'a'), kOther(40, 'b');

TEST_F(HubCache, S67ShortAndFullNamesFindTheSameModel) {
  add("models--facebook--esm2_t33_650M_UR50D", kCommit, "main");
  for (const char* name : {"650M", "t33", "esm2_t33_650M_UR50D", "facebook/esm2_t33_650M_UR50D"}) {
    const ModelLocation found = locate_model(name, "");
    EXPECT_EQ(found.name, "facebook/esm2_t33_650M_UR50D") << name;
    EXPECT_THAT(found.path, HasSubstr(kCommit)) << name;
    EXPECT_FALSE(found.demonstration);
    EXPECT_EQ(open(name).config.hidden, 16) << name;
  }
  EXPECT_THAT(error_of_name("nvidia/esm2_t33_650M_UR50D"), HasSubstr("biowarp pull nvidia/esm2_t33_650M_UR50D"));
}

TEST_F(HubCache, S47RevisionsAreToldApart) {
  add("models--owner--tuned", kCommit, "main");
  add("models--owner--tuned", kOther, "v2");
  EXPECT_THAT(locate_model("owner/tuned", "").path, HasSubstr(kCommit));
  EXPECT_THAT(locate_model("owner/tuned", "v2").path, HasSubstr(kOther));
  EXPECT_THAT(locate_model("owner/tuned", kOther).path, HasSubstr(kOther));
  try {
    locate_model("owner/tuned", "v3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("biowarp pull owner/tuned --revision v3"));
  }
}

TEST_F(HubCache, S67NamesThatAreNowhereSayWhereWasLooked) {
  EXPECT_THAT(error_of_name("650M"), AllOf(HasSubstr("no such file or folder"), HasSubstr(folder_.path()),
                                           HasSubstr("biowarp pull facebook/esm2_t33_650M_UR50D")));
  EXPECT_THAT(error_of_name("owner/name"), HasSubstr("biowarp pull owner/name"));
  EXPECT_THAT(error_of_name("/no/such/model.pt"), AllOf(HasSubstr("no such file"), testing::Not(HasSubstr("pull"))));
}

// A path wins over a name of the hub.
TEST_F(HubCache, AnExistingPathComesFirst) {
  add("models--facebook--esm2_t6_8M_UR50D", kCommit, "main");
  const TemporaryFolder here;
  std::filesystem::copy(golden("hf_safetensors"), here / "8M");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());
  EXPECT_EQ(locate_model("8M", "").path, "8M");
  EXPECT_EQ(locate_model("8M/", "").name, "8M");
  std::filesystem::current_path(before);
  EXPECT_THAT(locate_model("8M", "").path, HasSubstr(kCommit));
}

TEST(LocateModel, RandomModels) {
  const ModelLocation model = locate_model("random:650M:7", "");
  EXPECT_TRUE(model.path.empty());
  EXPECT_EQ(model.random_config.hidden, 1280);
  EXPECT_EQ(model.random_seed, 7u);
  EXPECT_EQ(locate_model("random:t6", "").random_seed, 0u);
  EXPECT_THAT(error_of_name("random:7B"), HasSubstr("expected random:SIZE[:seed] with SIZE one of 8M, 35M"));
  EXPECT_THAT(error_of_name("random:8M:x"), HasSubstr("the seed must be a whole number, got \"x\""));
  EXPECT_THAT(error_of_name("random:8M:"), HasSubstr("whole number"));
  EXPECT_NE(open("random:8M:1").params->hash(), open("random:8M:2").params->hash());
}

TEST(LocateModel, TheDemonstrationModelCanBeMovedAndNamed) {
  EXPECT_TRUE(locate_model("", "").demonstration);
  EXPECT_FALSE(locate_model("biowarp-esm2-8m", "").demonstration) << "it was asked for";
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "biowarp-esm2-8m");
  std::filesystem::copy(golden("hf_safetensors"), folder / "biowarp-esm2-8m", std::filesystem::copy_options::recursive);
  const Variable models("BIOWARP_MODELS", folder.path());
  EXPECT_THAT(locate_model("", "").path, HasSubstr(std::filesystem::canonical(folder.path()).string()));
}

}  // namespace
}  // namespace biowarp
