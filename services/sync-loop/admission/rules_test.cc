#include "services/sync-loop/admission/rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "services/sync-loop/grants/allocated.h"
#include "services/sync-loop/metrics.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

kube::Pod PodOf(const std::string& yaml) {
  kube::Pod pod;
  const auto decoded = kube::DecodeInto(yaml, "pod.yaml", kube::Strictness::kStrict, pod);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return pod;
}

PodRequests RequestsOrDie(const kube::Pod& pod) {
  auto requests = RequestsOf(pod);
  EXPECT_TRUE(requests.ok()) << requests.status();
  return *requests;
}

NodeDigest TestNode() {
  return {.name = "n1",
          .labels = {{"kubernetes.io/os", "linux"}, {"zone", "a"}, {"cores", "8"}},
          .taints = {},
          .allocatable = {{"cpu", 1000},
                          {"memory", 1 << 30},
                          {"pods", 3},
                          {"example.com/gpu", 1},
                          {"ephemeral-storage", 1000}}};
}

struct World {
  NodeDigest node = TestNode();
  NodeLoad load;
  std::vector<std::string> pressure;
  bool shutting_down = false;
  SysctlPolicy sysctls{"6.1.0-13-amd64", {"net.core.*", "kernel.msgmax"}};
  std::string name = "n1";
  Amounts devices;
  bool pod_resources = true;

  std::string Judge(const std::string& yaml, bool node_known = true) {
    const kube::Pod pod = PodOf(yaml);
    const PodRequests requests = RequestsOrDie(pod);
    const auto refusal = FindRefusal({.pod = pod,
                                      .requests = requests,
                                      .node = node_known ? &node : nullptr,
                                      .pressure = pressure,
                                      .shutting_down = shutting_down,
                                      .sysctls = sysctls,
                                      .node_name = name,
                                      .devices = &devices,
                                      .pod_resources = pod_resources},
                                     load);
    return refusal ? refusal->reason + ": " + refusal->message : "admitted";
  }
  void Add(const std::string& key, const std::string& yaml) {
    load.Set(key, RequestsOrDie(PodOf(yaml)));
  }
};

std::string Wants(const std::string& requests) {
  return "spec: {containers: [{name: c, resources: {requests: {" + requests + "}}}]}";
}
std::string WithPort(const std::string& port) {
  return "spec: {containers: [{name: c, ports: [" + port + "]}]}";
}
const char* const kStatic = "metadata: {annotations: {kubernetes.io/config.source: file}}\n";

