#include "kubelet/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/merge.h"
#include "libs/config/kubelet_config.h"
#include "libs/config/reader.h"
#include "libs/fs/fake_file_system.h"

namespace splitlet::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

class Documents : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.Replace(path, text, {}).ok());
  }
  void DropIn(const std::string& name, const std::string& text) {
    Write("/etc/k.d/" + name, kHead + text);
  }
  StatusOr<Document> Load(const std::vector<std::string>& words) {
    const auto arguments = ParseArguments(words);
    if (!arguments.ok()) return arguments.status();
    return LoadDocument(files, *arguments, "/work");
  }
  std::string Error(const std::vector<std::string>& words) {
    const auto loaded = Load(words);
    return loaded.ok() ? "none" : Message(loaded.status());
  }
  YAML::Node Tree(const std::vector<std::string>& words) {
    const auto loaded = Load(words);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? YAML::Load(loaded->json) : YAML::Node();
  }
  static std::string At(const YAML::Node& tree, const std::string& path) {
    const YAML::Node node = config::At(tree, path);
    if (!node.IsDefined()) return "unset";
    return node.IsScalar() ? node.Scalar() : ToJson(node);
  }

  FakeClock clock;
  fs::FakeFileSystem files{clock};
};

TEST_F(Documents, WithoutAFileTheNodeIsAsOpenAsAKubeletIs) {
  const auto tree = Tree({});
  EXPECT_EQ(At(tree, "readOnlyPort"), "10255");
  EXPECT_EQ(At(tree, "authentication.anonymous.enabled"), "true");
  EXPECT_EQ(At(tree, "authentication.webhook.enabled"), "false");
  EXPECT_EQ(At(tree, "authorization.mode"), "AlwaysAllow");
  const auto loaded = Load({});
  EXPECT_THAT(loaded->warnings, testing::Contains(HasSubstr(
                                    "ANYBODY WHO REACHES PORT 10250 MAY RUN COMMANDS IN EVERY "
                                    "POD: authentication.anonymous.enabled is true and "
                                    "authorization.mode is AlwaysAllow, as in a kubelet "
                                    "without --config")));
  EXPECT_THAT(Load({"--anonymous-auth=false"})->warnings,
              testing::Not(testing::Contains(HasSubstr("ANYBODY"))));
  const auto read = config::KubeletConfig::Load("x", loaded->json, config::Reading::kStrict);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->eviction_hard.empty());
}

TEST_F(Documents, TheFileReplacesWhatANodeWithoutOneHas) {
  Write("/etc/k.yaml", kHead + "staticPodPath: manifests\nresolvConf: /r\nclusterDNS: ['10']\n");
  const auto tree = Tree({"--config=/etc/k.yaml"});
  EXPECT_EQ(At(tree, "readOnlyPort"), "unset");
  EXPECT_EQ(At(tree, "authorization.mode"), "unset");
  EXPECT_EQ(At(tree, "staticPodPath"), "/etc/manifests");
  EXPECT_EQ(At(tree, "resolvConf"), "/r");
  EXPECT_TRUE(config::IsString(config::At(tree, "clusterDNS")[0]));
}

TEST_F(Documents, DropInsAreMergedInTheOrderOfTheirPaths) {
  Write("/etc/k.yaml", kHead +
                           "maxPods: 1\nclusterDNS: [10.0.0.1, 10.0.0.2]\n"
                           "systemReserved: {cpu: 100m}\nclusterDomain: a\n");
  DropIn("10-a.conf", "maxPods: 10\nsystemReserved: {memory: 1Gi}\nclusterDNS: [10.0.0.3]\n");
  DropIn("20-b.conf", "maxPods: 20\nclusterDomain: null\nfoo: 1\n");
  DropIn("30-c.yaml", "maxPods: 30\n");
  DropIn("00/x.conf", "maxPods: 5\npodsPerCore: 5\n");
  DropIn("25.conf", "MaxPods: 25\nstaticPodPath: m\n");
  EXPECT_THAT(*ListDropIns(files, "/etc/k.d"),
              ElementsAre("/etc/k.d/00/x.conf", "/etc/k.d/10-a.conf", "/etc/k.d/20-b.conf",
                          "/etc/k.d/25.conf"));
  const auto tree = Tree({"--config=/etc/k.yaml", "--config-dir=/etc/k.d"});
  EXPECT_EQ(At(tree, "maxPods"), "25");
  EXPECT_EQ(At(tree, "podsPerCore"), "5");
  EXPECT_EQ(At(tree, "systemReserved.cpu"), "100m");
  EXPECT_EQ(At(tree, "systemReserved.memory"), "1Gi");
  EXPECT_EQ(config::At(tree, "clusterDNS").size(), 1u);
  EXPECT_EQ(At(tree, "clusterDomain"), "unset");
  EXPECT_EQ(At(tree, "foo"), "unset");
  EXPECT_EQ(At(tree, "staticPodPath"), "/work/m");
}

