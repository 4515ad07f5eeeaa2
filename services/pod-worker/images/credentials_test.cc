#include "services/pod-worker/images/credentials.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "libs/fs/fake_file_system.h"
#include "libs/kube/time_text.h"
#include "services/pod-worker/images/image_access.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

/// "user:password user:password" for an image.
std::string CredentialsFor(const Keyring& keyring, const std::string& image) {
  std::string out;
  for (const auto& credential : keyring.For(RepositoryOf(image)))
    out += (out.empty() ? "" : " ") + credential.user + ":" + credential.password;
  return out;
}

std::string Entry(const std::string& registry, const std::string& user) {
  return "\"" + registry + "\": {\"username\": \"" + user + "\", \"password\": \"p\"}";
}

TEST(Keyring, WhichKeysAreForAnImage) {
  const struct {
    std::string keys, image, want;
  } kCases[] = {
      {Entry("*.example.com", "u"), "a.example.com/x", "u:p"},
      {Entry("*.example.com", "u"), "a.b.example.com/x", ""},
      {Entry("*.example.com", "u"), "example.com/x", ""},
      {Entry("reg.io", "host") + "," + Entry("reg.io/team", "team"), "reg.io/team/app",
       "team:p host:p"},
      {Entry("reg.io/team", "team"), "reg.io/team2/app", "team:p"},
      {Entry("reg.io/team", "team"), "reg.io/other", ""},
      {Entry("reg.io", "u"), "reg.io:5000/x", ""},
      {Entry("reg.io:5000", "u"), "reg.io:5000/x:1", "u:p"},
      {Entry("reg.io:5000", "u"), "reg.io/x", ""},
      {Entry("https://reg.io/v2/", "u"), "reg.io/x@sha256:" + std::string(64, 'a'), "u:p"},
      {Entry("https://index.docker.io/v1/", "hub"), "busybox", "hub:p"},
      {Entry("docker.io", "hub"), "busybox:1", "hub:p"},
      {Entry("https://index.docker.io/v1/", "hub"), "reg.io/busybox", ""},
      {Entry("a b", "u") + "," + Entry("", "u"), "reg.io/x", ""},
      {"\"reg.io\": {\"auth\": \"" + kube::EncodeBase64("me:a:b") + "\", \"username\": \"other\"}",
       "reg.io/x", "me:a:b"},
      {R"("reg.io": {"auth": "bWU6YQ"})", "reg.io/x", "me:a"},
      {R"("reg.io": {"identitytoken": "t", "email": "e"})", "reg.io/x", ":"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.keys + " for " + c.image);
    Keyring keyring;
    ASSERT_TRUE(keyring.Add("{" + c.keys + "}", Keyring::Shape::kMap, std::nullopt).ok());
    EXPECT_EQ(CredentialsFor(keyring, c.image), c.want);
    Keyring auths;
    ASSERT_TRUE(
        auths.Add("{\"auths\": {" + c.keys + "}}", Keyring::Shape::kAuths, std::nullopt).ok());
    EXPECT_EQ(CredentialsFor(auths, c.image), c.want);
  }
}

TEST(Keyring, TheHashOfAnEntryIsAKubelets) {
  const struct {
    std::string entry, want;
  } kCases[] = {
      // {"username":"u","password":"p"}
      {R"({"username": "u", "password": "p"})",
       "edbd57ca9372e64eb1c9070ecf3a049ac553596b0529acf034c7a71d4e618e88"},
      // {"username":"u","password":"p","email":"me@example.com"}
      {R"({"email": "me@example.com", "password": "p", "username": "u"})",
       "81e243cec511638dc745f54465f8e11cb681b8776a5d74e1be6339ca58397ae2"},
      // The user and password inside `auth`, and not `auth` itself.
      {"{\"username\": \"x\", \"email\": \"me@example.com\", \"auth\": \"" +
           kube::EncodeBase64("u:p") + "\"}",
       "81e243cec511638dc745f54465f8e11cb681b8776a5d74e1be6339ca58397ae2"},
      // {"username":"u","password":"\u0026\u003c\"\u003e"}
      {R"({"username": "u", "password": "&<\">"})",
       "299901b824532447f89385d6e8fb5d72c69a8b7f98b2f9c542bd379579a4f5cc"},
      // {}
      {R"({"identitytoken": "t"})",
       "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.entry);
    Keyring keyring;
    ASSERT_TRUE(
        keyring.Add("{\"reg.io\": " + c.entry + "}", Keyring::Shape::kMap, std::nullopt).ok());
    EXPECT_EQ(HashOf(keyring.For("reg.io/x").at(0)), c.want);
  }
}