TEST(Admission, ResourcesAreToldInOrderWithExactNumbers) {
  World world;
  world.Add("a", Wants("cpu: 600m, memory: 512Mi"));
  const struct {
    const char *name, *requests, *want;
  } kCases[] = {
      {"what fits is admitted", "cpu: 400m, memory: 512Mi", "admitted"},
      {"too little cpu", "cpu: 500m",
       "OutOfcpu: Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: "
       "1000"},
      {"cpu is reported before memory", "cpu: 500m, memory: 1Gi",
       "OutOfcpu: Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: "
       "1000"},
      {"too little memory", "memory: 1Gi",
       "OutOfmemory: Node didn't have enough resource: memory, requested: 1073741824, used: "
       "536870912, capacity: "
       "1073741824"},
      {"too little ephemeral storage", "ephemeral-storage: 1001",
       "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: "
       "1001, used: 0, "
       "capacity: 1000"},
      {"too few devices", "example.com/gpu: 2",
       "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 2, "
       "used: 0, capacity: 1"},
      {"a resource of the cluster is not this node's affair", "example.com/licence: 2", "admitted"},
      {"huge pages that the node has not", "hugepages-2Mi: 2Mi",
       "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: 2097152, "
       "used: 0, capacity: 0"},
      {"nothing requested", "", "admitted"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(world.Judge(Wants(c.requests)), c.want);
  }
}

TEST(Admission, TheNumberOfPodsIsLimitedAlsoForPodsThatRequestNothing) {
  World world;
  for (const char* key : {"a", "b", "c"}) world.Add(key, Wants(""));
  EXPECT_EQ(
      world.Judge(Wants("")),
      "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3");
  world.load.Erase("b");
  EXPECT_EQ(world.Judge(Wants("")), "admitted");
}

TEST(Admission, AnUnknownNodeRefusesNothingForItsResourcesAndLabels) {
  World world;
  EXPECT_EQ(world.Judge(Wants("cpu: 100"), /*node_known=*/false), "admitted");
  EXPECT_EQ(world.Judge("spec: {nodeSelector: {zone: b}}", false), "admitted");
  world.node.allocatable.clear();
  EXPECT_EQ(world.Judge(Wants("cpu: 100")), "admitted");
}

TEST(Admission, HostPortsConflictByAddressAndProtocol) {
  World world;
  world.Add("a", WithPort("{containerPort: 80, hostPort: 80, protocol: TCP, hostIP: 10.0.0.1}"));
  world.Add("b", WithPort("{containerPort: 53, hostPort: 53, protocol: UDP}"));
  const std::string refused =
      "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod "
      "ports";
  const struct {
    const char *name, *port;
    bool free;
  } kCases[] = {
      {"the same address", "{containerPort: 1, hostPort: 80, hostIP: 10.0.0.1}", false},
      {"another address", "{containerPort: 1, hostPort: 80, hostIP: 10.0.0.2}", true},
      {"every address", "{containerPort: 1, hostPort: 80}", false},
      {"another protocol", "{containerPort: 1, hostPort: 80, protocol: UDP}", true},
      {"one address of a port that has all",
       "{containerPort: 1, hostPort: 53, protocol: UDP, hostIP: 10.0.0.2}", false},
      {"no host port", "{containerPort: 80}", true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(world.Judge(WithPort(c.port)), c.free ? "admitted" : refused);
  }
  world.load.Erase("a");
  EXPECT_EQ(world.Judge(WithPort("{containerPort: 1, hostPort: 80}")), "admitted");
}

TEST(Admission, LabelsAffinityNameAndOs) {
  World world;
  const std::string affinity =
      "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
      "affinity/selector";
  const auto with_terms = [](const std::string& terms) {
    return "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
           "{nodeSelectorTerms: [" +
           terms + "]}}}}";
  };
  const struct {
    const char* name;
    std::string yaml, want;
  } kCases[] = {
      {"selector matches", "spec: {nodeSelector: {zone: a}}", "admitted"},
      {"selector does not match", "spec: {nodeSelector: {zone: b}}", affinity},
      {"In", with_terms("{matchExpressions: [{key: zone, operator: In, values: [b, a]}]}"),
       "admitted"},
      {"NotIn", with_terms("{matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}"),
       affinity},
      {"NotIn of a label that is not there",
       with_terms("{matchExpressions: [{key: x, operator: NotIn, values: [a]}]}"), "admitted"},
      {"Exists and DoesNotExist",
       with_terms(
           "{matchExpressions: [{key: zone, operator: Exists}, {key: x, operator: DoesNotExist}]}"),
       "admitted"},
      {"Gt", with_terms("{matchExpressions: [{key: cores, operator: Gt, values: ['7']}]}"),
       "admitted"},
      {"Lt", with_terms("{matchExpressions: [{key: cores, operator: Lt, values: ['8']}]}"),
       affinity},
      {"Gt of what is no number",
       with_terms("{matchExpressions: [{key: zone, operator: Gt, values: ['1']}]}"), affinity},
      {"one of two terms is enough",
       with_terms("{matchExpressions: [{key: zone, operator: In, values: [b]}]}, {matchFields: "
                  "[{key: metadata.name, "
                  "operator: In, values: [n1]}]}"),
       "admitted"},
      {"an empty term matches nothing", with_terms("{}"), affinity},
      {"another node's name", "spec: {nodeName: n2}",
       "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name"},
      {"this node's name", "spec: {nodeName: n1}", "admitted"},
      {"label of another OS", "metadata: {labels: {kubernetes.io/os: windows}}",
       "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label "
       "doesn't match node "
       "label"},
      {"field of another OS", "spec: {os: {name: windows}}",
       "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"},
      {"both of this OS",
       "metadata: {labels: {kubernetes.io/os: linux}}\nspec: {os: {name: linux}}", "admitted"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(world.Judge(c.yaml), c.want);
  }
}

TEST(Admission, NoExecuteTaintsRefuseApiPodsThatDoNotTolerateThem) {
  World world;
  world.node.taints = {{"other", "", "NoSchedule"}, {"gone", "soon", "NoExecute"}};
  const std::string refused =
      "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't "
      "tolerate";
  const struct {
    const char* name;
    std::string yaml;
    bool admitted;
  } kCases[] = {
      {"not tolerated", "spec: {}", false},
      {"a static pod is not asked", std::string(kStatic) + "spec: {}", true},
      {"tolerated by value", "spec: {tolerations: [{key: gone, value: soon}]}", true},
      {"another value", "spec: {tolerations: [{key: gone, operator: Equal, value: later}]}", false},
      {"tolerated by key",
       "spec: {tolerations: [{key: gone, operator: Exists, effect: NoExecute}]}", true},
      {"another effect", "spec: {tolerations: [{key: gone, operator: Exists, effect: NoSchedule}]}",
       false},
      {"everything tolerated", "spec: {tolerations: [{operator: Exists}]}", true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(world.Judge(c.yaml), c.admitted ? "admitted" : refused);
  }
}

TEST(Admission, PressureRefusesByConditionAndClass) {
  const std::string burstable = Wants("cpu: 1m");
  const std::string tolerant =
      "spec: {containers: [{name: c}], tolerations: [{key: node.kubernetes.io/memory-pressure, "
      "operator: Exists}]}";
  const struct {
    const char* name;
    std::vector<std::string> conditions;
    std::string yaml, want;
  } kCases[] = {
      {"no pressure", {}, Wants(""), "admitted"},
      {"BestEffort under memory pressure",
       {"MemoryPressure"},
       Wants(""),
       "Evicted: The node had condition: [MemoryPressure]. "},
      {"Burstable under memory pressure", {"MemoryPressure"}, burstable, "admitted"},
      {"tolerated memory pressure", {"MemoryPressure"}, tolerant, "admitted"},
      {"static under memory pressure",
       {"MemoryPressure"},
       std::string(kStatic) + Wants(""),
       "admitted"},
      {"Burstable under disk pressure",
       {"DiskPressure"},
       burstable,
       "Evicted: The node had condition: [DiskPressure]. "},
      {"two conditions",
       {"DiskPressure", "MemoryPressure"},
       burstable,
       "Evicted: The node had condition: [DiskPressure MemoryPressure]. "},
      {"critical by priority", {"DiskPressure"}, "spec: {priority: 2000000000}", "admitted"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    World world;
    world.pressure = c.conditions;
    EXPECT_EQ(world.Judge(c.yaml), c.want);
  }
}

TEST(Admission, NobodyBeginsOnANodeThatShutsDown) {
  World world;
  world.shutting_down = true;
  const std::string refused = "NodeShutdown: Pod was rejected as the node is shutting down.";
  EXPECT_EQ(world.Judge(Wants("")), refused);
  EXPECT_EQ(world.Judge(std::string(kStatic) + Wants("")), refused);
  EXPECT_EQ(world.Judge("spec: {priority: 2000000000, containers: [{name: c, resources: "
                        "{requests: {cpu: 2}}}]}"),
            refused)
      << "no preemption for it";
  world.pressure = {"DiskPressure"};
  EXPECT_EQ(world.Judge(Wants("cpu: 1m")), "Evicted: The node had condition: [DiskPressure]. ")
      << "the kubelet's order";
}

TEST(Admission, DevicesOfAFormerKubeletAreGivenToNoPod) {
  World world;
  world.devices = {{"example.com/gpu", 0}};
  const std::string refused =
      "UnexpectedAdmissionError: Allocate failed due to no healthy devices present; cannot "
      "allocate "
      "unhealthy devices example.com/gpu, which is unexpected";
  const struct {
    const char* name;
    std::string yaml, want;
  } kCases[] = {
      {"one is asked for", Wants("example.com/gpu: 1"), refused},
      {"none is asked for", Wants("example.com/gpu: 0"), "admitted"},
      {"what a user set in the status of the Node", Wants("example.com/fpga: 1"), "admitted"},
      {"a pod that ran before", "status: {phase: Running}\n" + Wants("example.com/gpu: 5"),
       "admitted"},
      {"before a preemption", Wants("example.com/gpu: 1, cpu: 9"), refused},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(world.Judge(c.yaml), c.want);
    EXPECT_EQ(world.Judge(c.yaml, false), c.want) << "with a node that is not known";
  }
  world.node.allocatable["example.com/gpu"] = 8;
  EXPECT_EQ(world.Judge(Wants("example.com/gpu: 1")), refused) << "whatever the Node shows";
}

TEST(Admission, ResourcesOfThePodNeedTheirFeatureGate) {
  World world;
  const std::string pod = "spec: {resources: {requests: {cpu: 1m}}, containers: [{name: c}]}";
  EXPECT_EQ(world.Judge(pod), "admitted");
  world.pod_resources = false;
  EXPECT_EQ(world.Judge(pod),
            "PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled");
  EXPECT_EQ(world.Judge(Wants("cpu: 1m")), "admitted");
}

TEST(Admission, ACriticalPodHearsFirstOfWhatRoomCannotMend) {
  World world;
  world.Add("a", WithPort("{containerPort: 80, hostPort: 80}"));
  const std::string spec =
      "spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}], resources: "
      "{requests: {cpu: 2}}}]}";
  EXPECT_TRUE(world.Judge(std::string(kStatic) + spec).starts_with("NodePorts"));
  EXPECT_TRUE(world.Judge(spec).starts_with("OutOfcpu"));
}

TEST(Admission, SysctlsAreSafeAllowedOrForbidden) {
  const struct {
    const char *name, *spec, *want;
  } kCases[] = {
      {"a safe one", "sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}]", "admitted"},
      {"written with slashes", "sysctls: [{name: net/ipv4/tcp_syncookies, value: '1'}]",
       "admitted"},
      {"allowed by prefix", "sysctls: [{name: net.core.somaxconn, value: '1'}]", "admitted"},
      {"allowed by name", "sysctls: [{name: kernel.msgmax, value: '1'}]", "admitted"},
      {"not listed", "sysctls: [{name: kernel.msgmnb, value: '1'}]",
       "SysctlForbidden: forbidden sysctl: \"kernel.msgmnb\" not allowlisted"},
  };
  World world;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(world.Judge("spec: {securityContext: {" + std::string(c.spec) + "}}"), c.want);
  }
  EXPECT_EQ(
      world.Judge(
          "spec: {hostNetwork: true, securityContext: {sysctls: [{name: net.core.somaxconn, value: "
          "'1'}]}}"),
      "SysctlForbidden: forbidden sysctl: \"net.core.somaxconn\" not allowed with host Net "
      "enabled");
  EXPECT_EQ(
      world.Judge(
          "spec: {hostIPC: true, securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}}"),
      "SysctlForbidden: forbidden sysctl: \"kernel.msgmax\" not allowed with host IPC enabled");
  const SysctlPolicy old("3.10.0", {});
  EXPECT_FALSE(
      old.WhyForbidden(
             PodOf("spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}]}}")
                 .spec())
          .empty());
}

TEST(Admission, EveryReasonIsCountedFromTheBeginning) {
  // Without a series at 0, the first refusal would not show as an increase.
  prometheus::Registry registry;
  const SyncLoopMetrics metrics(registry, ReasonLabels());
  std::vector<std::string> reasons;
  for (const auto& family : registry.Collect()) {
    if (family.name != "kubelet_admission_rejections_total") continue;
    for (const auto& metric : family.metric) {
      EXPECT_EQ(metric.counter.value, 0);
      reasons.push_back(metric.label.at(0).value);
    }
  }
  std::vector<std::string> want = ReasonLabels();
  std::ranges::sort(want);
  std::ranges::sort(reasons);
  EXPECT_EQ(reasons, want);
}

TEST(Admission, ReasonLabelsAreAClosedSet) {
  using enum Refusal::Ground;
  EXPECT_EQ(ReasonLabel({kResources, "OutOfcpu", ""}), "OutOfcpu");
  EXPECT_EQ(ReasonLabel({kPod, "PodFeatureUnsupported", ""}), "PodFeatureUnsupported");
  EXPECT_EQ(ReasonLabel({kResources, "OutOfexample.com/gpu", ""}), "OutOfExtendedResources");
  EXPECT_EQ(ReasonLabel({kHostPorts, "NodePorts", ""}), "Other");
}

TEST(NodeLoad, AReplacedClaimCountsOnce) {
  NodeLoad load;
  load.Set("a", RequestsOrDie(PodOf(Wants("cpu: 1"))));
  load.Set("a", RequestsOrDie(PodOf(Wants("cpu: 500m"))));
  EXPECT_EQ(load.Used("cpu"), 500);
  EXPECT_EQ(load.pods(), 1u);
  load.Erase("a");
  load.Erase("a");
  EXPECT_EQ(load.Used("cpu"), 0);
}

TEST(Allocated, ResourcesStayAsAdmittedAndAllElseFollows) {
  const kube::Pod admitted =
      PodOf("spec: {containers: [{name: a, image: v1, resources: {requests: {cpu: 1}}}]}");
  const kube::Pod wanted = PodOf(
      "spec: {containers: [{name: a, image: v2, resources: {requests: {cpu: 4}}}, {name: b, "
      "resources: "
      "{requests: {cpu: 2}}}]}");
  const kube::Pod pod =
      WithAllocated(kube::PodBytes::Of(wanted), kube::PodBytes::Of(admitted)).Parse();
  EXPECT_EQ(pod.spec().containers(0).image(), "v2");
  EXPECT_EQ(RequestsOrDie(pod).amounts.at("cpu"), 3000);
}

TEST(Allocated, AmountsThatAreWrittenDifferentlyLeaveThePodAsItIsWanted) {
  const auto pod = [](const std::string& image, const std::string& cpu) {
    return kube::PodBytes::Of(PodOf("spec: {containers: [{name: a, image: " + image +
                                    ", resources: {requests: {cpu: " + cpu + "}}}]}"));
  };
  EXPECT_EQ(WithAllocated(pod("v2", "1000m"), pod("v1", "1")), pod("v2", "1000m"));
  EXPECT_EQ(WithAllocated(pod("v2", "1001m"), pod("v1", "1")), pod("v2", "1"));
}

TEST(Admission, WhatCannotBeEnforcedIsRefused) {
  const std::string strict =
      "spec: {containers: [{name: c}], securityContext: "
      "{supplementalGroupsPolicy: Strict}}";
  const std::string no_groups =
      "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in "
      "this node";
  const std::string no_apparmor =
      "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host";
  const std::string annotation =
      "metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: ";
  const std::string own = "securityContext: {appArmorProfile: {type: ";
  const struct {
    const char* name;
    std::string pod, want;
  } kCases[] = {
      {"strict groups", strict, no_groups},
      {"merged groups",
       "spec: {containers: [{name: c}], securityContext: {supplementalGroupsPolicy: Merge}}",
       "admitted"},
      {"a profile of the container", "spec: {containers: [{name: c, " + own + "RuntimeDefault}}}]}",
       no_apparmor},
      {"a profile of an init container",
       "spec: {initContainers: [{name: i, " + own +
           "Localhost, localhostProfile: p}}}], "
           "containers: [{name: c}]}",
       no_apparmor},
      {"a profile of the pod", "spec: {containers: [{name: c}], " + own + "RuntimeDefault}}}",
       no_apparmor},
      {"the container needs none",
       "spec: {containers: [{name: c, " + own + "Unconfined}}}], " + own + "RuntimeDefault}}}",
       "admitted"},
      {"an annotation", annotation + "runtime/default}}\nspec: {containers: [{name: c}]}",
       no_apparmor},
      {"an annotation for a profile", annotation + "localhost/p}}\nspec: {containers: [{name: c}]}",
       no_apparmor},
      {"an annotation that wants none",
       annotation + "unconfined}}\nspec: {containers: [{name: c}], " + own + "RuntimeDefault}}}",
       "admitted"},
      {"an annotation with an unknown value", annotation + "x}}\nspec: {containers: [{name: c}]}",
       "admitted"},
      {"a user namespace", "spec: {containers: [{name: c}], hostUsers: false}",
       "UserNamespacesNotSupported: can't set `spec.hostUsers: false`, runtime does not support "
       "user namespaces"},
      {"the host's users and network",
       "spec: {containers: [{name: c}], hostUsers: true, hostNetwork: true}", "admitted"},
      {"the host's users", "spec: {containers: [{name: c}], hostUsers: true}", "admitted"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    World world;
    world.node.abilities = {.known = true};
    EXPECT_EQ(world.Judge(c.pod), c.want);
    if (c.want == no_groups || c.want == no_apparmor) {
      EXPECT_EQ(world.Judge(c.pod, /*node_known=*/false), c.want);
    }
    world.node.abilities = {.known = true,
                            .strict_groups = true,
                            .apparmor = true,
                            .user_namespaces = {.first = true, .any = true}};
    EXPECT_EQ(world.Judge(c.pod), "admitted");
  }
}

TEST(Admission, ThePodsOwnUsersOnTheHostsNetworkAreAFeatureOfOtherNodes) {
  World world;
  world.node.abilities = {.known = true, .user_namespaces = {.first = true, .any = true}};
  EXPECT_EQ(world.Judge("spec: {containers: [{name: c}], hostUsers: false, hostNetwork: true}"),
            "PodFeatureUnsupported: Pod requires node features that are not available: "
            "UserNamespacesHostNetworkSupport");
}

TEST(Admission, ClaimsOfDevicesAreAFeatureOfOtherNodesUnlessThePodRunsAlready) {
  World world;
  const std::string pod =
      "spec: {containers: [{name: c}], resourceClaims: [{name: gpu, resourceClaimName: a}]}";
  const std::string refused =
      "PodFeatureUnsupported: Pod requires node features that are not available: "
      "DynamicResourceAllocation";
  EXPECT_EQ(world.Judge(pod), refused);
  EXPECT_EQ(world.Judge(pod + "\nstatus: {phase: Pending}"), refused);
  EXPECT_EQ(world.Judge(pod + "\nstatus: {phase: Running}"), "admitted");
}

TEST(Admission, AProfileIsAskedForOnlyBeforeThePodHasRun) {
  World world;
  world.node.abilities = {.known = true};
  const std::string pod =
      "spec: {containers: [{name: c}], securityContext: {appArmorProfile: {type: RuntimeDefault}}}";
  EXPECT_TRUE(world.Judge(pod).starts_with("AppArmor"));
  EXPECT_TRUE(world.Judge(pod + "\nstatus: {phase: Pending}").starts_with("AppArmor"));
  EXPECT_EQ(world.Judge(pod + "\nstatus: {phase: Running}"), "admitted");
}

/// pod-worker fails its container, so that the pod waits for a runtime that can.
TEST(Admission, WhatCannotBeReadOnlyAllTheWayDownIsLeftToTheContainer) {
  World world;
  world.node.abilities = {.known = true};
  EXPECT_EQ(world.Judge("spec: {containers: [{name: c, volumeMounts: [{name: v, readOnly: true, "
                        "recursiveReadOnly: Enabled}]}]}"),
            "admitted");
}

TEST(Admission, AnotherHandlerCountsForAPodOfARuntimeClassOnly) {
  const auto asked = [](const std::string& runtime_class) {
    World world;
    v1::NodeRecord record;
    record.mutable_features()->set_known(true);
    record.mutable_features()->add_handlers();
    auto& other = *record.mutable_features()->add_handlers();
    other.set_name("vm");
    other.set_user_namespaces(true);
    world.node.abilities = ReadNode(record).abilities;
    return world.Judge("spec: {hostUsers: false, containers: [{name: c}]" + runtime_class + "}");
  };
  EXPECT_TRUE(asked("").starts_with("UserNamespacesNotSupported"));
  EXPECT_EQ(asked(", runtimeClassName: vm"), "admitted") << "pod-worker knows the class";
}

TEST(Admission, WhatCannotBeEnforcedIsToldBeforeRoomIsMadeForACriticalPod) {
  World world;
  const std::string spec =
      "spec: {hostUsers: false, containers: [{name: c, resources: {requests: "
      "{cpu: 5}}}]}";
  EXPECT_TRUE(world.Judge(spec).starts_with("OutOfcpu"));
  EXPECT_TRUE(world.Judge("metadata: {annotations: {kubernetes.io/config.source: file}}\n" + spec)
                  .starts_with("UserNamespacesNotSupported"));
}

}  // namespace
}  // namespace splitlet::sync_loop
