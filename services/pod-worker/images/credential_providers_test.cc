#include "services/pod-worker/images/credential_providers.h"

#include <gtest/gtest.h>

#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"

namespace splitlet::pod_worker {
namespace {

using namespace std::chrono_literals;

constexpr const char* kProvider = R"(
- name: helper
  matchImages: ["*.reg.io"]
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  defaultCacheDuration: 10m
  args: [get, -v]
  env: [{name: REGION, value: north}]
)";

std::string Config(const std::string& providers, const std::string& version = "v1") {
  return "apiVersion: kubelet.config.k8s.io/" + version +
         "\nkind: CredentialProviderConfig\nproviders:" + providers;
}

class ProviderConfig : public testing::Test {
 protected:
  ProviderConfig() {
    for (const char* name : {"helper", "other"})
      EXPECT_TRUE(files_.Replace(std::string("/bin/") + name, "#!", {.mode = 0700}).ok());
  }
  StatusOr<std::vector<CredentialProvider>> Read(const std::string& text) {
    EXPECT_TRUE(files_.Replace("/etc/p.yaml", text, {}).ok());
    return ReadProviders(files_, "/etc/p.yaml", "/bin");
  }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
};

TEST_F(ProviderConfig, SaysWhatToRunForWhichImages) {
  for (const char* version : {"v1", "v1beta1", "v1alpha1"}) {
    const auto read = Read(Config(kProvider, version));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), 1u);
    const auto& provider = read->front();
    EXPECT_EQ(provider.argv, (std::vector<std::string>{"/bin/helper", "get", "-v"}));
    EXPECT_EQ(provider.env.at("REGION"), "north");
    EXPECT_EQ(provider.match_images, std::vector<std::string>{"*.reg.io"});
    EXPECT_EQ(provider.keep, 10min);
  }
}

TEST_F(ProviderConfig, WhatIsWrongIsNamed) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kProvider;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return Config(text.replace(at, from.size(), to));
  };
  const struct {
    std::string text, want;
  } kCases[] = {
      {with("name: helper", "name: a/b"), "providers[0]: name: \"a/b\" is not the name"},
      {with("name: helper", "name: .."), "providers[0]: name: \"..\" is not the name"},
      {with("name: helper", "name: none"), "providers[0]: name: /bin/none: "},
      {with("[\"*.reg.io\"]", "[]"), "providers[0]: matchImages: helper is for no image"},
      {with("k8s.io/v1", "k8s.io/v2"), "providers[0]: apiVersion: want one of "},
      {with("  defaultCacheDuration: 10m\n", ""), "providers[0]: defaultCacheDuration: missing"},
      {with("10m", "-1s"), "providers[0]: defaultCacheDuration: -1s is negative"},
      {with("10m", "10 parsecs"), "providers[0]: defaultCacheDuration: "},
      {with("args:", "arguments:"), "arguments: unknown field"},
      {with("args: [get, -v]", "tokenAttributes: {cacheType: Token}"),
       "tokenAttributes: this version sends no tokens of service accounts to plugins"},
      {Config(std::string(kProvider) + kProvider), "providers[1]: name: helper is there twice"},
      {Config(" []"), "no provider"},
      {Config(kProvider, "v2"), "/etc/p.yaml"},
      {"x", "/etc/p.yaml"},
  };
  for (const auto& c : kCases) {
    const auto read = Read(c.text);
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_NE(Message(read.status()).find(c.want), std::string::npos)
        << read.status() << "\nwant " << c.want;
    EXPECT_NE(Message(read.status()).find("--image-credential-provider-config"), std::string::npos);
  }
}

TEST_F(ProviderConfig, AFolderIsReadInTheOrderOfItsNames) {
  std::string other = kProvider;
  other.replace(other.find("helper"), 6, "other");
  ASSERT_TRUE(files_.Replace("/etc/all/b.yml", Config(kProvider), {}).ok());
  ASSERT_TRUE(files_.Replace("/etc/all/a.json", Config(other), {}).ok());
  ASSERT_TRUE(files_.Replace("/etc/all/notes.txt", "not read", {}).ok());
  const auto read = ReadProviders(files_, "/etc/all", "/bin");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->front().name, "other");
}

TEST_F(ProviderConfig, OneFlagAloneIsRefused) {
  EXPECT_TRUE(ReadProviders(files_, "", "")->empty());
  EXPECT_EQ(Message(ReadProviders(files_, "/etc/p.yaml", "").status()),
            Message(ReadProviders(files_, "", "/bin").status()));
  EXPECT_FALSE(ReadProviders(files_, "", "/bin").ok());
  EXPECT_FALSE(ReadProviders(files_, "/etc/none.yaml", "/bin").ok());
  EXPECT_FALSE(ReadProviders(files_, "/etc/none.yaml", "/none").ok());
}

