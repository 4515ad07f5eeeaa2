#include <fmt/format.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/defaults.h"
#include "libs/kube/names.h"
#include "libs/kube/resources.h"
#include "libs/kube/static_pod.h"
#include "libs/kube/test_spec.h"
#include "libs/kube/validation.h"

namespace splitlet::kube {
namespace {

/// A pod from the fields of its spec and metadata, in YAML flow style.
Pod PodOf(const std::string& spec, const std::string& metadata = "name: web") {
  Pod pod;
  const auto warnings = DecodeInto(fmt::format("metadata: {{{}}}\nspec: {{{}}}\n", metadata, spec),
                                   "test", Strictness::kStrict, pod);
  EXPECT_TRUE(warnings.ok()) << ToString(warnings.status());
  return pod;
}

Pod Defaulted(const std::string& spec, const std::string& metadata = "name: web") {
  Pod pod = PodOf(spec, metadata);
  EXPECT_EQ(ApplyDefaults(pod), OkStatus());
  return pod;
}

TEST(Defaults, AsAnApiServerFillsThemIn) {
  const Pod pod = Defaulted(
      "hostNetwork: true, containers: [{name: a, image: 'x:1', ports: [{containerPort: 80}], "
      "resources: {limits: {cpu: 0.0001, memory: 1Gi}, requests: {memory: 1Mi}}, "
      "livenessProbe: {httpGet: {port: 80}}, env: [{name: \"N\", valueFrom: {fieldRef: {fieldPath: "
      "metadata.name}}}]}], "
      "volumes: [{name: v}, {name: h, hostPath: {path: /x}}, {name: d, downwardAPI: {}}]");
  EXPECT_EQ(ToYaml(pod, {.sorted = true}), R"(metadata:
  name: web
spec:
  containers:
  - env:
    - name: "N"
      valueFrom:
        fieldRef:
          apiVersion: v1
          fieldPath: metadata.name
    image: x:1
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /
        port: 80
        scheme: HTTP
      periodSeconds: 10
      successThreshold: 1
      timeoutSeconds: 1
    name: a
    ports:
    - containerPort: 80
      hostPort: 80
      protocol: TCP
    resources:
      limits:
        cpu: 1m
        memory: 1Gi
      requests:
        cpu: 1m
        memory: 1Mi
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  hostNetwork: true
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
  volumes:
  - emptyDir: {}
    name: v
  - hostPath:
      path: /x
      type: ""
    name: h
  - downwardAPI:
      defaultMode: 420
    name: d
status: {}
)");
  Pod again = pod;
  ASSERT_TRUE(ApplyDefaults(again).ok());
  EXPECT_EQ(ToJson(again), ToJson(pod));
}

TEST(Defaults, PullPolicyFollowsTheTag) {
  const struct {
    const char* image;
    const char* want;
  } kCases[] = {{"x", "Always"},
                {"x:latest", "Always"},
                {"x:1", "IfNotPresent"},
                {"x@sha256:0123", "IfNotPresent"},
                {"x:latest@sha256:0123", "Always"},
                {"host:5000/x", "Always"},
                {"host:5000/x:2", "IfNotPresent"},
                {"x:", "IfNotPresent"},
                {"", "IfNotPresent"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.image);
    EXPECT_EQ(DefaultPullPolicy(c.image), c.want);
  }
}

TEST(Defaults, FixUpsOfTheInternalType) {
  const Pod pod =
      Defaulted("serviceAccount: sa, terminationGracePeriodSeconds: -5, " + std::string(kGoodSpec),
                "name: a, annotations: {pod.beta.kubernetes.io/init-containers: x, k: v}");
  EXPECT_EQ(pod.spec().service_account_name(), "sa");
  EXPECT_EQ(pod.spec().termination_grace_period_seconds(), 1);
  EXPECT_EQ(pod.metadata().annotations_size(), 1);
}

TEST(Defaults, PodLevelRequestsComeFromContainersOrLimits) {
  const Pod pod = Defaulted(
      "resources: {limits: {cpu: 2, memory: 1Gi}}, containers: [{name: a, image: x, resources: "
      "{requests: {cpu: 500m}}}]");
  EXPECT_EQ(pod.spec().resources().requests().at("cpu").string(), "500m");
  EXPECT_EQ(pod.spec().resources().requests().at("memory").string(), "1Gi");
}

const struct {
  const char* name;
  std::string spec, want;
} kSpecRules[] = {
    {"a good pod", kGoodSpec, ""},
    {"no containers", "containers: []", "spec.containers: Required value"},
    {"two containers of one name", "containers: [{name: a, image: x}, {name: a, image: x}]",
     "spec.containers[1].name: Duplicate value: \"a\""},
    {"an init container of the same name",
     "containers: [{name: a, image: x}], initContainers: [{name: a, image: x}]",
     "spec.initContainers[0].name: Duplicate value: \"a\""},
    {"no image", "containers: [{name: a}]", "spec.containers[0].image: Required value"},
    {"an image with blanks", "containers: [{name: a, image: ' x'}]",
     "spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing "
     "whitespace"},
    {"a container name that is no DNS label", "containers: [{name: A_b, image: x}]",
     "spec.containers[0].name: Invalid value: \"A_b\""},
    {"a host port out of range",
     One("ports: [{containerPort: 1}, {containerPort: 2, hostPort: 70000}]"),
     "spec.containers[0].ports[1].hostPort: Invalid value: 70000: is not in 1..65535"},
    {"no container port", One("ports: [{hostPort: 1}]"),
     "spec.containers[0].ports[0].containerPort: Required value"},
    {"one host port twice",
     One("ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9}]"),
     "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//9\""},
    {"a port name that is too long", One("ports: [{containerPort: 1, name: abcdefghijklmnop}]"),
     "spec.containers[0].ports[0].name: Invalid value"},
    {"another protocol", One("ports: [{containerPort: 1, protocol: ICMP}]"),
     "spec.containers[0].ports[0].protocol: Unsupported value: \"ICMP\": supported values: "
     "\"TCP\", \"UDP\", "
     "\"SCTP\""},
    {"host network with another host port",
     "hostNetwork: true, " + One("ports: [{containerPort: 1, hostPort: 2}]"),
     "spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when "
     "`hostNetwork` is "
     "true"},
    {"an unknown restart policy", With("restartPolicy: Sometimes"),
     "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", "
     "\"OnFailure\", "
     "\"Never\""},
    {"a request above its limit", One("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
     "spec.containers[0].resources.requests[cpu]: Invalid value: \"2\": must be less than or "
     "equal to cpu "
     "limit of 1"},
    {"a negative amount", One("resources: {requests: {cpu: -1}}"),
     "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or "
     "equal to 0"},
    {"an unknown resource", One("resources: {requests: {disk: 1}}"),
     "spec.containers[0].resources.requests[disk]: Invalid value: \"disk\""},
    {"resources of Kubernetes' own domain, which may be overcommitted",
     One("resources: {requests: {kubernetes.io/batch-cpu: 500, "
         "deviceclass.resource.kubernetes.io/gpu.example.com: 1}}"),
     ""},
    {"a resource of the API's quotas", One("resources: {requests: {requests.x/y: 1}}"),
     "spec.containers[0].resources.requests[requests.x/y]: Invalid value: \"requests.x/y\""},
    {"a pull secret without a name, as a template without a value leaves it",
     With("imagePullSecrets: [{name: ''}, {}]"), ""},
    {"an extended resource without a limit", One("resources: {requests: {vendor.com/x: 1}}"),
     "spec.containers[0].resources.limits[vendor.com/x]: Required value"},
    {"huge pages alone", One("resources: {limits: {hugepages-2Mi: 4Mi}}"),
     "spec.containers[0].resources: Forbidden: HugePages require cpu or memory"},
    {"an env name with =", One("env: [{name: 'a=b', value: c}]"),
     "spec.containers[0].env[0].name: Invalid value: \"a=b\""},
    {"a value and its source",
     One("env: [{name: A, value: c, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}]"),
     "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when "
     "`value` is not empty"},
    {"a field that env may not name",
     One("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.hostname}}}]"),
     "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "
     "\"spec.hostname\""},
    {"a mount without a volume", One("volumeMounts: [{name: v, mountPath: /x}]"),
     "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
    {"one mount path twice",
     "volumes: [{name: v}], " +
         One("volumeMounts: [{name: v, mountPath: /x}, {name: v, mountPath: /x}]"),
     "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/x\": must be unique"},
    {"a sub path that leaves its volume",
     "volumes: [{name: v}], " + One("volumeMounts: [{name: v, mountPath: /x, subPath: a/../..}]"),
     "spec.containers[0].volumeMounts[0].subPath: Invalid value: \"a/../..\": must not contain "
     "'..'"},
    {"two volumes of one name", With("volumes: [{name: v}, {name: v}]"),
     "spec.volumes[1].name: Duplicate value: \"v\""},
    {"a volume with two sources", With("volumes: [{name: v, emptyDir: {}, hostPath: {path: /x}}]"),
     "spec.volumes[0].emptyDir: Forbidden: may not specify more than 1 volume type"},
    {"a host path with ..", With("volumes: [{name: v, hostPath: {path: /x/../y}}]"),
     "spec.volumes[0].hostPath.path: Invalid value: \"/x/../y\": must not contain '..'"},
    {"an unknown host path type", With("volumes: [{name: v, hostPath: {path: /x, type: Pipe}}]"),
     "spec.volumes[0].hostPath.type: Unsupported value: \"Pipe\""},
    {"a token without service account",
     With("volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"),
     "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified "
     "when "
     "serviceAccountName is not set"},
    {"a probe without handler", One("livenessProbe: {}"),
     "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
    {"a liveness probe that must succeed twice",
     One("livenessProbe: {exec: {command: [x]}, successThreshold: 2}"),
     "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"},
    {"a probe of an init container",
     With("initContainers: [{name: i, image: x, readinessProbe: {exec: {command: [x]}}}]"),
     "spec.initContainers[0].readinessProbe: Forbidden"},
    {"a probe of a sidecar",
     With("initContainers: [{name: i, image: x, restartPolicy: Always, readinessProbe: {exec: "
          "{command: [x]}}}]"),
     ""},
    {"a sleep longer than the grace period", One("lifecycle: {preStop: {sleep: {seconds: 31}}}"),
     "spec.containers[0].lifecycle.preStop.sleep.seconds: Invalid value: 31"},
    {"ephemeral containers", With("ephemeralContainers: [{name: e, image: x}]"),
     "spec.ephemeralContainers: Forbidden: cannot be set on create"},
    {"scheduling gates on a pod of a node", With("nodeName: node, schedulingGates: [{name: g}]"),
     "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
    {"no escalation but privileged",
     One("securityContext: {privileged: true, allowPrivilegeEscalation: false}"),
     "spec.containers[0].securityContext: Invalid value: \"\": cannot set "
     "`allowPrivilegeEscalation` to false "
     "and `privileged` to true"},
    {"a user id below zero", One("securityContext: {runAsUser: -1}"),
     "spec.containers[0].securityContext.runAsUser: Invalid value: -1"},
    {"a network sysctl with the host network",
     "hostNetwork: true, securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}]}, " +
         std::string(kGoodSpec),
     "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\""},
    {"user namespaces with the host network", With("hostUsers: false, hostNetwork: true"),
     "spec.hostNetwork: Forbidden"},
    {"DNS policy None without nameserver", With("dnsPolicy: None"),
     "spec.dnsConfig.nameservers: Required value"},
    {"a deadline of zero", With("activeDeadlineSeconds: 0"),
     "spec.activeDeadlineSeconds: Invalid value: 0"},
    {"a host name with dots", With("hostname: a.b"), "spec.hostname: Invalid value: \"a.b\""},
    {"a search with underscores, and one of the root alone",
     With("dnsConfig: {searches: [_tcp.my_zone.example, '.', example.org.]}"), ""},
    {"a search with capitals", With("dnsConfig: {searches: [Example]}"),
     "spec.dnsConfig.searches[0]: Invalid value: \"Example\""},
    {"a search with an underscore at the end", With("dnsConfig: {searches: [a_]}"),
     "spec.dnsConfig.searches[0]: Invalid value: \"a_\""},
    {"a device of a volume that is none",
     "volumes: [{name: v, emptyDir: {}}], " + One("volumeDevices: [{name: v, devicePath: /dev/x}]"),
     "spec.containers[0].volumeDevices[0].name: Invalid value: \"v\": can only be a volume of type "
     "persistentVolumeClaim or ephemeral"},
    {"a device of a claim",
     "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], " +
         One("volumeDevices: [{name: v, devicePath: /dev/x}]"),
     ""},
    {"a volume that is device and mount",
     "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], " +
         One("volumeDevices: [{name: v, devicePath: /dev/x}], volumeMounts: [{name: v, mountPath: "
             "/x}]"),
     "spec.containers[0].volumeDevices[0].name: Invalid value: \"v\": must not already exist in "
     "volumeMounts"},
    {"a skew of zero",
     With("topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: "
          "DoNotSchedule}]"),
     "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"},
    {"spread over nothing",
     With("topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]"),
     "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty"},
    {"spread as nobody knows it",
     With("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never}]"),
     "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"Never\""},
    {"spread that is given twice",
     With("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
          "DoNotSchedule}, {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"),
     "spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value"},
    {"least domains of a spread that is only wished for",
     With("topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: zone, "
          "whenUnsatisfiable: ScheduleAnyway}]"),
     "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if"},
    {"a toleration without key", With("tolerations: [{effect: NoSchedule}]"),
     "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is "
     "empty"},
    {"too many restart rules without policy",
     One("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]"),
     "spec.containers[0].restartPolicy: Required value"},
    {"a pod-level request below that of its containers",
     "resources: {requests: {cpu: 1}}, " + One("resources: {requests: {cpu: 2}}"),
     "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to "
     "aggregate container "
     "requests of 2"},
};

TEST(Validation, EveryRuleNamesItsField) {
  for (const auto& c : kSpecRules) {
    SCOPED_TRACE(c.name);
    Pod pod = Defaulted(c.spec, "name: web, namespace: default");
    const auto errors = ValidatePod(pod);
    if (c.want.empty()) {
      EXPECT_EQ(ToStatus(errors), OkStatus());
      continue;
    }
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors[0].ToString().substr(0, c.want.size()), c.want) << ToString(ToStatus(errors));
  }
}

TEST(Validation, Metadata) {
  const struct {
    const char* name;
    std::string metadata, want;
  } kCases[] = {
      {"a name with capitals", "name: Web, namespace: default",
       "metadata.name: Invalid value: \"Web\""},
      {"a name that is too long", "namespace: default, name: " + std::string(254, 'a'),
       "metadata.name: Invalid value"},
      {"a namespace with dots", "name: web, namespace: a.b",
       "metadata.namespace: Invalid value: \"a.b\""},
      {"a bad label key", "name: web, namespace: d, labels: {'-a': b}",
       "metadata.labels: Invalid value: \"-a\""},
      {"a bad label value", "name: web, namespace: d, labels: {a: 'b c'}",
       "metadata.labels[a]: Invalid value: \"b c\""},
      {"a bad annotation key", "name: web, namespace: d, annotations: {'a b': c}",
       "metadata.annotations: Invalid value: \"a b\""},
      {"annotation keys may have capitals", "name: web, namespace: d, annotations: {A.B/C: d}", ""},
      {"annotations of the most bytes, and what config-source adds",
       "name: web, namespace: d, annotations: {a: " + std::string(262143, 'x') +
           ", kubernetes.io/config.source: file, kubernetes.io/config.seen: now}",
       ""},
      {"annotations that are too much",
       "name: web, namespace: d, annotations: {a: " + std::string(262144, 'x') + "}",
       "metadata.annotations: Too long"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto errors = ValidatePod(Defaulted(kGoodSpec, c.metadata));
    EXPECT_EQ(errors.empty(), c.want.empty());
    if (!errors.empty()) {
      EXPECT_EQ(errors[0].ToString().substr(0, c.want.size()), c.want);
    }
  }
}

TEST(StaticPod, IdentityFromManifestAndNode) {
  const StaticPodOrigin file{"file", "Node-A", "/m/web.yaml"};
  Pod pod = PodOf(kGoodSpec);
  ASSERT_EQ(CompleteStaticPod(pod, file), OkStatus());
  EXPECT_EQ(pod.metadata().name(), "web-node-a");
  EXPECT_EQ(pod.metadata().namespace_(), "default");
  EXPECT_EQ(pod.spec().node_name(), "Node-A");
  EXPECT_EQ(pod.metadata().uid().size(), 32U);
  EXPECT_EQ(AnnotationOf(pod, kConfigHash), pod.metadata().uid());
  EXPECT_EQ(pod.status().phase(), "Pending");
  ASSERT_EQ(pod.spec().tolerations_size(), 1);
  EXPECT_EQ(pod.spec().tolerations(0).effect(), "NoExecute");

  const auto uid = [](const std::string& metadata, const StaticPodOrigin& origin) {
    Pod other = PodOf(kGoodSpec, metadata);
    EXPECT_EQ(CompleteStaticPod(other, origin), OkStatus());
    return other.metadata().uid();
  };
  const std::string first = pod.metadata().uid();
  EXPECT_EQ(uid("name: web", file), first);
  EXPECT_NE(uid("name: web, namespace: default", file), first);
  EXPECT_NE(uid("name: web, labels: {a: b}", file), first);
  EXPECT_NE(uid("name: web", {"file", "Node-A", "/m/other.yaml"}), first);
  EXPECT_NE(uid("name: web", {"file", "node-b", "/m/web.yaml"}), first);
  EXPECT_EQ(uid("name: web", {"http", "a", "http://x"}),
            uid("name: web", {"http", "b", "http://x"}));
  EXPECT_EQ(uid("name: web, uid: fixed-1", file), "fixed-1");
  EXPECT_EQ(first, "c896ac33effaed883831a3165bfeb6e1") << "pods would restart with this version";
}

TEST(StaticPod, TheTolerationStandsOnceAndOnlyOnFilePods) {
  Pod pod = PodOf("tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 5}], " +
                  std::string(kGoodSpec));
  ASSERT_EQ(CompleteStaticPod(pod, {"file", "n", "/x"}), OkStatus());
  ASSERT_EQ(pod.spec().tolerations_size(), 1);
  EXPECT_FALSE(pod.spec().tolerations(0).has_toleration_seconds());
  Pod http = PodOf(kGoodSpec);
  ASSERT_EQ(CompleteStaticPod(http, {"http", "n", "http://x"}), OkStatus());
  EXPECT_EQ(http.spec().tolerations_size(), 0);
}

TEST(StaticPod, RefusesWhatOnlyAnApiServerHas) {
  const std::string good = kGoodSpec;
  const struct {
    const char* name;
    std::string spec, want;
  } kCases[] = {
      {"a secret in envFrom",
       "containers: [{name: a, image: x, envFrom: [{secretRef: {name: s}}]}]",
       "static pods may not reference secrets"},
      {"a service account before a secret",
       "serviceAccountName: sa, containers: [{name: a, image: x, envFrom: [{secretRef: {name: "
       "s}}]}]",
       "static pods may not reference serviceaccounts"},
      {"a config map volume", good + ", volumes: [{name: v, configMap: {name: c}}]",
       "static pods may not reference configmaps"},
      {"a claim", good + ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]",
       "static pods may not reference persistentvolumeclaims"},
      {"a claim on devices", good + ", resourceClaims: [{name: gpu, resourceClaimName: g}]",
       "static pods may not reference resourceclaims"},
      {"a token without service account is invalid first",
       good + ", volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]",
       "invalid pod: [spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must "
       "not be specified "
       "when serviceAccountName is not set]"},
      {"volumes of this node",
       good + ", volumes: [{name: a, hostPath: {path: /x}}, {name: b, emptyDir: {}}, {name: c, "
              "downwardAPI: {}}]",
       ""},
      {"scheduling gates", good + ", schedulingGates: [{name: g}]",
       "invalid pod: [spec.nodeName: Forbidden: cannot be set until all schedulingGates have been "
       "cleared]"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Pod pod = PodOf(c.spec);
    EXPECT_EQ(Message(CompleteStaticPod(pod, {"file", "n", "/x"})), c.want);
  }
  Pod named = PodOf("containers: [{name: a, image: x, envFrom: [{secretRef: {name: s}}]}]");
  EXPECT_EQ(CompleteStaticPod(named, {"file", "n", "/x", "", true}), OkStatus())
      << "where there are such objects";
  Pod pulled = PodOf(good + ", imagePullSecrets: [{name: s}]");
  EXPECT_EQ(CompleteStaticPod(pulled, {"file", "n", "/x", "", true}), OkStatus());
  const struct {
    std::string volume, want;
  } kVolumes[] = {
      {"configMap: {name: c}", ""},
      {"secret: {secretName: s}", ""},
      {"projected: {sources: [{configMap: {name: c}}, {secret: {name: s}}]}", ""},
      {"azureFile: {secretName: s, shareName: x}", "static pods may not reference secrets"},
      {"persistentVolumeClaim: {claimName: c}", ""},
      {"ephemeral: {volumeClaimTemplate: {spec: {}}}",
       "static pods may not reference persistentvolumeclaims (via ephemeral volumes)"},
      {"csi: {driver: d.example.com}",
       "static pods may not reference csidrivers (via CSI volumes)"},
  };
  for (const auto& c : kVolumes) {
    Pod pod = PodOf(good + ", volumes: [{name: v, " + c.volume + "}]");
    EXPECT_EQ(Message(CompleteStaticPod(pod, {"file", "n", "/x", "", true})), c.want) << c.volume;
  }
  Pod nameless = PodOf(kGoodSpec, "generateName: x");
  EXPECT_EQ(Message(CompleteStaticPod(nameless, {"file", "n", "/x"})),
            "invalid pod: metadata.name: name is needed for the pod");
  Pod long_name = PodOf(kGoodSpec, "name: " + std::string(250, 'a'));
  EXPECT_EQ(Message(CompleteStaticPod(long_name, {"file", "node-12345", "/x"})).substr(0, 28),
            "invalid pod: [metadata.name:");
}

TEST(HexHash128, IsFnv1a) {
  EXPECT_EQ(HexHash128(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(HexHash128("a"), "d228cb696f1a8caf78912b704e4a8964");
}

TEST(Qos, ByRequestsAndLimits) {
  const struct {
    const char* name;
    std::string spec, want;
  } kCases[] = {
      {"limits only",
       "containers: [{name: a, image: x, resources: {limits: {cpu: 1, memory: 1Gi}}}]",
       "Guaranteed"},
      {"one container without a memory limit",
       "containers: [{name: a, image: x, resources: {limits: {cpu: 1, memory: 1Gi}}}, "
       "{name: b, image: x, resources: {limits: {cpu: 1}}}]",
       "Burstable"},
      {"nothing", kGoodSpec, "BestEffort"},
      {"zero amounts", "containers: [{name: a, image: x, resources: {requests: {cpu: 0}}}]",
       "BestEffort"},
      {"only ephemeral storage",
       "containers: [{name: a, image: x, resources: {requests: {ephemeral-storage: 1Gi}}}]",
       "BestEffort"},
      {"requests below limits",
       "containers: [{name: a, image: x, resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: "
       "1Gi}}}]",
       "Burstable"},
      {"an init container without limits",
       "initContainers: [{name: i, image: x}], "
       "containers: [{name: a, image: x, resources: {limits: {cpu: 1, memory: 1Gi}}}]",
       "Burstable"},
      {"pod-level values are the only ones that count",
       "resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}, " +
           std::string(kGoodSpec),
       "Guaranteed"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Name(*QosOf(Defaulted(c.spec))), c.want);
  }
  Pod known = Defaulted(kGoodSpec);
  known.mutable_status()->set_qos_class("Guaranteed");
  EXPECT_EQ(*QosOf(known), QosClass::kGuaranteed);
}

TEST(PodRequests, GreatestPhaseOfInitContainersAndSidecars) {
  const auto c = [](const char* name, const char* cpu, bool sidecar) {
    return fmt::format("{{name: {}, image: x, resources: {{requests: {{cpu: {}}}}}{}}}", name, cpu,
                       sidecar ? ", restartPolicy: Always" : "");
  };
  const struct {
    const char* name;
    std::string spec, want;
  } kCases[] = {
      {"a sidecar before an init container",
       "initContainers: [" + c("s", "1", true) + "," + c("i", "4", false) + "], containers: [" +
           c("a", "2", false) + "]",
       "5"},
      {"a sidecar after an init container",
       "initContainers: [" + c("i", "4", false) + "," + c("s", "1", true) + "], containers: [" +
           c("a", "2", false) + "]",
       "4"},
      {"containers and overhead",
       "overhead: {cpu: 250m}, containers: [" + c("a", "2", false) + "," + c("b", "500m", false) +
           "]",
       "2750m"},
      {"a pod-level request",
       "resources: {requests: {cpu: 7}}, containers: [" + c("a", "2", false) + "]", "7"},
  };
  for (const auto& t : kCases) {
    SCOPED_TRACE(t.name);
    const auto requests = PodRequests(PodOf(t.spec));
    ASSERT_TRUE(requests.ok());
    EXPECT_EQ(Of(*requests, kCpu).ToString(), t.want);
  }
  const auto limits =
      PodLimits(PodOf("overhead: {cpu: 1, memory: 1Mi}, containers: [{name: a, image: x, "
                      "resources: {limits: {cpu: 2}}}]"));
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(Of(*limits, kCpu).ToString(), "3");
  EXPECT_EQ(limits->count("memory"), 0U);
}

TEST(Names, Grammars) {
  EXPECT_EQ(CheckDnsLabel("a-1"), "");
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a_b"})
    EXPECT_NE(CheckDnsLabel(bad), "") << bad;
  EXPECT_EQ(CheckDnsSubdomain("a.b-c.d"), "");
  for (const char* bad : {"", ".a", "a..b", "a.", "a.B"})
    EXPECT_NE(CheckDnsSubdomain(bad), "") << bad;
  EXPECT_EQ(CheckQualifiedName("example.com/App_1.x"), "");
  for (const char* bad : {"", "/a", "a/", "a/b/c", "Ex.com/a", "a b"})
    EXPECT_NE(CheckQualifiedName(bad), "") << bad;
  for (const char* good : {"0f2c-AB", "a", "-"}) EXPECT_EQ(CheckUid(good), "") << good;
  for (const std::string& bad : {std::string(), std::string(".."), std::string("a/b"),
                                 std::string("a\0b", 3), std::string(65, 'a')})
    EXPECT_NE(CheckUid(bad), "") << bad;
  for (const char* bad : {"80", "a--b", "-a", "abcdefghijklmnop"})
    EXPECT_NE(CheckPortName(bad), "") << bad;
  EXPECT_EQ(CheckPortName("http-1"), "");
  EXPECT_TRUE(HasParentStep("a/../b"));
  EXPECT_FALSE(HasParentStep("a/..b"));
  EXPECT_TRUE(IsIp("::1"));
  EXPECT_FALSE(IsIp("1.2.3"));
}

}  // namespace
}  // namespace splitlet::kube
