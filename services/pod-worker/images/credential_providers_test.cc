#include "services/pod-worker/images/credential_providers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
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
      {with("[\"*.reg.io\"]", "[]"), "providers[0]: matchImages: helper matches no image"},
      {with("k8s.io/v1", "k8s.io/v2"), "providers[0]: apiVersion: want one of "},
      {with("  defaultCacheDuration: 10m\n", ""), "providers[0]: defaultCacheDuration: missing"},
      {with("10m", "-1s"), "providers[0]: defaultCacheDuration: -1s is negative"},
      {with("10m", "10 parsecs"), "providers[0]: defaultCacheDuration: "},
      {with("args:", "arguments:"), "arguments: unknown field"},
      {Config(std::string(kProvider) + kProvider), "providers[1]: name: helper is listed twice"},
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

std::string WithToken(const std::string& attributes) {
  return std::string(kProvider) + "  tokenAttributes: {" + attributes + "}\n";
}

constexpr const char* kToken =
    "serviceAccountTokenAudience: reg.io, cacheType: ServiceAccount, requireServiceAccount: true";

TEST_F(ProviderConfig, TokensNeedTheirFeatureGate) {
  const auto plain = Read(Config(kProvider));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(CheckWithoutTokens(*plain), OkStatus());
  const auto with = Read(Config(WithToken(kToken)));
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(Message(CheckWithoutTokens(*with)),
            "--image-credential-provider-config: helper: tokenAttributes is not supported when "
            "KubeletServiceAccountTokenForCredentialProviders feature gate is disabled");
}

TEST_F(ProviderConfig, SaysWhatAPluginIsToldOfServiceAccounts) {
  const auto plain = Read(Config(kProvider));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_FALSE(plain->front().token);
  const auto read = Read(Config(WithToken(std::string(kToken) +
                                          ", requiredServiceAccountAnnotationKeys: [reg.io/Team], "
                                          "optionalServiceAccountAnnotationKeys: [a, b]")));
  ASSERT_TRUE(read.ok()) << read.status();
  const auto& token = read->front().token;
  ASSERT_TRUE(token);
  EXPECT_EQ(token->audience, "reg.io");
  EXPECT_EQ(token->cache_type, TokenAttributes::CacheType::kServiceAccount);
  EXPECT_TRUE(token->require_account);
  EXPECT_EQ(token->required_annotations, std::vector<std::string>{"reg.io/Team"});
  EXPECT_EQ(token->optional_annotations, (std::vector<std::string>{"a", "b"}));
}

TEST_F(ProviderConfig, WhatIsWrongWithTokenAttributesIsNamed) {
  const std::string all = kToken;
  std::string old = WithToken(all);
  old.replace(old.find("k8s.io/v1"), 9, "k8s.io/v1beta1");
  const auto without = [&all](const std::string& part) {
    std::string text = all;
    return Config(WithToken(text.erase(text.find(part), part.size())));
  };
  const auto with = [&all](const std::string& more) { return Config(WithToken(all + more)); };
  const struct {
    std::string text, want;
  } kCases[] = {
      {Config(old),
       "needs apiVersion credentialprovider.kubelet.k8s.io/v1, got "
       "credentialprovider.kubelet.k8s.io/v1beta1"},
      {Config(WithToken(all), "v1beta1"),
       "needs apiVersion kubelet.config.k8s.io/v1, got kubelet.config.k8s.io/v1beta1"},
      {without("serviceAccountTokenAudience: reg.io, "), "serviceAccountTokenAudience: missing"},
      {without("cacheType: ServiceAccount, "), "cacheType: want Token or ServiceAccount, got \"\""},
      {Config(WithToken("serviceAccountTokenAudience: a, cacheType: Pod")),
       "cacheType: want Token or ServiceAccount, got \"Pod\""},
      {without(", requireServiceAccount: true"), "requireServiceAccount: missing"},
      {Config(WithToken("serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: "
                        "false, requiredServiceAccountAnnotationKeys: [a]")),
       "requireServiceAccount: has to be true with requiredServiceAccountAnnotationKeys"},
      {with(", requiredServiceAccountAnnotationKeys: [a, a b]"),
       "requiredServiceAccountAnnotationKeys[1]: \"a b\": "},
      {with(", optionalServiceAccountAnnotationKeys: [a, a]"),
       "optionalServiceAccountAnnotationKeys[1]: a is listed twice"},
      {with(", requiredServiceAccountAnnotationKeys: [a], optionalServiceAccountAnnotationKeys: "
            "[b, a]"),
       "optionalServiceAccountAnnotationKeys[1]: a is required too"},
      {with(", audience: a"), "audience: unknown field"},
  };
  for (const auto& c : kCases) {
    const auto read = Read(c.text);
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_NE(Message(read.status()).find(c.want), std::string::npos)
        << read.status() << "\nwant " << c.want;
    EXPECT_NE(Message(read.status()).find("providers[0]"), std::string::npos) << read.status();
    EXPECT_NE(Message(read.status()).find("tokenAttributes"), std::string::npos) << read.status();
  }
}