/// Plugins that answer what `answers` says, by name.
class Providers : public testing::Test {
 protected:
  static CredentialProvider One(const std::string& name, const std::string& images,
                                Duration keep = 10min) {
    return {.name = name,
            .argv = {"/bin/" + name},
            .match_images = {images},
            .api_version = "credentialprovider.kubelet.k8s.io/v1",
            .keep = keep};
  }
  static std::string Answer(const std::string& type, const std::string& user,
                            const std::string& more = "") {
    return R"({"kind": "CredentialProviderResponse",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1", "cacheKeyType": ")" +
           type + "\", " + more + R"("auth": {"*.reg.io": {"username": ")" + user +
           R"(", "password": "p"}}})";
  }
  void Use(std::vector<CredentialProvider> providers) {
    all_ = std::make_unique<CredentialProviders>(
        CredentialProviders::Deps{clock_, strands_,
                                  [this](const process::Program& program) { return Run(program); },
                                  metrics_, log_},
        std::move(providers));
  }
  StatusOr<std::string> Run(const process::Program& program) {
    ++runs_;
    input_ = program.input;
    return answers_.at(program.argv[0].substr(5));
  }
  /// "user user", asked for at once as often as `times` says.
  std::vector<std::string> Find(const std::string& repository, int times = 1) {
    std::vector<std::string> out;
    for (int i = 0; i < times; ++i)
      all_->Find(repository, [&out](const std::vector<Credential>& found) {
        std::string users;
        for (const auto& one : found) users += (users.empty() ? "" : " ") + one.user;
        out.push_back(users);
      });
    loop_.RunUntilIdle();
    return out;
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  FakeLogSink sink_;
  Log log_{sink_};
  std::map<std::string, StatusOr<std::string>> answers_;
  std::unique_ptr<CredentialProviders> all_;
  int runs_ = 0;
  std::string input_;
};

using Users = std::vector<std::string>;

TEST_F(Providers, AreAskedForImagesOfTheirsAlone) {
  Use({One("a", "*.reg.io")});
  answers_.insert({"a", Answer("Image", "u")});
  EXPECT_EQ(Find("docker.io/library/busybox"), Users{""});
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(Find("x.reg.io/team/app"), Users{"u"});
  EXPECT_EQ(input_,
            R"({"kind":"CredentialProviderRequest",)"
            R"("apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"x.reg.io/team/app"})");
}

TEST_F(Providers, AnAnswerIsKeptForWhatItIsFor) {
  const struct {
    std::string type, other;
    int runs;
  } kCases[] = {
      {"Image", "x.reg.io/team/app", 1}, {"Image", "x.reg.io/team/b", 2},
      {"Registry", "x.reg.io/b", 1},     {"Registry", "y.reg.io/b", 2},
      {"Global", "y.reg.io/b", 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.type + " " + c.other);
    Use({One("a", "*.reg.io")});
    answers_.clear();
    answers_.insert({"a", Answer(c.type, "u")});
    runs_ = 0;
    EXPECT_EQ(Find("x.reg.io/team/app"), Users{"u"});
    EXPECT_EQ(Find(c.other), Users{"u"});
    EXPECT_EQ(runs_, c.runs);
  }
}

TEST_F(Providers, AnAnswerIsKeptAsLongAsItSays) {
  const struct {
    std::string more;
    Duration keep, wait;
    int runs;
  } kCases[] = {
      {"", 10min, 10min - 1s, 1},
      {"", 10min, 10min, 2},
      {"", 0s, 0s, 2},
      {R"("cacheDuration": "0s", )", 10min, 0s, 2},
      {R"("cacheDuration": "1h", )", 10min, 59min, 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.more);
    Use({One("a", "*.reg.io", c.keep)});
    answers_.clear();
    answers_.insert({"a", Answer("Image", "u", c.more)});
    runs_ = 0;
    EXPECT_EQ(Find("x.reg.io/a"), Users{"u"});
    clock_.Advance(c.wait);
    EXPECT_EQ(Find("x.reg.io/a"), Users{"u"});
    EXPECT_EQ(runs_, c.runs);
  }
}

TEST_F(Providers, OneRunAnswersAllWhoAskMeanwhile) {
  Use({One("a", "*.reg.io", 0s)});
  answers_.insert({"a", Answer("Image", "u")});
  EXPECT_EQ(Find("x.reg.io/a", 3), (Users{"u", "u", "u"}));
  EXPECT_EQ(runs_, 1);
}

TEST_F(Providers, OneThatFailsIsOfNoUseAndTheOthersAre) {
  const Users kAnswers = {
      "no JSON",
      "{}",
      R"({"kind": "CredentialProviderResponse", "apiVersion": "v0"})",
      Answer("Planet", "u"),
      Answer("Image", "u", R"("cacheDuration": "long", )"),
      R"({"kind": "CredentialProviderResponse", "cacheKeyType": "Image",
          "apiVersion": "credentialprovider.kubelet.k8s.io/v1", "auth": {"reg.io": 5}})",
  };
  for (const auto& answer : kAnswers) {
    SCOPED_TRACE(answer);
    Use({One("a", "*.reg.io"), One("b", "*.reg.io")});
    answers_.clear();
    answers_.insert({"a", answer});
    answers_.insert({"b", Answer("Image", "second")});
    EXPECT_EQ(Find("x.reg.io/a"), Users{"second"});
    runs_ = 0;
    EXPECT_EQ(Find("x.reg.io/a"), Users{"second"});
    EXPECT_EQ(runs_, 1) << "it is asked again";
  }
  answers_.clear();
  answers_.insert({"a", Unavailable("/bin/a: exit code 1: out of order")});
  answers_.insert({"b", Answer("Image", "second")});
  Use({One("a", "*.reg.io"), One("b", "*.reg.io")});
  EXPECT_EQ(Find("x.reg.io/a"), Users{"second"});
  EXPECT_EQ(metrics_.plugin_errors.Add({{"plugin_name", "a"}}).Value(),
            static_cast<double>(kAnswers.size() * 2 + 1));
}

TEST_F(Providers, TheirAnswersFollowEachOther) {
  Use({One("a", "*.reg.io"), One("b", "x.*.io"), One("c", "other.org")});
  answers_.insert({"a", Answer("Image", "first")});
  answers_.insert({"b", Answer("Image", "second")});
  EXPECT_EQ(Find("x.reg.io/a"), Users{"first second"});
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace splitlet::pod_worker
