#include <gtest/gtest.h>

#include <string>

#include "libs/config/kubelet_config.h"
#include "libs/config/scalars.h"
#include "libs/config/test_head.h"

namespace splitlet::config {
namespace {

/// Load's answer to a document, which follows the two head lines.
std::string ErrorOf(const std::string& body) {
  const auto config = KubeletConfig::Load("/etc/k/config.yaml", kHead + body, Reading::kStrict);
  return config.ok() ? "" : Message(config.status());
}

KubeletConfig Loaded(const std::string& body, const std::string& path = "/etc/k/config.yaml") {
  auto config = KubeletConfig::Load(path, kHead + body, Reading::kLenient);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : KubeletConfig{};
}

struct BadCase {
  const char* name;
  const char* body;
  const char* want;  // after "/etc/k/config.yaml: "
};

void ExpectErrors(const std::vector<BadCase>& cases) {
  for (const BadCase& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ErrorOf(c.body), std::string("/etc/k/config.yaml: ") + c.want);
  }
}

TEST(ConfigFile, UnknownKeysAndWrongTypes) {
  ExpectErrors({
      {"an unknown key", "foo: 1\n", "foo: unknown key (line 3)"},
      {"an unknown key further down", "authentication:\n  x509:\n    clientCaFile: a\n",
       "authentication.x509.clientCaFile: unknown key (line 5)"},
      {"an unknown key of ours", "splitlet:\n  killUnmanagedPod: true\n",
       "splitlet.killUnmanagedPod: unknown key (line 4)"},
      {"a key that holds a line break", "\"a\\nb\": 1\n", "a\\x0ab: unknown key (line 3)"},
      {"a key in other letters", "MaxPods: 3\n", "MaxPods: unknown key (line 3)"},
      {"a key twice", "maxPods: 3\nmaxPods: 4\n", "maxPods: duplicate key (line 4)"},
      {"a word for a number", "port: abc\n", "port: want an integer, not \"abc\" (line 3)"},
      {"a quoted number for a number", "maxPods: \"3\"\n",
       "maxPods: want an integer, not \"3\" (line 3)"},
      {"a fraction for a number", "maxPods: 1.5\n", "maxPods: want an integer, not 1.5 (line 3)"},
      {"a number for a word", "clusterDomain: 12\n",
       "clusterDomain: want a string, not 12 (line 3)"},
      {"a boolean for a word", "clusterDomain: yes\n",
       "clusterDomain: want a string, not yes (line 3)"},
      {"a word for a boolean", "failSwapOn: maybe\n",
       "failSwapOn: want true or false, not \"maybe\" (line 3)"},
      {"a quoted boolean", "failSwapOn: \"true\"\n",
       "failSwapOn: want true or false, not \"true\" (line 3)"},
      {"a bare number for a duration", "syncFrequency: 60\n",
       "syncFrequency: want a duration such as 1m30s, not 60 (line 3)"},
      {"a word for a list", "clusterDNS: 10.0.0.1\n",
       "clusterDNS: want a list, not \"10.0.0.1\" (line 3)"},
      {"a number in a list of words", "clusterDNS: [10.0.0.1, 5]\n",
       "clusterDNS[1]: want a string, not 5 (line 3)"},
      {"a list for an object", "authentication: []\n",
       "authentication: want an object, not a list (line 3)"},
      {"a word for an object", "splitlet: on\n", "splitlet: want an object, not on (line 3)"},
      {"a word for a gate", "featureGates:\n  A: high\n",
       "featureGates[A]: want true or false, not \"high\" (line 4)"},
      {"a header that is no list", "staticPodURLHeader:\n  A: b\n",
       "staticPodURLHeader[A]: want a list, not \"b\" (line 4)"},
      {"an unknown key in a list of objects",
       "registerWithTaints:\n- key: a\n  efect: NoSchedule\n",
       "registerWithTaints[].efect: unknown key (line 5)"},
      {"two faults in one file", "port: 70000\nfoo: 1\n",
       "port: 70000 is not in 1..65535 (line 3); foo: unknown key (line 4)"},
  });
}

TEST(ConfigFile, ImpossibleValues) {
  ExpectErrors({
      {"a port above all ports", "port: 65536\n", "port: 65536 is not in 1..65535 (line 3)"},
      {"a negative number of pods", "maxPods: -1\n", "maxPods: -1 is below 0 (line 3)"},
      {"a number that does not fit", "maxPods: 3000000000\n",
       "maxPods: 3000000000 is not in 0..2147483647 (line 3)"},
      {"a percentage above a hundred", "imageGCHighThresholdPercent: 101\n",
       "imageGCHighThresholdPercent: 101 is not in 0..100 (line 3)"},
      {"thresholds that meet", "imageGCLowThresholdPercent: 85\n",
       "imageGCLowThresholdPercent: 85 is not below imageGCHighThresholdPercent 85 (line 3)"},
      {"images too old before they may go", "imageMaximumGCAge: 1m\n",
       "imageMaximumGCAge: 1m is not above imageMinimumGCAge 120s (line 3)"},
      {"a negative duration", "imageMinimumGCAge: -1s\n",
       "imageMinimumGCAge: -1s is negative (line 3)"},
      {"a watch too quick", "containerLogMonitorInterval: 2s\n",
       "containerLogMonitorInterval: 2s is below 3s (line 3)"},
      {"one log file", "containerLogMaxFiles: 1\n", "containerLogMaxFiles: 1 is below 2 (line 3)"},
      {"no quantity", "containerLogMaxSize: 10MB\n",
       "containerLogMaxSize: want a quantity such as 10Mi, not \"10MB\" (line 3)"},
      {"a back-off cap above five minutes",
       "crashLoopBackOff:\n  maxContainerRestartPeriod: 301s\n",
       "crashLoopBackOff.maxContainerRestartPeriod: 301s is not in 1s..300s (line 4)"},
      {"a relative log folder", "podLogsDir: logs\n",
       "podLogsDir: logs is not an absolute path (line 3)"},
      {"a relative folder of objects", "splitlet: {objectsPath: objects}\n",
       "splitlet.objectsPath: objects is not an absolute path (line 3)"},
      {"a log folder with a slash at its end", "podLogsDir: /logs/\n",
       "podLogsDir: /logs/ is not a normalized path (line 3)"},
      {"an unknown mode", "authorization:\n  mode: RBAC\n",
       "authorization.mode: RBAC is not one of AlwaysAllow, Webhook (line 4)"},
      {"none with others", "enforceNodeAllocatable: [none, pods]\n",
       "enforceNodeAllocatable: none stands with other values (line 3)"},
      {"a value twice", "enforceNodeAllocatable: [pods, pods]\n",
       "enforceNodeAllocatable: a value is there twice (line 3)"},
      {"enforcement without its cgroup", "enforceNodeAllocatable: [kube-reserved]\n",
       "enforceNodeAllocatable: kube-reserved needs kubeReservedCgroup (line 3)"},
      {"pulls side by side and one by one", "maxParallelImagePulls: 5\nserializeImagePulls: true\n",
       "maxParallelImagePulls: a value above 1 needs serializeImagePulls: false (line 3)"},
      {"a shutdown too short", "shutdownGracePeriod: 500ms\n",
       "shutdownGracePeriod: 500ms is below 1s (line 3)"},
      {"critical pods longer than all",
       "shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s\n",
       "shutdownGracePeriodCriticalPods: 20s is above shutdownGracePeriod 10s (line 4)"},
      {"an unknown signal", "evictionHard:\n  memory.free: 1Gi\n",
       "evictionHard[memory.free]: memory.free is not one of memory.available, nodefs.available, "
       "nodefs.inodesFree, "
       "imagefs.available, imagefs.inodesFree, containerfs.available, containerfs.inodesFree, "
       "allocatableMemory.available, pid.available (line 4)"},
      {"a threshold of nothing", "evictionHard:\n  memory.available: \"0\"\n",
       "evictionHard[memory.available]: 0 is not above zero (line 4)"},
      {"a threshold above everything", "evictionHard:\n  nodefs.available: 101%\n",
       "evictionHard[nodefs.available]: 101% is not in 0%..100% (line 4)"},
      {"a soft threshold without grace", "evictionSoft:\n  memory.available: 1Gi\n",
       "evictionSoft: memory.available has no value in evictionSoftGracePeriod (line 4)"},
      {"a negative reservation", "systemReserved:\n  cpu: -1\n",
       "systemReserved[cpu]: -1 is negative (line 4)"},
      {"reserved gold", "kubeReserved:\n  gold: 1\n",
       "kubeReserved[gold]: gold is not one of cpu, memory, ephemeral-storage, pid (line 4)"},
      {"sampling above all", "tracing:\n  samplingRatePerMillion: 2000000\n",
       "tracing.samplingRatePerMillion: 2000000 is not in 0..1000000 (line 4)"},
      {"traces by http", "tracing:\n  endpoint: http://x\n",
       "tracing.endpoint: scheme http is not one of dns, unix, unix-abstract (line 4)"},
      {"running once", "runOnce: true\n", "runOnce: running once is no longer possible (line 3)"},
      {"too few threads", "splitlet:\n  maxBlockingThreads: 1\n",
       "splitlet.maxBlockingThreads: 1 is not in 4..4096 (line 4)"},
  });
}

TEST(ConfigFile, UsersThatCannotBe) {
  ExpectErrors({
      {"a user id below zero", "splitlet:\n  users: {pleg: -1}\n",
       "splitlet.users[pleg]: -1 is below 0 (line 4)"},
      {"a user above all", "splitlet:\n  users: {pleg: 4294967295}\n",
       "splitlet.users[pleg]: 4294967295 is not in 0..4294967294 (line 4)"},
      {"a user that is no name", "splitlet:\n  users: {pleg: [1]}\n",
       "splitlet.users[pleg]: want the id or name of a user, not a list (line 4)"},
      {"a user that does not exist", "splitlet:\n  users: {pleg: no-such-user}\n",
       "splitlet.users[pleg]: this machine has no user no-such-user (line 4)"},
      {"a user of no process", "splitlet:\n  users: {plag: 1}\n",
       "splitlet.users[plag]: plag is not one of config-source, sync-loop, pod-worker, pleg, "
       "status, gc, node-api, ctl (line 4)"},
  });
}

TEST(ConfigFile, WhatIsNoSuchDocument) {
  const struct {
    const char* name;
    const char* content;
    const char* want;
  } kCases[] = {
      {"nothing at all", "", "k.yaml: the file is empty"},
      {"a comment only", "# nothing\n", "k.yaml: the file is empty"},
      {"no object", "- a\n", "k.yaml: want an object, not a list (line 1)"},
      {"two documents", "a: 1\n---\nb: 2\n",
       "k.yaml: something follows the document, at line 2; want one document and no more"},
      {"a comma too many", "{a: 1},",
       "k.yaml: something follows the document, at line 1; want one document and no more"},
      {"no version", "kind: KubeletConfiguration\n", "k.yaml: apiVersion: the key is missing"},
      {"another version", "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n",
       "k.yaml: apiVersion: kubelet.config.k8s.io/v1 is not kubelet.config.k8s.io/v1beta1 (line "
       "1)"},
      {"another kind", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod\n",
       "k.yaml: kind: Pod is not KubeletConfiguration (line 2)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto config = KubeletConfig::Load("k.yaml", c.content, Reading::kLenient);
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(Message(config.status()), c.want);
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
  }
  const auto broken = KubeletConfig::Load("k.yaml", "a: [1\nb: 2\n", Reading::kLenient);
  ASSERT_FALSE(broken.ok());
  EXPECT_TRUE(Message(broken.status()).starts_with("k.yaml: not YAML: ")) << broken.status();
  EXPECT_FALSE(KubeletConfig::Load("k.yaml", std::string(100'000, '['), Reading::kLenient).ok());
}

TEST(ConfigFile, AnEmptyDocumentHasTheDefaults) {
  const KubeletConfig config = Loaded("");
  EXPECT_EQ(config.max_pods, 110);
  EXPECT_EQ(config.sync_frequency, Duration{60s});
  EXPECT_EQ(config.container_log_max_size_bytes, 10 << 20);
  EXPECT_EQ(config.resolver_config, "/etc/resolv.conf");
  EXPECT_EQ(config.eviction_hard.size(), 5U);
  EXPECT_TRUE(config.serialize_image_pulls);
  EXPECT_TRUE(config.cpu_cfs_quota);
  EXPECT_EQ(config.cpu_cfs_quota_period, Duration{100ms});
}

TEST(ConfigFile, ValuesAreTaken) {
  const KubeletConfig config = Loaded(
      "maxPods: 7\nsyncFrequency: 1m30s\nclusterDNS: [10.0.0.10]\nsystemReserved: {cpu: 500m, "
      "memory: 1Gi}\n"
      "cpuCFSQuota: false\ncpuCFSQuotaPeriod: 5ms\nseccompDefault: true\n"
      "singleProcessOOMKill: true\n"
      "containerLogMaxSize: 2Ki\ncontainerLogMonitorInterval: 4s\ncontainerLogMaxWorkers: 3\n"
      "evictionPressureTransitionPeriod: 30s\nstaticPodURLHeader: {X-A: [b, c]}\nregistryPullQPS: "
      "0\n"
      "splitlet: {killUnmanagedPods: true, sandboxImage: pause:3, maxBlockingThreads: 9, "
      "containerGCMinAge: 5s, "
      "users: {pleg: 901, gc: root}}\n");
  EXPECT_EQ(config.max_pods, 7);
  EXPECT_EQ(config.sync_frequency, Duration{90s});
  EXPECT_EQ(config.cluster_dns, std::vector<std::string>{"10.0.0.10"});
  EXPECT_EQ(config.system_reserved.at("cpu"), "500m");
  EXPECT_EQ(config.container_log_max_size_bytes, 2048);
  EXPECT_EQ(config.container_log_monitor_interval, Duration{4s});
  EXPECT_EQ(config.container_log_max_workers, 3);
  EXPECT_EQ(config.eviction_pressure_transition_period, Duration{30s});
  EXPECT_EQ(config.splitlet.sandbox_image, "pause:3");
  EXPECT_FALSE(config.cpu_cfs_quota);
  EXPECT_EQ(config.cpu_cfs_quota_period, Duration{5ms});
  EXPECT_TRUE(config.seccomp_default);
  EXPECT_TRUE(config.single_process_oom_kill);
  EXPECT_EQ(config.static_pod_url_header.at("X-A").size(), 2U);
  EXPECT_EQ(config.registry_pull_qps, 0) << "zero counts where it differs from unset";
  EXPECT_TRUE(config.splitlet.kill_unmanaged_pods);
  EXPECT_EQ(config.splitlet.max_blocking_threads, 9);
  EXPECT_EQ(config.splitlet.users, (std::map<std::string, uint32_t>{{"gc", 0}, {"pleg", 901}}));
  EXPECT_EQ(config.splitlet.container_gc_min_age, Duration{5s});
}

TEST(ConfigFile, ZeroOftenMeansNotSet) {
  const KubeletConfig config =
      Loaded("port: 0\nmaxPods: 0\nsyncFrequency: 0s\nauthorization: {mode: \"\"}\n");
  EXPECT_EQ(config.max_pods, 110);
  EXPECT_EQ(config.sync_frequency, Duration{60s});
  EXPECT_EQ(Loaded("resolvConf: \"\"\n").resolver_config, "")
      << "an empty resolver file is a choice";
  EXPECT_EQ(Loaded("maxPods: null\n").max_pods, 110);
}

TEST(ConfigFile, PathsStartAtTheFile) {
  EXPECT_EQ(Loaded("staticPodPath: manifests\n").static_pod_path, "/etc/k/manifests");
  EXPECT_EQ(Loaded("staticPodPath: /m\n").static_pod_path, "/m");
  EXPECT_EQ(Loaded("staticPodPath: m\n", "config.yaml").static_pod_path, "m");
}

TEST(ConfigFile, ParallelPullsAreNotSerial) {
  EXPECT_FALSE(Loaded("maxParallelImagePulls: 5\n").serialize_image_pulls);
  EXPECT_TRUE(Loaded("maxParallelImagePulls: 1\n").serialize_image_pulls);
}

TEST(ConfigFile, SoftThresholdsHaveTheirGraceAndReclaim) {
  const KubeletConfig config = Loaded(
      "evictionSoft: {memory.available: 1Gi, nodefs.available: 15%}\n"
      "evictionSoftGracePeriod: {memory.available: 1m30s, nodefs.available: 2m}\n"
      "evictionMinimumReclaim: {memory.available: 0Mi}\nevictionMaxPodGracePeriod: 60\n"
      "kernelMemcgNotification: true\nsplitlet: {evictStaticPods: true}\n");
  EXPECT_TRUE(config.kernel_memcg_notification);
  EXPECT_EQ(config.eviction_soft.at("nodefs.available"), "15%");
  EXPECT_EQ(config.eviction_soft_grace_period.at("memory.available"), Duration{90s});
  EXPECT_EQ(config.eviction_minimum_reclaim.at("memory.available"), "0Mi");
  EXPECT_EQ(config.eviction_max_pod_grace_period_seconds, 60);
  EXPECT_TRUE(config.local_storage_capacity_isolation);
  EXPECT_TRUE(config.splitlet.evict_static_pods);
  const KubeletConfig plain = Loaded("localStorageCapacityIsolation: false\n");
  EXPECT_FALSE(plain.local_storage_capacity_isolation);
  EXPECT_FALSE(plain.kernel_memcg_notification);
  EXPECT_FALSE(plain.splitlet.evict_static_pods);
  EXPECT_TRUE(plain.eviction_soft.empty());
}

TEST(ConfigFile, WhatIsKeptBackForEvictionMayBeAllocatable) {
  const std::string given = "evictionHard: {memory.available: 1Gi}\n";
  EXPECT_EQ(Loaded(given).EvictionOfAllocatable(),
            (std::map<std::string, std::string>{{"memory.available", "1Gi"}}));
  const KubeletConfig all = Loaded(given + "splitlet: {allocatableIgnoresEviction: true}\n");
  EXPECT_TRUE(all.EvictionOfAllocatable().empty());
  EXPECT_EQ(all.eviction_hard.size(), 1u) << "pods are evicted all the same";
}

TEST(ConfigFile, OneEvictionSignalReplacesAllUnlessMerged) {
  EXPECT_EQ(Loaded("evictionHard: {memory.available: 1Gi}\n").eviction_hard.size(), 1U);
  EXPECT_TRUE(Loaded("evictionHard: {}\n").eviction_hard.empty());
  const auto merged =
      Loaded("mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}\n");
  EXPECT_EQ(merged.eviction_hard.size(), 5U);
  EXPECT_EQ(merged.eviction_hard.at("memory.available"), "1Gi");
  const auto merged_before = Loaded(
      "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}\n"
      "splitlet: {evictionHardIsMerged: true}\n");
  EXPECT_EQ(merged_before.eviction_hard.size(), 1U);
}

TEST(ConfigFile, WithoutAFileThereAreEvictionThresholdsToo) {
  EXPECT_EQ(KubeletConfig{}.eviction_hard, Loaded("").eviction_hard);
}

TEST(ConfigFile, ALenientReaderPassesOverWhatAKubeletPassesOver) {
  const KubeletConfig config = Loaded(
      "maxPods: 3\nfoo: 1\nmaxPods: 4\nauthentication:\n  x509: {clientCaFile: a}\n"
      "systemReserved: {cpu: 1, cpu: 2}\nregisterWithTaints:\n- {key: a, efect: b, effect: "
      "NoSchedule}\n");
  EXPECT_EQ(config.max_pods, 4) << "the last of a doubled key counts";
  EXPECT_EQ(config.system_reserved.at("cpu"), "2");
  EXPECT_EQ(
      config.passed_over,
      "foo: unknown key (line 4); maxPods: duplicate key (line 5); "
      "authentication.x509.clientCaFile: unknown key (line 7); systemReserved[cpu]: duplicate "
      "key (line 8); registerWithTaints[].efect: unknown key (line 10)");
  EXPECT_EQ(Loaded("maxPods: 3\n").passed_over, "");
}

TEST(ConfigFile, AFaultyValueOrAnOwnKeyIsNoMatterOfLeniency) {
  const struct {
    const char* name;
    const char* body;
    const char* want;
  } kCases[] = {
      {"a wrong value beside an unknown key", "foo: 1\nmaxPods: x\n",
       "foo: unknown key (line 3); maxPods: want an integer, not \"x\" (line 4)"},
      {"the first of a doubled key is wrong", "maxPods: x\nmaxPods: 1\n",
       "maxPods: want an integer, not \"x\" (line 3); maxPods: duplicate key (line 4)"},
      {"the last of a doubled key is wrong", "maxPods: 1\nmaxPods: x\n",
       "maxPods: duplicate key (line 4); maxPods: want an integer, not \"x\" (line 4)"},
      {"an unknown key of ours", "splitlet: {killUnmanagedPod: true}\n",
       "splitlet.killUnmanagedPod: unknown key (line 3)"},
      {"a doubled key of ours", "splitlet: {lockFailPoints: true, lockFailPoints: false}\n",
       "splitlet.lockFailPoints: duplicate key (line 3)"},
      {"our settings twice", "splitlet: {}\nsplitlet: {}\n", "splitlet: duplicate key (line 4)"},
      {"a rule is broken by what remains",
       "imageGCLowThresholdPercent: 1\nfoo: 1\n"
       "imageGCLowThresholdPercent: 90\n",
       "imageGCLowThresholdPercent: 90 is not below imageGCHighThresholdPercent 85 (line 5)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto config =
        KubeletConfig::Load("k.yaml", kHead + std::string(c.body), Reading::kLenient);
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(Message(config.status()), std::string("k.yaml: ") + c.want);
  }
}

TEST(ConfigFile, FieldsWithoutEffectAreNamed) {
  const auto ignored = [](const std::string& body) { return Loaded(body).without_effect; };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(ignored("maxPods: 5\nseccompDefault: true\nsplitlet: {lockFailPoints: true}\n"),
            Paths{});
  EXPECT_EQ(
      ignored(
          "evictionSoft: {memory.available: 1Gi}\noomScoreAdj: -500\n"
          "evictionSoftGracePeriod: {memory.available: 1m}\nport: 10250\n"
          "kernelMemcgNotification: true\nvolumePluginDir: /p\nsplitlet: {offlineStart: true}\n"),
      (Paths{"volumePluginDir", "oomScoreAdj"}));
  EXPECT_EQ(ignored("podPidsLimit: -1\ncgroupRoot: /a\ncgroupsPerQOS: false\n"),
            Paths{"cgroupRoot"});
}

TEST(ConfigFile, TheEndOfPodsWithTheNodeMakesSense) {
  ExpectErrors({
      {"groups beside the plain periods",
       "shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1, "
       "shutdownGracePeriodSeconds: 5}]\n",
       "shutdownGracePeriodByPodPriority: it excludes shutdownGracePeriod and "
       "shutdownGracePeriodCriticalPods (line 4)"},
      {"a group without time",
       "shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: -1}]\n",
       "shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds: -1 is below 0 (line 3)"},
  });
}

TEST(ConfigFile, TheEndOfPodsWithTheNode) {
  const KubeletConfig plain =
      Loaded("shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n");
  EXPECT_EQ(plain.shutdown_grace_period, Duration{30s});
  EXPECT_EQ(plain.shutdown_grace_period_critical_pods, Duration{10s});
  EXPECT_TRUE(plain.without_effect.empty());
  const KubeletConfig groups = Loaded(
      "shutdownGracePeriodByPodPriority:\n- {priority: 1000, shutdownGracePeriodSeconds: 20}\n"
      "- {shutdownGracePeriodSeconds: 10}\n- {priority: -5}\n");
  EXPECT_EQ(groups.shutdown_grace_period_by_pod_priority,
            (std::vector<ShutdownGrace>{{1000, 20}, {0, 10}, {-5, 0}}));
  EXPECT_TRUE(groups.without_effect.empty());
  EXPECT_EQ(Loaded("").shutdown_grace_period, Duration{0});
}

TEST(ConfigFile, WhatIsDoneAnywayIsNotCalledWithoutEffect) {
  EXPECT_EQ(Loaded("enableServer: no\nport: 0\nreadOnlyPort: 0\nshutdownGracePeriod: 0s\n"
                   "podPidsLimit: -1\nenforceNodeAllocatable: [none]\nevictionSoft: {}\n"
                   "registerWithTaints: []\nmemorySwap: {}\ncpuManagerPolicy: none\n"
                   "protectKernelDefaults: false\nfeatureGates: {}\ncgroupDriver: \"\"\n"
                   "providerID: null\n")
                .without_effect,
            std::vector<std::string>{});
}

/// A file as kubeadm writes it: every field of a kubelet's configuration is present.
TEST(ConfigFile, AZeroOrAKubeletsDefaultSetsNothing) {
  using Paths = std::vector<std::string>;
  const auto ignored = [](const std::string& body) { return Loaded(body).without_effect; };
  const char* const kNothing[] = {
      "logging: {flushFrequency: 0, verbosity: 0}\n",
      "logging: {options: {json: {infoBufferSize: \"0\"}, text: {splitStream: false}}}\n",
      "logging: {flushFrequency: 5s, options: {}, vmodule: []}\n",
      "logging: {flushFrequency: 5000000000}\n",
      "cpuManagerReconcilePeriod: 0s\n",
      "cpuManagerReconcilePeriod: 10000ms\n",
      "cpuManagerPolicyOptions: {}\ntopologyManagerPolicyOptions: {}\nreservedMemory: []\n",
      "topologyManagerScope: container\nmemoryManagerPolicy: None\n",
      "volumePluginDir: /usr/libexec/kubernetes/kubelet-plugins/volume/exec/\n",
      "volumePluginDir: \"\"\nimageServiceEndpoint: \"\"\nsystemCgroups: \"\"\n",
      "imageServiceEndpoint: unix:///a\ncontainerRuntimeEndpoint: unix:///a\n",
      "oomScoreAdj: -999\nmaxOpenFiles: 1000000\nenableContentionProfiling: false\n",
  };
  for (const char* body : kNothing) EXPECT_EQ(ignored(body), Paths{}) << body;
  EXPECT_EQ(ignored("logging: {options: {json: {infoBufferSize: 1Ki}}}\n"),
            Paths{"logging.options"});
  EXPECT_EQ(ignored("logging: {options: {text: {splitStream: true}}}\n"), Paths{"logging.options"});
  EXPECT_EQ(ignored("cpuManagerReconcilePeriod: 5s\n"), Paths{"cpuManagerReconcilePeriod"});
  EXPECT_EQ(ignored("oomScoreAdj: 0\n"), Paths{"oomScoreAdj"});
  EXPECT_EQ(ignored("imageServiceEndpoint: unix:///b\ncontainerRuntimeEndpoint: unix:///a\n"),
            Paths{"imageServiceEndpoint"});
}

TEST(ConfigFile, TheApiServer) {
  const auto unset = Loaded("").api;
  EXPECT_TRUE(unset.register_node);
  EXPECT_EQ(unset.status_update_frequency, Duration{10s});
  EXPECT_EQ(unset.status_report_frequency, Duration{5min});
  EXPECT_EQ(unset.lease_duration_seconds, 40);
  const auto api = Loaded(
                       "kubeAPIQPS: 7\nkubeAPIBurst: 8\neventRecordQPS: 0\neventBurst: 9\n"
                       "registerNode: false\nproviderID: a://b\nnodeStatusUpdateFrequency: 20s\n"
                       "nodeLeaseDurationSeconds: 30\nnodeStatusMaxImages: -1\n"
                       "configMapAndSecretChangeDetectionStrategy: Get\n"
                       "enableControllerAttachDetach: false\nrotateCertificates: true\n"
                       "serverTLSBootstrap: true\ncontentType: application/json\n"
                       "registerWithTaints: [{key: a, value: b, effect: NoSchedule}, {key: c, "
                       "effect: NoExecute}]\n")
                       .api;
  EXPECT_EQ(api.qps, 7);
  EXPECT_EQ(api.burst, 8);
  EXPECT_EQ(api.event_qps, 0);
  EXPECT_EQ(api.event_burst, 9);
  EXPECT_FALSE(api.register_node);
  EXPECT_EQ(api.provider_id, "a://b");
  EXPECT_EQ(api.status_update_frequency, Duration{20s});
  EXPECT_EQ(api.status_report_frequency, Duration{20s});
  EXPECT_EQ(api.lease_duration_seconds, 30);
  EXPECT_EQ(api.status_max_images, -1);
  EXPECT_EQ(api.change_detection, "Get");
  EXPECT_FALSE(api.attach_detach_controller);
  EXPECT_TRUE(api.rotate_certificates);
  EXPECT_TRUE(api.server_tls_bootstrap);
  EXPECT_EQ(api.content_type, "application/json");
  ASSERT_EQ(api.register_with_taints.size(), 2U);
  EXPECT_EQ(api.register_with_taints[0].value, "b");
  EXPECT_EQ(api.register_with_taints[1].effect, "NoExecute");
  EXPECT_EQ(Loaded("nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m\n")
                .api.status_report_frequency,
            Duration{1min});
}

TEST(ConfigFile, TheServer) {
  const auto unset = Loaded("").server;
  EXPECT_TRUE(unset.enabled);
  EXPECT_EQ(unset.port, 10250);
  EXPECT_EQ(unset.read_only_port, 0);
  EXPECT_TRUE(unset.webhook_authentication);
  EXPECT_FALSE(unset.anonymous);
  EXPECT_EQ(unset.authorization, "Webhook");
  const auto server =
      Loaded(
          "enableServer: false\naddress: 127.0.0.1\nport: 1\nreadOnlyPort: 2\nhealthzPort: 0\n"
          "tlsCertFile: /c\ntlsPrivateKeyFile: /k\ntlsMinVersion: VersionTLS13\n"
          "tlsCipherSuites: [A, B]\nauthentication: {x509: {clientCAFile: /ca}, anonymous: "
          "{enabled: true}, webhook: {enabled: false, cacheTTL: 1s}}\nauthorization: {mode: "
          "AlwaysAllow, webhook: {cacheAuthorizedTTL: 2s, cacheUnauthorizedTTL: 3s}}\n"
          "enableDebuggingHandlers: false\nenableSystemLogHandler: true\n"
          "enableSystemLogQuery: true\nstreamingConnectionIdleTimeout: 5m\n")
          .server;
  EXPECT_FALSE(server.enabled);
  EXPECT_EQ(server.address, "127.0.0.1");
  EXPECT_EQ(server.port, 1);
  EXPECT_EQ(server.read_only_port, 2);
  EXPECT_EQ(server.healthz_port, 0);
  EXPECT_EQ(server.tls_cert_file, "/c");
  EXPECT_EQ(server.tls_key_file, "/k");
  EXPECT_EQ(server.tls_min_version, "VersionTLS13");
  EXPECT_EQ(server.tls_cipher_suites, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(server.client_ca_file, "/ca");
  EXPECT_TRUE(server.anonymous);
  EXPECT_FALSE(server.webhook_authentication);
  EXPECT_EQ(server.token_ttl, Duration{1s});
  EXPECT_EQ(server.authorization, "AlwaysAllow");
  EXPECT_EQ(server.authorized_ttl, Duration{2s});
  EXPECT_EQ(server.unauthorized_ttl, Duration{3s});
  EXPECT_FALSE(server.debugging_handlers);
  EXPECT_TRUE(server.system_log_query);
  EXPECT_EQ(server.stream_idle_timeout, Duration{5min});
}

TEST(ConfigFile, CgroupsOfWhatIsReserved) {
  using Enforced = KubeletConfig::ReservedCgroup::Enforced;
  const auto config = Loaded(
      "cgroupsPerQOS: true\nenforceNodeAllocatable: [pods, system-reserved-compressible, "
      "kube-reserved]\nsystemReservedCgroup: /system.slice\nkubeReservedCgroup: /kube\n");
  EXPECT_TRUE(config.enforce_allocatable);
  EXPECT_EQ(config.system_reserved_cgroup.path, "/system.slice");
  EXPECT_EQ(config.system_reserved_cgroup.enforced, Enforced::kCpu);
  EXPECT_EQ(config.kube_reserved_cgroup.path, "/kube");
  EXPECT_EQ(config.kube_reserved_cgroup.enforced, Enforced::kAll);
  EXPECT_EQ(Loaded("systemReservedCgroup: /x\n").system_reserved_cgroup.enforced, Enforced::kNot);
}

TEST(ConfigFile, PodsHaveCgroupsAsInAKubelet) {
  const struct {
    const char* body;
    bool cluster, standalone;
  } kCases[] = {
      {"", true, false},
      {"cgroupsPerQOS: true\n", true, true},
      {"cgroupsPerQOS: false\nenforceNodeAllocatable: [none]\n", false, false},
      {"splitlet: {machineSetup: false}\n", false, false},
      {"splitlet: {machineSetup: true}\n", true, false},
      {"cgroupsPerQOS: true\nsplitlet: {machineSetup: false}\n", true, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.body);
    const auto config = Loaded(c.body);
    EXPECT_EQ(config.HasPodCgroups(/*has_api_server=*/true), c.cluster);
    EXPECT_EQ(config.HasPodCgroups(/*has_api_server=*/false), c.standalone);
  }
}

TEST(ConfigFile, ProtectionThatCannotBeGivenIsRefused) {
  ExpectErrors({
      {"a limit of processes", "podPidsLimit: 100\ncgroupsPerQOS: false\n",
       "podPidsLimit: it needs cgroupsPerQOS: true (line 3)"},
      {"a root that slices cannot name",
       "cgroupsPerQOS: true\ncgroupDriver: systemd\ncgroupRoot: /a_b\n",
       "cgroupRoot: /a_b cannot be named by slices: \"_\" and \".slice\" have a meaning there "
       "(line "
       "5)"},
      {"CPUs of one's own", "cpuManagerPolicy: static\n",
       "cpuManagerPolicy: static asks for more than this version can give: the managers of CPUs, "
       "memory and topology are not built yet (line 3)"},
      {"memory of one's own", "memoryManagerPolicy: Static\n",
       "memoryManagerPolicy: Static asks for more than this version can give: the managers of "
       "CPUs, "
       "memory and topology are not built yet (line 3)"},
      {"all on one side of the machine", "topologyManagerPolicy: single-numa-node\n",
       "topologyManagerPolicy: single-numa-node asks for more than this version can give: the "
       "managers of CPUs, memory and topology are not built yet (line 3)"},
      {"room that is kept for the system by force",
       "enforceNodeAllocatable: [system-reserved]\nsystemReservedCgroup: /sys\ncgroupsPerQOS: "
       "false\n",
       "enforceNodeAllocatable: it needs cgroupsPerQOS: true (line 3)"},
  });
  for (const char* body : {"podPidsLimit: 5\ncgroupsPerQOS: false\n", "cpuManagerPolicy: static\n"})
    EXPECT_FALSE(KubeletConfig::Load("k.yaml", kHead + std::string(body), Reading::kLenient).ok())
        << body;
}

TEST(ConfigFile, JsonIsYaml) {
  const auto config = KubeletConfig::Load(
      "k.json",
      R"({"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":5})",
      Reading::kStrict);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_pods, 5);
}

TEST(ConfigFile, HowOftenVolumesAreMeasured) {
  using namespace std::chrono_literals;
  const struct {
    const char* name;
    const char* content;
    Duration want;
  } kCases[] = {
      {"not set", "", 1min},
      {"zero counts as not set", "volumeStatsAggPeriod: 0s\n", 1min},
      {"a period", "volumeStatsAggPeriod: 90s\n", 90s},
      {"off", "volumeStatsAggPeriod: -1s\n", -1s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Loaded(c.content).volume_stats_period, c.want);
  }
  EXPECT_EQ(KubeletConfig().volume_stats_period, Duration{1min}) << "no file";
}

TEST(Scalars, Durations) {
  const struct {
    const char* text;
    int64_t ns;
  } kGood[] = {
      {"1m30s", 90'000'000'000}, {"100ms", 100'000'000}, {"1.5h", 5'400'000'000'000}, {"0", 0},
      {"-2s", -2'000'000'000},   {"1us", 1000},          {"1\xC2\xB5s", 1000}};
  for (const auto& c : kGood)
    EXPECT_EQ(ParseGoDuration(c.text).value_or(Duration{-1}).count(), c.ns) << c.text;
  for (const char* text : {"", "5", "s", "1m 30s", "1d", "1s5", "9999999h", "--1s"})
    EXPECT_FALSE(ParseGoDuration(text).ok()) << text;
}

TEST(Scalars, Quantities) {
  const struct {
    const char* text;
    int64_t value;
  } kGood[] = {{"10Mi", 10 << 20}, {"1", 1},
               {"0.5", 1},         {"1500m", 2},
               {"1e3", 1000},      {"1E", 1'000'000'000'000'000'000},
               {"-3", -3},         {"100Ei", INT64_MAX},
               {"2k", 2000}};
  for (const auto& c : kGood) EXPECT_EQ(ParseQuantity(c.text).value_or(-99), c.value) << c.text;
  for (const char* text :
       {"", "abc", "10MB", "1 Gi", "Mi", "1e", "0x10", "1e999", "1e--5", "1e+-5"})
    EXPECT_FALSE(ParseQuantity(text).ok()) << text;
}

}  // namespace
}  // namespace splitlet::config