TEST(Keyring, WhatCannotBeUnderstoodAddsNothingAndShowsNothing) {
  const struct {
    const char *text, *want;
  } kCases[] = {
      {"hunter2", "not a JSON object"},
      {"[]", "not a JSON object"},
      {R"({"auths": "hunter2"})", "auths is not an object"},
      {R"({"auths": {"a.io": {"username": "u"}, "reg.io": "hunter2"}})",
       "the entry of a registry is not an object"},
      {R"({"auths": {"a.io": {"username": "u"}, "reg.io": {"auth": "hunter2!"}}})",
       "auth is not \"user:password\" in base64"},
      {R"({"auths": {"reg.io": {"auth": "aHVudGVyMg=="}}})",
       "auth is not \"user:password\" in base64"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    Keyring keyring;
    EXPECT_EQ(Message(keyring.Add(c.text, Keyring::Shape::kAuths, std::nullopt)), c.want);
    EXPECT_EQ(CredentialsFor(keyring, "a.io/x"), "");
  }
  Keyring empty;
  EXPECT_TRUE(empty.Add("{}", Keyring::Shape::kAuths, std::nullopt).ok());
  EXPECT_TRUE(empty.Add(R"({"auths": null})", Keyring::Shape::kAuths, std::nullopt).ok());
}

std::string SecretText(const std::string& name, const std::string& type, const std::string& key,
                       const std::string& value) {
  return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\ntype: " + type +
         "\nstringData: {" + key + ": '" + value + "'}\n---\n";
}

kube::Pod PodWithSecrets(const std::vector<std::string>& names) {
  kube::Pod pod = TestPod{}.Make();
  for (const auto& name : names) pod.mutable_spec()->add_image_pull_secrets()->set_name(name);
  return pod;
}

TEST(PullSecrets, OfBothKindsInTheOrderOfThePod) {
  const auto objects = ReadObjects(
      SecretText("new", "kubernetes.io/dockerconfigjson", ".dockerconfigjson",
                 "{\"auths\": {" + Entry("reg.io", "new") + "}}") +
          SecretText("old", "kubernetes.io/dockercfg", ".dockercfg",
                     "{" + Entry("reg.io", "old") + "}") +
          SecretText("wrong-type", "Opaque", ".dockercfg", "{" + Entry("reg.io", "x") + "}") +
          SecretText("broken", "kubernetes.io/dockercfg", ".dockercfg", "hunter2"),
      "f.yaml");
  ASSERT_TRUE(objects.ok()) << objects.status();
  const auto secrets =
      PullSecretsOf(PodWithSecrets({"old", "", "none", "wrong-type", "new"}), &*objects);
  ASSERT_TRUE(secrets.ok()) << secrets.status();
  EXPECT_EQ(CredentialsFor(secrets->keyring, "reg.io/x"), "old:p new:p");
  EXPECT_EQ(secrets->missing, std::vector<std::string>{"none"});
  EXPECT_EQ(secrets->keyring.For("reg.io/x").at(0).secret->name, "old");

  EXPECT_EQ(Message(PullSecretsOf(PodWithSecrets({"broken"}), &*objects).status()),
            "pull secret default/broken: .dockercfg: not a JSON object");
  EXPECT_EQ(PullSecretsOf(PodWithSecrets({"new"}), nullptr)->missing,
            std::vector<std::string>{"new"});
}

TEST(NodeCredentials, TheFirstFileThatCanBeUsed) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  const NodeCredentials node(files, "/kubelet", "/root");
  std::vector<std::string> problems;
  EXPECT_EQ(CredentialsFor(node.Read(problems), "reg.io/x"), "");
  const auto put = [&files](const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.Replace(path, text, {}).ok());
  };
  put("/.dockercfg", "{" + Entry("reg.io", "old") + "}");
  EXPECT_EQ(CredentialsFor(node.Read(problems), "reg.io/x"), "old:p");
  put("/root/.docker/config.json", "{\"auths\": {" + Entry("reg.io", "home") + "}}");
  EXPECT_EQ(CredentialsFor(node.Read(problems), "reg.io/x"), "home:p");
  EXPECT_EQ(problems, std::vector<std::string>{});
  put("/config.json", "{\"auths\": {" + Entry("reg.io", "slash") + "}}");
  EXPECT_EQ(CredentialsFor(node.Read(problems), "reg.io/x"), "slash:p");
  EXPECT_EQ(problems, std::vector<std::string>{});
  put("/kubelet/config.json", "hunter2");
  EXPECT_EQ(CredentialsFor(node.Read(problems), "reg.io/x"), "slash:p");
  EXPECT_EQ(problems, std::vector<std::string>{"/kubelet/config.json: not a JSON object"});
  put("/kubelet/config.json", "{\"auths\": {" + Entry("reg.io", "root") + "}}");
  EXPECT_EQ(CredentialsFor(node.Read(problems), "reg.io/x"), "root:p");
}