TEST_F(ProviderConfig, OnlyPodsWithAnImageForSuchAPluginNeedTheirAccount) {
  CredentialProvider plain{.name = "a", .match_images = {"reg.io"}};
  CredentialProvider token{.name = "b", .match_images = {"*.reg.io"}, .token = TokenAttributes{}};
  const struct {
    std::string account, image;
    bool want;
  } kCases[] = {
      {"app", "x.reg.io/a:1", true},
      {"app", "reg.io/a:1", false},
      {"", "x.reg.io/a:1", false},
  };
  for (const auto& c : kCases) {
    kube::Pod pod;
    pod.mutable_spec()->set_service_account_name(c.account);
    pod.mutable_spec()->add_containers()->set_image("busybox");
    pod.mutable_spec()->add_init_containers()->set_image(c.image);
    EXPECT_EQ(MayNeedAccount({plain, token}, pod), c.want) << c.account << " " << c.image;
    EXPECT_FALSE(MayNeedAccount({plain}, pod));
  }
  kube::Pod pod;
  pod.mutable_spec()->set_service_account_name("app");
  pod.mutable_spec()->add_volumes()->mutable_volume_source()->mutable_image()->set_reference(
      "x.reg.io/model");
  EXPECT_TRUE(MayNeedAccount({token}, pod));
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

/// The part of an API server that serves accounts and tokens.
class FakeAccounts final : public AccountSource {
 public:
  void GetAccount(const TokenOwner& pod, OnAccount done) override {
    ++reads;
    const auto found = accounts.find(pod.service_account);
    found == accounts.end() ? done(NotFound("serviceaccount not found")) : done(found->second);
  }
  void GetToken(const TokenOwner& pod, const std::string& account, const std::string& audience,
                OnToken done) override {
    EXPECT_EQ(account, accounts.at(pod.service_account).uid);
    audiences.insert(audience);
    if (!trouble.ok()) return done(trouble);
    done(pod.uid + "-of-" + pod.service_account + "-is-a-secret");
  }
  std::map<std::string, PodAccount> accounts;  // by name
  std::set<std::string> audiences;             // of the tokens
  Status trouble;                              // with tokens
  int reads = 0;
};

/// Plugins whose answers are in `answers`, by name.
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
                                  metrics_, log_, loop_, has_api_ ? &accounts_ : nullptr},
        std::move(providers));
  }
  StatusOr<std::string> Run(const process::Program& program) {
    ++runs_;
    input_ = program.input;
    for (const auto& argument : program.argv) seen_ += argument + " ";
    for (const auto& [name, value] : program.env) seen_ += name + "=" + value + " ";
    return answers_.at(program.argv[0].substr(5));
  }
  /// "user user", requested at the same time as often as `times` says.
  std::vector<std::string> Find(const std::string& repository, int times = 1) {
    std::vector<std::string> out;
    for (int i = 0; i < times; ++i)
      all_->Find(repository, pod_, [&out](const std::vector<Credential>& found) {
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
  FakeAccounts accounts_;
  bool has_api_ = true;
  TokenOwner pod_;
  std::unique_ptr<CredentialProviders> all_;
  int runs_ = 0;
  std::string input_;
  std::string seen_;  // arguments and variables
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
    for (const auto& line : sink_.lines())
      for (const auto& field : line.fields)
        EXPECT_EQ(field.value.find("long"), std::string::npos) << "nothing of it is quoted";
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

using CacheType = TokenAttributes::CacheType;

/// Plugins with tokenAttributes, for pods with a service account.
class TokenProviders : public Providers {
 protected:
  void SetUp() override {
    pod_ = {"uid-web", "web", "default", "app"};
    accounts_.accounts["app"] = {"uid-app", {{"team", "north"}, {"role", "puller"}, {"own", "x"}}};
    answers_.insert({"a", Answer("Image", "u")});
  }
  void UseOne(const TokenAttributes& attributes, Duration keep = 10min) {
    auto provider = One("a", "*.reg.io", keep);
    provider.token = attributes;
    Use({provider});
  }
  static TokenAttributes Attributes(CacheType type = CacheType::kServiceAccount) {
    return {.audience = "reg.io", .cache_type = type, .require_account = true};
  }
  std::string Logged() const {
    std::string all;
    for (const auto& line : sink_.lines()) {
      all += line.message;
      for (const auto& field : line.fields) all += " " + field.value;
    }
    return all;
  }
  static constexpr const char* kImage = "x.reg.io/a";
};

TEST_F(TokenProviders, AreToldOfTheAccountOnTheirInputAlone) {
  auto attributes = Attributes();
  attributes.required_annotations = {"team"};
  attributes.optional_annotations = {"role", "none"};
  UseOne(attributes);
  std::vector<Credential> found;
  all_->Find(kImage, pod_, [&found](const auto& all) { found = all; });
  loop_.RunUntilIdle();
  EXPECT_EQ(accounts_.audiences, std::set<std::string>{"reg.io"});
  EXPECT_NE(input_.find(R"("serviceAccountToken":"uid-web-of-app-is-a-secret")"), std::string::npos)
      << input_;
  EXPECT_NE(input_.find(R"("team":"north")"), std::string::npos) << input_;
  EXPECT_NE(input_.find(R"("role":"puller")"), std::string::npos) << input_;
  EXPECT_EQ(input_.find("own"), std::string::npos) << "it is not asked for: " << input_;
  EXPECT_EQ(seen_.find("secret"), std::string::npos) << seen_;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].account, (AccountRef{"uid-app", "default", "app"}));
  EXPECT_EQ(found[0].user, "u");
}

TEST_F(TokenProviders, WhoTheyAreNotFor) {
  auto required = Attributes();
  required.required_annotations = {"team", "none"};
  auto not_required = Attributes();
  not_required.require_account = false;
  const struct {
    std::string what;
    TokenAttributes attributes;
    std::string account;
    bool api;
    int runs;
    bool logged;
  } kCases[] = {
      {"no account", Attributes(), "", true, 0, false},
      {"no account is needed", not_required, "", true, 1, false},
      {"an annotation is missing", required, "app", true, 0, false},
      {"no such account", Attributes(), "none", true, 0, true},
      {"no such account, and none is needed", not_required, "none", true, 0, true},
      {"no API server, and no account", Attributes(), "", false, 0, false},
      {"no API server, and none is needed", not_required, "", false, 1, false},
      {"no API server", Attributes(), "app", false, 0, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    has_api_ = c.api;
    pod_.service_account = c.account;
    UseOne(c.attributes);
    runs_ = 0;
    const size_t lines = sink_.lines().size();
    EXPECT_EQ(Find(kImage), Users{c.runs > 0 ? "u" : ""});
    EXPECT_EQ(runs_, c.runs);
    EXPECT_EQ(sink_.lines().size() > lines, c.logged) << Logged();
    if (c.runs > 0) {
      EXPECT_EQ(input_.find("serviceAccount"), std::string::npos) << input_;
    }
  }
}

TEST_F(TokenProviders, WithoutATokenTheOthersGoOn) {
  accounts_.trouble = Unavailable("the API server is away");
  auto provider = One("a", "*.reg.io");
  provider.token = Attributes();
  Use({provider, One("b", "*.reg.io")});
  answers_.insert({"b", Answer("Image", "second")});
  EXPECT_EQ(Find(kImage), Users{"second"});
  EXPECT_NE(Logged().find("the API server is away"), std::string::npos) << Logged();
  accounts_.trouble = OkStatus();
  EXPECT_EQ(Find(kImage), Users{"u second"});
}

TEST_F(TokenProviders, WhoSharesAnAnswer) {
  const PodAccount account = accounts_.accounts["app"];
  PodAccount renamed = account, recreated = account;
  renamed.annotations["team"] = "south";
  recreated.uid = "uid-later";
  PodAccount unseen = account;
  unseen.annotations["own"] = "y";
  const TokenOwner other{"uid-other", "other", "default", "app"};
  const TokenOwner elsewhere{"uid-web", "web", "elsewhere", "app"};
  const struct {
    std::string what;
    CacheType type;
    TokenOwner pod;
    PodAccount account;
    int runs;
  } kCases[] = {
      {"the same pod", CacheType::kToken, pod_, account, 1},
      {"another token of the account", CacheType::kServiceAccount, other, account, 1},
      {"another token", CacheType::kToken, other, account, 2},
      {"another namespace", CacheType::kServiceAccount, elsewhere, account, 2},
      {"another annotation", CacheType::kServiceAccount, pod_, renamed, 2},
      {"an annotation that the plugin does not get", CacheType::kServiceAccount, pod_, unseen, 1},
      {"another account of that name", CacheType::kServiceAccount, pod_, recreated, 2},
  };
  const TokenOwner first = pod_;
  for (const char* key : {"Image", "Registry", "Global"}) {
    answers_.insert_or_assign("a", Answer(key, "u"));
    for (const auto& c : kCases) {
      SCOPED_TRACE(c.what + " " + key);
      auto attributes = Attributes(c.type);
      attributes.required_annotations = {"team"};
      UseOne(attributes);
      runs_ = 0;
      pod_ = first;
      accounts_.accounts["app"] = account;
      EXPECT_EQ(Find(kImage), Users{"u"});
      pod_ = c.pod;
      accounts_.accounts["app"] = c.account;
      EXPECT_EQ(Find(kImage), Users{"u"});
      EXPECT_EQ(runs_, c.runs);
    }
  }
}

TEST_F(TokenProviders, TheTokenItselfIsAPasswordForNobodyElse) {
  const std::string token = "uid-web-of-app-is-a-secret";
  answers_.insert_or_assign("a", R"({"kind": "CredentialProviderResponse", "cacheKeyType": "Image",
          "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
          "auth": {"*.reg.io": {"username": "u", "password": ")" +
                                     token + R"("}}})");
  UseOne(Attributes(CacheType::kToken));
  EXPECT_EQ(Find(kImage), Users{"u"});
  UseOne(Attributes());
  EXPECT_EQ(Find(kImage), Users{""});
  EXPECT_NE(Logged().find("needs cacheType Token"), std::string::npos) << Logged();
  EXPECT_EQ(Logged().find(token), std::string::npos) << Logged();
}

TEST_F(TokenProviders, WhatAPluginSaysOfItsFailureNeverShowsTheToken) {
  UseOne(Attributes());
  answers_.insert_or_assign("a", Unavailable("/bin/a: exit code 1: bad: uid-web-of-app-is-a"));
  EXPECT_EQ(Find(kImage), Users{""});
  EXPECT_EQ(Logged().find("uid-web"), std::string::npos) << Logged();
  answers_.insert_or_assign("a", Unavailable("/bin/a: exit code 1: out of order"));
  EXPECT_EQ(Find(kImage), Users{""});
  EXPECT_NE(Logged().find("out of order"), std::string::npos) << Logged();
}

}  // namespace
}  // namespace splitlet::pod_worker