TEST_F(Documents, DropInsFindDefaultsInPlace) {
  Write("/etc/k.yaml", kHead);
  DropIn("a.conf", "evictionHard: {memory.available: 1Gi}\nnodeStatusUpdateFrequency: 20s\n");
  const std::vector<std::string> both = {"--config=/etc/k.yaml", "--config-dir=/etc/k.d"};
  auto tree = Tree(both);
  EXPECT_EQ(tree["evictionHard"].size(), 5u);
  EXPECT_EQ(tree["evictionHard"]["memory.available"].Scalar(), "1Gi");
  EXPECT_EQ(At(tree, "nodeStatusReportFrequency"), "5m");

  Write("/etc/k.yaml", kHead + "evictionHard: {memory.available: 1Gi}\n");
  Write("/etc/k.d/a.conf", kHead);
  EXPECT_EQ(Tree(both)["evictionHard"].size(), 1u);
  Write("/etc/k.yaml", kHead +
                           "evictionHard: {memory.available: 1Gi}\n"
                           "mergeDefaultEvictionSettings: true\n");
  EXPECT_EQ(Tree(both)["evictionHard"].size(), 5u);

  Write("/etc/k.yaml", kHead);
  DropIn("a.conf", "maxParallelImagePulls: 5\n");
  EXPECT_THAT(Error(both), HasSubstr("maxParallelImagePulls"));
  DropIn("a.conf", "maxParallelImagePulls: 5\nserializeImagePulls: false\n");
  EXPECT_EQ(Error(both), "none");
  Write("/etc/k.yaml", kHead + "maxParallelImagePulls: 5\n");
  DropIn("a.conf", "");
  EXPECT_EQ(Error(both), "none");
}

TEST_F(Documents, DefaultSignalsAreMergedIntoTheMainFileAlone) {
  const std::string one = "evictionHard: {memory.available: 1Gi}\n";
  const std::string merges = "mergeDefaultEvictionSettings: true\n";
  const struct {
    const char* name;
    std::string file, drop_in, flag;
    size_t want;
  } kCases[] = {
      {"the file asks", one + merges, "", "", 5},
      {"the file asks, and says itself what is by default", merges, "", "", 5},
      {"a drop-in that asks comes too late", one, merges, "", 1},
      {"also with thresholds of its own", one, merges + "evictionHard: {nodefs.available: 9%}\n",
       "", 2},
      {"a drop-in may ask for nothing any more", one + merges,
       "mergeDefaultEvictionSettings: false\n", "", 5},
      {"a drop-in takes a merged one away", one + merges,
       "evictionHard: {nodefs.available: null}\n", "", 4},
      {"a drop-in takes our own mark away", one, merges + "splitlet: null\n", "", 1},
      {"a flag replaces them all", one + merges, "", "--eviction-hard=memory.available<2Gi", 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Write("/etc/k.yaml", kHead + c.file);
    DropIn("a.conf", c.drop_in);
    std::vector<std::string> words = {"--config=/etc/k.yaml"};
    if (!c.drop_in.empty()) words.emplace_back("--config-dir=/etc/k.d");
    if (!c.flag.empty()) words.push_back(c.flag);
    const auto loaded = Load(words);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    // Each process reads the merged document strictly.
    const auto read = config::KubeletConfig::Load("x", loaded->json, config::Reading::kStrict);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->eviction_hard.size(), c.want);
  }
  DropIn("a.conf", merges + "splitlet: 5\n");
  EXPECT_THAT(Error({"--config=/etc/k.yaml", "--config-dir=/etc/k.d"}), HasSubstr("splitlet"));
}

TEST_F(Documents, WithDropInsAloneTheNodeIsAsOpenAsWithout) {
  DropIn("a.conf", "maxPods: 5\n");
  const auto tree = Tree({"--config-dir=/etc/k.d"});
  EXPECT_EQ(At(tree, "readOnlyPort"), "10255");
  EXPECT_EQ(At(tree, "authorization.mode"), "AlwaysAllow");
  EXPECT_EQ(tree["evictionHard"].size(), 0u);
}