TEST(Access, WhenARecordIsAskedFor) {
  const struct {
    const char *policy, *image;
    bool pulled_here, want;
  } kCases[] = {
      {"NeverVerify", "reg.io/x", true, false},
      {"NeverVerifyPreloadedImages", "reg.io/x", false, false},
      {"NeverVerifyPreloadedImages", "reg.io/x", true, true},
      {"NeverVerifyAllowlistedImages", "reg.io/x:1", false, true},
      {"NeverVerifyAllowlistedImages", "reg.io/base:1", false, false},
      {"NeverVerifyAllowlistedImages", "reg.io/base2", false, true},
      {"NeverVerifyAllowlistedImages", "mirror.io/a/b", true, false},
      {"NeverVerifyAllowlistedImages", "mirror.iox/a", false, true},
      {"AlwaysVerify", "reg.io/x", false, true},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(MustVerify({c.policy, {"reg.io/base", "mirror.io/*"}}, c.image, c.pulled_here),
              c.want)
        << c.policy << " " << c.image;
}

class Records : public testing::Test {
 protected:
  static Credential Of(const std::string& secret, const std::string& password) {
    return {"u", password, SecretRef{"uid-" + secret, "default", secret}};
  }
  std::string Decide(const std::vector<Credential>& credentials,
                     const std::string& image = "reg.io/x:1") {
    const auto origin = records_.Find({image, "sha256:1"});
    if (!origin.ok()) return std::string(Message(origin.status()));
    const auto decision = DecideAccess(*origin, {credentials, account_});
    if (decision.add) {
      EXPECT_TRUE(records_.AddAccess({image, "sha256:1"}, decision.add).ok());
    }
    return decision.allowed ? decision.add ? "learnt" : "allowed" : "pull";
  }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  PullRecords records_{files_, clock_, "/kubelet"};
  std::optional<AccountRef> account_;  // of the pod that asks
  const cri::Image image_{.id = "sha256:1", .tags = {"reg.io/x:1"}};
};

TEST_F(Records, WhatCameWithATokenIsForPodsOfItsServiceAccount) {
  const AccountRef app{"uid-app", "default", "app"};
  const Credential used{"u", "p", std::nullopt, app};
  const auto add = [&](const Credential& credential) {
    return records_.AddAccess({"reg.io/x:1", "sha256:1"}, credential);
  };
  ASSERT_TRUE(add(used).ok());
  EXPECT_EQ(Decide({}), "pull");
  EXPECT_EQ(Decide({{"u", "p", std::nullopt}}), "pull") << "equal ones of nobody";
  const struct {
    AccountRef account;
    std::string want;
  } kCases[] = {
      {app, "allowed"},
      {{"uid-later", "default", "app"}, "pull"},
      {{"uid-app", "other", "app"}, "pull"},
      {{"uid-app", "default", "other"}, "pull"},
  };
  for (const auto& c : kCases) {
    account_ = c.account;
    EXPECT_EQ(Decide({}), c.want) << c.account.name_space << "/" << c.account.name;
  }
  account_ = app;
  EXPECT_EQ(Decide({}, "mirror.io/x:1"), "pull") << "by another name";
  ASSERT_TRUE(add(used).ok());
  ASSERT_TRUE(add(Of("a", "1")).ok());
  const auto origin = records_.Find({"reg.io/x:1", "sha256:1"});
  ASSERT_TRUE(origin.ok());
  EXPECT_EQ(origin->credentials->kubernetes_service_accounts_size(), 1);
  EXPECT_EQ(origin->credentials->kubernetes_secrets_size(), 1);
  EXPECT_EQ(Decide({}), "allowed");
}

TEST_F(Records, OnlyWhoShowsCredentialsThatTheRegistryTookMayUseIt) {
  EXPECT_FALSE(records_.Find({"reg.io/x:1", "sha256:1"})->pulled_here);
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, Of("a", "1")).ok());
  EXPECT_TRUE(records_.Find({"reg.io/x:1", "sha256:1"})->pulled_here);
  EXPECT_EQ(Decide({}), "pull");
  EXPECT_EQ(Decide({Of("b", "2")}), "pull");
  EXPECT_EQ(Decide({{"u", "1", std::nullopt}}), "pull") << "the node's are no pod's";
  EXPECT_EQ(Decide({Of("a", "1")}), "allowed");
  EXPECT_EQ(Decide({Of("b", "2"), Of("b", "1")}), "learnt") << "an equal one in another secret";
  EXPECT_EQ(Decide({Of("b", "1")}), "allowed");
  EXPECT_EQ(Decide({Of("a", "3")}), "learnt") << "the secret was changed";
  EXPECT_EQ(Decide({Of("c", "3")}), "learnt");
  EXPECT_EQ(Decide({Of("a", "1")}, "mirror.io/x:1"), "pull") << "by another name";
  EXPECT_EQ(Decide({Of("a", "3")}, "reg.io/x@sha256:1"), "allowed") << "tags do not matter";
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, std::nullopt).ok());
  EXPECT_EQ(Decide({}), "allowed") << "anybody can pull it";
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, Of("a", "1")).ok());
  EXPECT_EQ(Decide({}), "allowed") << "and still can";
}

