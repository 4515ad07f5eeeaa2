#include "libs/kube/runnable.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/defaults.h"
#include "libs/kube/test_spec.h"

namespace splitlet::kube {
namespace {

Pod Stored(const std::string& spec, const std::string& metadata) {
  Pod pod;
  const auto decoded = DecodeInto(fmt::format("metadata: {{{}}}\nspec: {{{}}}\n", metadata, spec),
                                  "test", Strictness::kStrict, pod);
  EXPECT_TRUE(decoded.ok()) << ToString(decoded.status());
  return pod;
}

/// The first error; empty: the pod may run.
std::string WhyNot(const Pod& pod) {
  const auto errors = CheckRunnable(pod);
  return errors.empty() ? "" : errors.front().ToString();
}

constexpr const char* kMetadata = "name: web, namespace: default, uid: u-1";

std::string Claims(const std::string& spec) { return spec + ", volumes: [{name: v}]"; }

/// Pods that an API server keeps but would refuse as new, or that a kubelet runs.
const struct {
  const char* name;
  std::string spec;
} kStored[] = {
    {"a pod without its defaults", kGoodSpec},
    {"a pull secret without a name", With("imagePullSecrets: [{name: ''}]")},
    {"keys of matchLabelKeys in the selector",
     With("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
          "ScheduleAnyway, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, "
          "operator: In, values: [b]}]}, matchLabelKeys: [a]}]")},
    {"resources of Kubernetes' own domain",
     One("resources: {requests: {kubernetes.io/batch-cpu: 1, x.kubernetes.io/y: 1}}")},
    {"huge pages that do not divide", One("resources: {limits: {hugepages-2Mi: 3Mi}}")},
    {"an extended resource without a limit", One("resources: {requests: {vendor.com/x: 1}}")},
    {"a preferred node by a value that is no label",
     With("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
          "1, preference: {matchExpressions: [{key: z, operator: In, values: ['a b']}]}}]}}")},
    {"a selector by a value that is no label",
     With("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
          "[{topologyKey: z, labelSelector: {matchLabels: {a: 'b c'}}}]}}")},
    {"no exit codes",
     One("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: []}}]")},
    {"addresses with leading zeros",
     With("hostAliases: [{ip: 010.1.2.3}], dnsConfig: {nameservers: [010.1.2.3]}")},
    {"a toleration of a feature that is off here",
     With("tolerations: [{key: load, operator: Gt, value: '5'}]")},
    {"user namespaces with the host network", With("hostUsers: false, hostNetwork: true")},
    {"a sysctl of the network with the host network",
     With("hostNetwork: true, securityContext: {sysctls: [{name: net.core.somaxconn, value: "
          "'1'}]}")},
    {"a volume of a kind that this version does not know", Claims(kGoodSpec)},
    {"a token's path that is none",
     With("volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: ../t}}]}}]")},
    {"an init container that restarts when it is resized",
     With("initContainers: [{name: i, image: x, resizePolicy: [{resourceName: memory, "
          "restartPolicy: RestartContainer}]}]")},
    {"a mount path that is relative", Claims(One("volumeMounts: [{name: v, mountPath: data}]"))},
    {"no grace, and a deadline that was set to zero",
     With("terminationGracePeriodSeconds: -1, activeDeadlineSeconds: 0")},
    {"an ephemeral container", With("ephemeralContainers: [{name: e, image: x}]")},
    {"words that nobody knows yet",
     With("restartPolicy: Sometimes, dnsPolicy: Later, preemptionPolicy: Maybe, "
          "schedulingGates: [{name: g}], nodeName: node")},
};
TEST(CheckRunnable, WhatAnApiServerHasStoredRuns) {
  for (const auto& c : kStored) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WhyNot(Stored(c.spec, kMetadata)), "");
  }
}