TEST_F(Documents, FlagsWin) {
  Write("/etc/k.yaml", kHead +
                           "maxPods: 200\nfeatureGates: {EnvFiles: true, HostnameOverride: true}\n"
                           "kubeReserved: {cpu: 1}\nseccompDefault: true\n");
  const auto tree =
      Tree({"--config=/etc/k.yaml", "--max-pods=50", "--feature-gates=EnvFiles=false",
            "--kube-reserved=memory=1Gi", "--kube-reserved=pid=100", "--seccomp-default=false",
            "--pod-manifest-path=m",
            "--cluster-dns=", "--eviction-hard=memory.available<100Mi,nodefs.available<10%",
            "--register-with-taints=a=b:NoSchedule,c:NoExecute", "--manifest-url-header=a:b,a:c",
            "--reserved-memory=0:memory=1Gi", "--vmodule=x=5", "--anonymous-auth=false"});
  EXPECT_EQ(At(tree, "maxPods"), "50");
  EXPECT_EQ(At(tree, "featureGates.EnvFiles"), "false");
  EXPECT_EQ(At(tree, "featureGates.HostnameOverride"), "true");
  EXPECT_EQ(At(tree, "kubeReserved.cpu"), "unset");
  EXPECT_EQ(At(tree, "kubeReserved.memory"), "1Gi");
  EXPECT_EQ(At(tree, "kubeReserved.pid"), "100");
  EXPECT_EQ(At(tree, "seccompDefault"), "true");
  EXPECT_EQ(At(tree, "staticPodPath"), "/work/m");
  EXPECT_EQ(tree["clusterDNS"].size(), 0u);
  EXPECT_EQ(tree["evictionHard"]["nodefs.available"].Scalar(), "10%");
  EXPECT_EQ(tree["registerWithTaints"][0]["value"].Scalar(), "b");
  EXPECT_EQ(tree["registerWithTaints"][1]["effect"].Scalar(), "NoExecute");
  EXPECT_EQ(tree["staticPodURLHeader"]["a"].size(), 2u);
  EXPECT_EQ(tree["reservedMemory"][0]["limits"]["memory"].Scalar(), "1Gi");
  EXPECT_EQ(tree["logging"]["vmodule"][0]["verbosity"].Scalar(), "5");
  EXPECT_EQ(At(tree, "authentication.anonymous.enabled"), "false");
}

TEST_F(Documents, WhatIsWrongIsNamed) {
  Write("/empty", "");
  Write("/list", "[a]");
  Write("/type", kHead + "port: abc\n");
  Write("/kind", "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n");
  const struct {
    std::vector<std::string> words;
    const char* want;
  } kCases[] = {
      {{"--config=/none"}, "--config: /none"},
      {{"--config=/empty"}, "/empty: the file is empty"},
      {{"--config=/list"}, "/list: want an object"},
      {{"--config=/type"}, "/type: port"},
      {{"--config=/kind"}, "/kind: apiVersion"},
      {{"--config-dir=/none"}, "--config-dir: /none"},
      {{"--system-reserved=cpu"}, "--system-reserved: want KEY=VALUE"},
      {{"--feature-gates=A=maybe"}, "--feature-gates: A: want true or false"},
      {{"--register-with-taints=a"}, "--register-with-taints: want KEY:VALUE"},
      {{"--image-gc-high-threshold=200"}, "imageGCHighThresholdPercent"},
  };
  for (const auto& c : kCases) EXPECT_THAT(Error(c.words), HasSubstr(c.want));
}

TEST_F(Documents, ADropInIsReadMoreStrictlyThanTheFile) {
  const std::vector<std::string> words = {"--config-dir=/etc/k.d"};
  const struct {
    std::string text;
    const char* want;
  } kCases[] = {
      {"", "a.conf: the file is empty"},
      {"maxPods: 1\n", "a.conf: apiVersion: the key is missing"},
      {"apiVersion: v1\nkind: KubeletConfiguration\n", "a.conf: apiVersion: want"},
      {kHead + "maxPods: 1\nmaxPods: 2\n", "a.conf: maxPods: duplicate key"},
      {kHead + "port: abc\n", "port"},
  };
  for (const auto& c : kCases) {
    Write("/etc/k.d/a.conf", c.text);
    EXPECT_THAT(Error(words), HasSubstr(c.want));
  }
}

TEST_F(Documents, UnknownAndDoubledKeysOfTheFileAreWarnings) {
  Write("/etc/k.yaml", kHead + "foo: 1\nmaxPods: 1\nmaxPods: 2\n");
  const auto loaded = Load({"--config=/etc/k.yaml"});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_GE(loaded->warnings.size(), 2u);
  EXPECT_THAT(loaded->warnings[0], HasSubstr("foo: unknown key"));
  EXPECT_EQ(At(YAML::Load(loaded->json), "maxPods"), "2");
}

TEST(MergePatch, IsThatOfRfc7386) {
  const struct {
    const char* target;
    const char* patch;
    const char* want;
  } kCases[] = {
      {"{a: b}", "{a: c}", "{a: c}"},
      {"{a: b}", "{b: c}", "{a: b, b: c}"},
      {"{a: b}", "{a: null}", "{}"},
      {"{a: b, b: c}", "{a: null}", "{b: c}"},
      {"{a: [b]}", "{a: c}", "{a: c}"},
      {"{a: c}", "{a: [b]}", "{a: [b]}"},
      {"{a: {b: c}}", "{a: {b: d, c: null}}", "{a: {b: d}}"},
      {"{a: [{b: c}]}", "{a: [1]}", "{a: [1]}"},
      {"{e: null}", "{a: 1}", "{e: null, a: 1}"},
      {"{}", "{a: {bb: {ccc: null}}}", "{a: {bb: {}}}"},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(ToJson(MergePatch(YAML::Load(c.target), YAML::Load(c.patch))),
              ToJson(YAML::Load(c.want)))
        << c.target << " " << c.patch;
}

}  // namespace
}  // namespace splitlet::kubelet