TEST_F(Records, AnIntentWithoutARecordVouchesForNobody) {
  ASSERT_TRUE(records_.PutIntent("reg.io/x:1").ok());
  ASSERT_TRUE(records_.PutIntent("reg.io/never:1").ok());
  EXPECT_TRUE(records_.Find({"reg.io/x:1", "sha256:1"})->pulled_here);
  EXPECT_EQ(Decide({Of("a", "1")}), "pull");
  ASSERT_TRUE(records_.Settle({image_}).ok());
  EXPECT_EQ(files_.List("/kubelet/image_manager/pulling")->size(), 1u) << "of what is not there";
  EXPECT_EQ(files_.List("/kubelet/image_manager/pulled")->size(), 1u);
  EXPECT_TRUE(records_.Find({"reg.io/x:1", "sha256:1"})->pulled_here);
  EXPECT_EQ(Decide({Of("a", "1")}), "pull");
  ASSERT_TRUE(records_.Settle({}).ok());
  EXPECT_EQ(files_.List("/kubelet/image_manager/pulled")->size(), 0u) << "the image is gone";
  ASSERT_TRUE(records_.RemoveIntent("reg.io/never:1").ok());
  EXPECT_FALSE(records_.Find({"reg.io/never:1", "sha256:2"})->pulled_here);
}

TEST_F(Records, WhatWasBeingWrittenWhenItsProcessWasKilledGoes) {
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, std::nullopt).ok());
  const std::string dir = "/kubelet/image_manager/";
  for (const char* name : {"pulling/.sha256-1.new", "pulled/.sha256-2.new"})
    ASSERT_TRUE(files_.Replace(dir + name, "{", {}).ok());
  EXPECT_FALSE(records_.IsEmpty()) << "so they are settled";
  ASSERT_TRUE(records_.Settle({image_}).ok());
  EXPECT_TRUE(files_.List(dir + "pulling")->empty());
  EXPECT_EQ(files_.List(dir + "pulled")->size(), 1u);
}

TEST_F(Records, OneThatCannotBeReadIsAnErrorUntilItIsWrittenAnew) {
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, std::nullopt).ok());
  const std::string path =
      "/kubelet/image_manager/pulled/" + files_.List("/kubelet/image_manager/pulled")->at(0).name;
  ASSERT_TRUE(files_.Replace(path, "{", {}).ok());
  EXPECT_EQ(Decide({}), "record of a pull: " + path + ": not a record of a pull");
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, Of("a", "1")).ok());
  EXPECT_EQ(Decide({Of("a", "1")}), "allowed");
  EXPECT_EQ(Decide({}), "pull");
}

TEST_F(Records, AreAKubelets) {
  ASSERT_TRUE(records_.PutIntent("reg.io/x:1").ok());
  ASSERT_TRUE(records_.AddAccess({"reg.io/x:1", "sha256:1"}, Of("a", "1")).ok());
  const std::string dir = "/kubelet/image_manager/";
  const auto text = [&](const std::string& folder) {
    return files_.Read(dir + folder + "/" + files_.List(dir + folder)->at(0).name, 4096).value();
  };
  EXPECT_EQ(files_.List(dir + "pulling")->at(0).name.size(), 7u + 64u);
  EXPECT_EQ(text("pulling"),
            R"({"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1",)"
            R"("image":"reg.io/x:1"})");
  const std::string record = text("pulled");
  EXPECT_NE(record.find(R"("kind":"ImagePulledRecord")"), std::string::npos) << record;
  EXPECT_NE(record.find(R"("imageRef":"sha256:1")"), std::string::npos);
  EXPECT_NE(record.find(R"("credentialMapping":{"reg.io/x":{"kubernetesSecrets":[{"uid":"uid-a",)"
                        R"("namespace":"default","name":"a","credentialHash":")"),
            std::string::npos)
      << record;
  EXPECT_EQ(record.find("\"1\""), std::string::npos) << "no password";
}

}  // namespace
}  // namespace splitlet::pod_worker