const struct {
  const char* name;
  std::string spec, want;
} kUnsafe[] = {
    {"no container", "containers: []", "spec.containers: Required value"},
    {"a container that names another directory", "containers: [{name: ../a, image: x}]",
     "spec.containers[0].name: Invalid value: \"../a\""},
    {"two containers of one name", "containers: [{name: a}, {name: a}]",
     "spec.containers[1].name: Duplicate value: \"a\""},
    {"an init container of a container's name", With("initContainers: [{name: a}]"),
     "spec.initContainers[0].name: Duplicate value: \"a\""},
    {"an ephemeral container of a container's name", With("ephemeralContainers: [{name: a}]"),
     "spec.ephemeralContainers[0].name: Duplicate value: \"a\""},
    {"a volume that names another directory", With("volumes: [{name: ../../x}]"),
     "spec.volumes[0].name: Invalid value: \"../../x\""},
    {"two volumes of one name", With("volumes: [{name: v}, {name: v}]"),
     "spec.volumes[1].name: Duplicate value: \"v\""},
    {"a path of the host that goes up", With("volumes: [{name: v, hostPath: {path: /x/../y}}]"),
     "spec.volumes[0].hostPath.path: Invalid value: \"/x/../y\": must not contain '..'"},
    {"a part that leaves its volume",
     Claims(One("volumeMounts: [{name: v, mountPath: /x, subPath: a/../..}]")),
     "spec.containers[0].volumeMounts[0].subPath: Invalid value: \"a/../..\": must not contain"},
    {"a part of the machine",
     Claims(One("volumeMounts: [{name: v, mountPath: /x, subPathExpr: /etc}]")),
     "spec.containers[0].volumeMounts[0].subPathExpr: Invalid value: \"/etc\": must be a relative"},
    {"a profile outside of its folder",
     One("securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../p.json}}"),
     "spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value"},
    {"the same of the pod",
     With("securityContext: {seccompProfile: {type: Localhost, localhostProfile: /p.json}}"),
     "spec.securityContext.seccompProfile.localhostProfile: Invalid value: \"/p.json\": must be a "
     "relative path"},
    {"a user below zero", One("securityContext: {runAsUser: -1}"),
     "spec.containers[0].securityContext.runAsUser: Invalid value: -1"},
    {"a group that 32 bits cannot hold", With("securityContext: {fsGroup: 4294967296}"),
     "spec.securityContext.fsGroup: Invalid value: 4294967296"},
    {"one of the other groups", With("securityContext: {supplementalGroups: [1, -2]}"),
     "spec.securityContext.supplementalGroups[1]: Invalid value: -2"},
    {"a negative amount", One("resources: {limits: {memory: '-1'}}"),
     "spec.containers[0].resources.limits[memory]: Invalid value: \"-1\": must be greater than or"},
    {"a resource that would be a mount option",
     One("resources: {requests: {'hugepages-2Mi,x': 1}}"),
     "spec.containers[0].resources.requests[hugepages-2Mi,x]: Invalid value"},
    {"an overhead below zero", With("overhead: {cpu: '-1'}"),
     "spec.overhead[cpu]: Invalid value: \"-1\""},
    {"a deadline that no time can hold", With("activeDeadlineSeconds: 9223372036854775807"),
     "spec.activeDeadlineSeconds: Invalid value: 9223372036854775807"},
};
TEST(CheckRunnable, WhatWouldHarmTheNodeIsNamed) {
  for (const auto& c : kUnsafe) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WhyNot(Stored(c.spec, kMetadata)).substr(0, c.want.size()), c.want);
  }
  EXPECT_TRUE(WhyNot(Stored(kGoodSpec, "name: web, namespace: default, uid: a/b"))
                  .starts_with("metadata.uid: Invalid value: \"a/b\""));
  EXPECT_TRUE(WhyNot(Stored(kGoodSpec, "name: ../w, namespace: default, uid: u"))
                  .starts_with("metadata.name: Invalid value"));
  EXPECT_TRUE(WhyNot(Stored(kGoodSpec, "name: web, namespace: a/b, uid: u"))
                  .starts_with("metadata.namespace: Invalid value"));
  Pod unread = Stored(One("resources: {limits: {cpu: 1}}"), kMetadata);
  auto& limits = *unread.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*limits.mutable_limits())["cpu"].set_string("many");
  EXPECT_TRUE(WhyNot(unread).starts_with(
      "spec.containers[0].resources.limits[cpu]: Invalid value: \"many\""));
}

/// Checks all pods of tests/charts.
std::vector<Pod> Charts() {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TREE "/tests/charts"))
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  std::vector<Pod> pods;
  for (const auto& file : files) {
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    PodList list;
    const auto decoded = DecodeInto(text, file.filename(), Strictness::kStrict, list);
    EXPECT_TRUE(decoded.ok()) << ToString(decoded.status());
    for (auto& pod : *list.mutable_items()) pods.push_back(std::move(pod));
  }
  return pods;
}

TEST(CheckRunnable, PodsOfTenKindsOfChart) {
  const auto pods = Charts();
  EXPECT_EQ(pods.size(), 30U);
  // Pods stored before the rule for addresses: an API server accepts no new ones, but they keep
  // running.
  const std::set<std::string> old = {"prometheus-0", "mesh-gateway-8d7c6b5a4-j2h9r"};
  for (Pod pod : pods) {
    SCOPED_TRACE(pod.metadata().name());
    pod.mutable_metadata()->set_uid("u-1");
    EXPECT_EQ(WhyNot(pod), "");
    ASSERT_EQ(ApplyDefaults(pod), OkStatus());
    const Status as_new = ToStatus(ValidatePod(pod));
    EXPECT_EQ(as_new.ok(), !old.contains(pod.metadata().name())) << as_new;
  }
}

}  // namespace
}  // namespace splitlet::kube
