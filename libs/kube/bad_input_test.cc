#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/defaults.h"
#include "libs/kube/test_spec.h"
#include "libs/kube/validation.h"

/// Pods that an API server refuses, in addition to rules_test.cc: selectors, annotations, values
/// far out of range, and manifests of extreme size.

namespace splitlet::kube {
namespace {

StatusOr<Pod> Decoded(const std::string& spec, const std::string& metadata) {
  Pod pod;
  const auto warnings = DecodeInto(
      fmt::format("metadata: {{name: web, namespace: default{}}}\nspec: {{{}}}\n", metadata, spec),
      "test", Strictness::kStrict, pod);
  if (!warnings.ok()) return warnings.status();
  const Status filled = ApplyDefaults(pod);
  if (!filled.ok()) return filled;
  return pod;
}

/// The first error; empty for a valid pod.
std::string FirstError(const std::string& spec, const std::string& metadata = "") {
  const auto pod = Decoded(spec, metadata);
  if (!pod.ok()) return Message(pod.status());
  const auto errors = ValidatePod(*pod);
  return errors.empty() ? "" : errors[0].ToString();
}

struct Case {
  const char* name;
  std::string spec, want;  // want: the beginning of the first error
};
void Check(const Case& c) {
  SCOPED_TRACE(c.name);
  const std::string got = FirstError(c.spec);
  EXPECT_EQ(got.substr(0, std::max(c.want.size(), size_t{c.want.empty() ? got.size() : 0})),
            c.want);
}

std::string NodeRule(const std::string& rule) {
  return With(
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: [" +
      rule + "]}}}");
}
const std::string kTerm =
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
std::string PodRule(const std::string& kind, const std::string& term) {
  return With("affinity: {" + kind + ": {requiredDuringSchedulingIgnoredDuringExecution: [" + term +
              "]}}");
}
const std::string kNear =
    "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";

const Case kAffinity[] = {
    {"a good one",
     NodeRule("{matchExpressions: [{key: zone, operator: In, values: [a]}, {key: cores, operator: "
              "Gt, values: ['4']}, {key: gpu, operator: Exists}], matchFields: [{key: "
              "metadata.name, operator: In, values: [node-1]}]}"),
     ""},
    {"no term", NodeRule(""), kTerm + ": Required value: must have at least one"},
    {"In without values", NodeRule("{matchExpressions: [{key: zone, operator: In}]}"),
     kTerm + "[0].matchExpressions[0].values: Required value: must be specified when"},
    {"Exists with a value",
     NodeRule("{matchExpressions: [{key: z, operator: Exists, values: [a]}]}"),
     kTerm + "[0].matchExpressions[0].values: Forbidden: may not be specified when"},
    {"Gt of two", NodeRule("{matchExpressions: [{key: z, operator: Gt, values: ['1', '2']}]}"),
     kTerm + "[0].matchExpressions[0].values: Required value: must be specified single value"},
    {"an operator that is none", NodeRule("{matchExpressions: [{key: z, operator: Like}]}"),
     kTerm + "[0].matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector"},
    {"a key that is none", NodeRule("{matchExpressions: [{key: 'a b', operator: Exists}]}"),
     kTerm + "[0].matchExpressions[0].key: Invalid value: \"a b\""},
    {"a value that is no label",
     NodeRule("{matchExpressions: [{key: z, operator: In, values: ['a b']}]}"),
     kTerm + "[0].matchExpressions[0].values[0]: Invalid value: \"a b\""},
    {"a field of nodes that cannot be asked for",
     NodeRule("{matchFields: [{key: spec.podCIDR, operator: In, values: [a]}]}"),
     kTerm + "[0].matchFields[0].key: Invalid value: \"spec.podCIDR\": not a valid field selector"},
    {"a field with two values",
     NodeRule("{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}"),
     kTerm + "[0].matchFields[0].values: Required value: must be only one value"},
    {"a field that has to be there",
     NodeRule("{matchFields: [{key: metadata.name, operator: Exists}]}"),
     kTerm + "[0].matchFields[0].operator: Invalid value: \"Exists\""},
    {"a weight of 101",
     With("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
          "101, preference: {}}]}}"),
     "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
     "Invalid "
     "value: 101: must be in the range 1-100"},
    {"any value of a node that is only preferred",
     With("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
          "1, preference: {matchExpressions: [{key: z, operator: In, values: ['a b']}]}}]}}"),
     ""},
    {"a key of a node that is only preferred",
     With("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
          "1, preference: {matchExpressions: [{key: 'a b', operator: Exists}]}}]}}"),
     "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
     "matchExpressions[0].key: Invalid value: \"a b\""},
    {"pods to be near to",
     PodRule("podAffinity",
             "{topologyKey: zone, labelSelector: {matchLabels: {app: db}}, "
             "namespaces: [default], matchLabelKeys: [tier]}"),
     ""},
    {"near in what", PodRule("podAffinity", "{}"), kNear + ".topologyKey: Required value"},
    {"a namespace that is none", PodRule("podAffinity", "{topologyKey: z, namespaces: [A_b]}"),
     kNear + ".namespace: Invalid value: \"A_b\""},
    {"pods by Gt",
     PodRule("podAffinity",
             "{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Gt, values: "
             "['1']}]}}"),
     kNear + ".labelSelector.matchExpressions[0].operator: Invalid value: \"Gt\""},
    {"label keys without a selector",
     PodRule("podAffinity", "{topologyKey: z, matchLabelKeys: [a]}"),
     kNear + ".matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"},
    {"a label key as an API server merges it into the selector",
     PodRule("podAffinity",
             "{topologyKey: z, matchLabelKeys: [a], labelSelector: {matchLabels: {b: c}, "
             "matchExpressions: [{key: a, operator: In, values: [x]}]}}"),
     ""},
    {"a label key that the user's selector has too",
     PodRule("podAffinity",
             "{topologyKey: z, matchLabelKeys: [a], labelSelector: {matchLabels: {a: b}, "
             "matchExpressions: [{key: a, operator: In, values: [x]}]}}"),
     kNear + ".matchLabelKeys[0]: Invalid value: \"a\": exists in both"},
    {"a label key to differ in, which the selector may have",
     PodRule("podAffinity",
             "{topologyKey: z, mismatchLabelKeys: [a], labelSelector: {matchLabels: {a: b}, "
             "matchExpressions: [{key: a, operator: NotIn, values: [x]}]}}"),
     ""},
    {"a label key to share and to differ in",
     PodRule("podAffinity",
             "{topologyKey: z, matchLabelKeys: [a], mismatchLabelKeys: [a], labelSelector: {}}"),
     kNear + ".matchLabelKeys[0]: Invalid value: \"a\": exists in both matchLabelKeys and "
             "mismatchLabelKeys"},
    {"pods to be away from, by a label that is none",
     PodRule("podAntiAffinity", "{topologyKey: z, labelSelector: {matchLabels: {a: 'b c'}}}"),
     "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
     "labelSelector."
     "matchLabels[a]: Invalid value: \"b c\""},
    {"a weight of zero",
     With("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
          "0, podAffinityTerm: {topologyKey: z}}]}}"),
     "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
     "Invalid value: 0"},
};
TEST(BadInput, Affinity) {
  for (const auto& c : kAffinity) Check(c);
}

std::string Spread(const std::string& more) {
  return With(
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
      "DoNotSchedule, " +
      more + "}]");
}
const Case kScheduling[] = {
    {"spread with a selector",
     Spread("labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [c], nodeTaintsPolicy: Honor"),
     ""},
    {"a policy that is none", Spread("nodeAffinityPolicy: Maybe"),
     "spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: \"Maybe\""},
    {"a selector of spread", Spread("labelSelector: {matchExpressions: [{key: a, operator: In}]}"),
     "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values: Required value"},
    {"spread as an API server stores it",
     Spread("labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, "
            "values: [d]}]}, matchLabelKeys: [c]"),
     ""},
    {"spread by a key that the user's selector has too",
     Spread("labelSelector: {matchLabels: {c: b}, matchExpressions: [{key: c, operator: In, "
            "values: [d]}]}, matchLabelKeys: [c]"),
     "spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: \"c\""},
    {"a selector of spread without keys", Spread("matchLabelKeys: [c]"),
     "spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden"},
    {"a toleration of a feature that is off",
     With("tolerations: [{key: load, operator: Gt, value: '5'}]"),
     "spec.tolerations[0].operator: Unsupported value: \"Gt\": supported values: \"Equal\", "
     "\"Exists\""},
    {"the other one", With("tolerations: [{key: load, operator: Lt, value: '5'}]"),
     "spec.tolerations[0].operator: Unsupported value: \"Lt\""},
    {"seconds without NoExecute",
     With("tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: -5}]"),
     "spec.tolerations[0].effect: Invalid value: \"NoSchedule\""},
    {"huge pages of the pod below those of its containers",
     "resources: {limits: {hugepages-2Mi: 4Mi, cpu: 2}, requests: {hugepages-2Mi: 4Mi}}, "
     "containers: [{name: a, image: x, resources: {limits: {hugepages-2Mi: 4Mi, cpu: 1}}}, {name: "
     "b, image: x, resources: {limits: {hugepages-2Mi: 2Mi, cpu: 1}}}]",
     "spec.resources.requests[hugepages-2Mi]: Invalid value: \"4Mi\": must be greater than or "
     "equal "
     "to aggregate container requests of 6Mi"},
};
TEST(BadInput, Scheduling) {
  for (const auto& c : kScheduling) Check(c);
  const auto pod = Decoded(kScheduling[std::size(kScheduling) - 1].spec, "");
  ASSERT_TRUE(pod.ok());
  const std::string all = ToString(ToStatus(ValidatePod(*pod)));
  EXPECT_NE(
      all.find("spec.resources.limits[hugepages-2Mi]: Invalid value: \"4Mi\": must be greater "
               "than or equal to aggregate container limits of 6Mi"),
      std::string::npos)
      << all;
}

std::string FieldRef(const std::string& path) {
  return One("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"" + path + "\"}}}]");
}
std::string File(const std::string& item) {
  return With("volumes: [{name: v, downwardAPI: {items: [{path: f, " + item + "}]}}]");
}
const Case kReferences[] = {
    {"a label", FieldRef("metadata.labels['example.com/app']"), ""},
    {"an annotation, whose name may have capitals", FieldRef("metadata.annotations['A.b/C']"), ""},
    {"a label that none can be", FieldRef("metadata.labels['a b']"),
     "spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: \"a b\""},
    {"a label without a name", FieldRef("metadata.labels['']"),
     "spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: \"\""},
    {"an annotation that none can be", FieldRef("metadata.annotations['a/b/c']"),
     "spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: \"a/b/c\""},
    {"all labels", FieldRef("metadata.labels"),
     "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "
     "\"metadata.labels\""},
    {"all labels in a file", File("fieldRef: {fieldPath: metadata.labels}"), ""},
    {"an address in a file", File("fieldRef: {fieldPath: status.podIP}"),
     "spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath: Unsupported value: "
     "\"status.podIP\""},
    {"a resource in a file", File("resourceFieldRef: {containerName: a, resource: limits.disk}"),
     "spec.volumes[0].downwardAPI.items[0].resourceFieldRef.resource: Unsupported value: "
     "\"limits.disk\""},
    {"a key of a file without a volume",
     One("env: [{name: A, valueFrom: {fileKeyRef: {key: K, volumeName: v, path: f}}}]"),
     "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: \"v\""},
    {"a key of a file above its volume",
     "volumes: [{name: v, emptyDir: {}}], " +
         One("env: [{name: A, valueFrom: {fileKeyRef: {key: K, volumeName: v, path: ../f}}}]"),
     "spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: \"../f\""},
    {"a key that is no name",
     "volumes: [{name: v, emptyDir: {}}], " +
         One("env: [{name: A, valueFrom: {fileKeyRef: {key: 'a=b', volumeName: v, path: f}}}]"),
     "spec.containers[0].env[0].valueFrom.fileKeyRef.key: Invalid value: \"a=b\""},
};
TEST(BadInput, References) {
  for (const auto& c : kReferences) Check(c);
}

const Case kContainers[] = {
    {"a port above all", One("ports: [{containerPort: 70000}]"),
     "spec.containers[0].ports[0].containerPort: Invalid value: 70000"},
    {"a negative port", One("ports: [{containerPort: -1}]"),
     "spec.containers[0].ports[0].containerPort: Invalid value: -1"},
    {"a hook with two handlers",
     One("lifecycle: {postStart: {exec: {command: [x]}, httpGet: {port: 80}}}"),
     "spec.containers[0].lifecycle.postStart: Forbidden: may not specify more than 1 handler type"},
    {"a hook without one", One("lifecycle: {preStop: {}}"),
     "spec.containers[0].lifecycle.preStop: Required value: must specify a handler type"},
    {"a hook that sleeps backwards", One("lifecycle: {preStop: {sleep: {seconds: -1}}}"),
     "spec.containers[0].lifecycle.preStop.sleep.seconds: Invalid value: -1"},
    {"a probe with a negative delay",
     One("readinessProbe: {exec: {command: [x]}, initialDelaySeconds: -1}"),
     "spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1"},
    {"a probe that waits less than nothing",
     One("readinessProbe: {exec: {command: [x]}, timeoutSeconds: -2147483648}"),
     "spec.containers[0].readinessProbe.timeoutSeconds: Invalid value: -2147483648"},
    {"a probe of port 0", One("livenessProbe: {tcpSocket: {port: 0}}"),
     "spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 0"},
    {"a probe whose grace is 0",
     One("livenessProbe: {exec: {command: [x]}, terminationGracePeriodSeconds: 0}"),
     "spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0"},
    {"a readiness probe with a grace",
     One("readinessProbe: {exec: {command: [x]}, terminationGracePeriodSeconds: 1}"),
     "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 1"},
    {"a rule without exit codes",
     One("restartPolicy: Never, restartPolicyRules: [{action: Restart}]"),
     "spec.containers[0].restartPolicyRules[0].exitCodes: Required value"},
    {"a rule of no codes",
     One("restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: "
         "In}}]"),
     ""},
    {"a rule by another operator",
     One("restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: Gt, "
         "values: [1]}}]"),
     "spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: \"Gt\""},
    {"a rule with an unknown action",
     One("restartPolicy: Never, restartPolicyRules: [{action: Reboot, exitCodes: {operator: In, "
         "values: [1]}}]"),
     "spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"Reboot\""},
    {"a group above all", One("securityContext: {runAsGroup: 2147483648}"),
     "spec.containers[0].securityContext.runAsGroup: Invalid value: 2147483648"},
    {"processes of the host unmasked", One("securityContext: {procMount: Unmasked}"),
     "spec.containers[0].securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must "
     "be false to use `Unmasked`"},
    {"those of a user namespace",
     "hostUsers: false, " + One("securityContext: {procMount: Unmasked}"), ""},
    {"a profile without a file", One("securityContext: {seccompProfile: {type: Localhost}}"),
     "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value"},
    {"a profile outside of its folder",
     One("securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../x}}"),
     "spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: \"../x\""},
    {"read-only all the way down, but writable",
     "volumes: [{name: v, emptyDir: {}}], " +
         One("volumeMounts: [{name: v, mountPath: /v, recursiveReadOnly: Enabled}]"),
     "spec.containers[0].volumeMounts[0].recursiveReadOnly: Forbidden: may only be specified when "
     "readOnly is true"},
};
TEST(BadInput, Containers) {
  for (const auto& c : kContainers) Check(c);
}

const Case kPods[] = {
    {"groups in another way", With("securityContext: {supplementalGroupsPolicy: Some}"),
     "spec.securityContext.supplementalGroupsPolicy: Unsupported value: \"Some\""},
    {"labels in another way", With("securityContext: {seLinuxChangePolicy: Never}"),
     "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"Never\": supported values: "
     "\"MountOption\", \"Recursive\""},
    {"a group below zero", With("securityContext: {supplementalGroups: [1, -1]}"),
     "spec.securityContext.supplementalGroups[1]: Invalid value: -1"},
    {"user namespaces with the host's processes", With("hostUsers: false, hostPID: true"),
     "spec.hostPID: Forbidden: may not be set when `hostUsers` is false"},
    {"a deadline above all", With("activeDeadlineSeconds: 2147483648"),
     "spec.activeDeadlineSeconds: Invalid value: 2147483648"},
    {"a deadline of less than nothing", With("activeDeadlineSeconds: -1"),
     "spec.activeDeadlineSeconds: Invalid value: -1"},
    {"another host name with one of the host", With("hostNetwork: true, hostnameOverride: a.b"),
     "spec.hostnameOverride: Forbidden: may not be set with `hostNetwork`"},
    {"another host name that is longer than hosts have",
     With("hostnameOverride: " + std::string(65, 'a')), "spec.hostnameOverride: Too long"},
};
TEST(BadInput, Pods) {
  for (const auto& c : kPods) Check(c);
}

TEST(BadInput, Annotations) {
  const std::string apparmor = "container.apparmor.security.beta.kubernetes.io/";
  const std::string seccomp = "container.seccomp.security.alpha.kubernetes.io/";
  const std::string profile = "securityContext: {appArmorProfile: {type: RuntimeDefault}}";
  const struct {
    const char* name;
    std::string annotation, spec, want;
  } kCases[] = {
      {"a cost", "controller.kubernetes.io/pod-deletion-cost: '-7'", One(""), ""},
      {"a cost that is none", "controller.kubernetes.io/pod-deletion-cost: '+7'", One(""),
       "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"+7\": "
       "must be a 32bit integer"},
      {"a cost above all", "controller.kubernetes.io/pod-deletion-cost: '2147483648'", One(""),
       "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value"},
      {"a profile", apparmor + "a: localhost/p", One(""), ""},
      {"of a container that is not there", apparmor + "b: unconfined", One(""),
       "metadata.annotations[" + apparmor + "b]: Invalid value: \"b\": container not found"},
      {"that is none", apparmor + "a: strict", One(""),
       "metadata.annotations[" + apparmor +
           "a]: Invalid value: \"strict\": invalid AppArmor profile name: \"strict\""},
      {"that the field contradicts", apparmor + "a: unconfined", One(profile),
       "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: type in annotation and "
       "field must match"},
      {"as the field says", apparmor + "a: runtime/default", One(profile), ""},
      {"a filter", seccomp + "a: docker/default", One(""), ""},
      {"a filter that is none", "seccomp.security.alpha.kubernetes.io/pod: strict", One(""),
       "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: Invalid value: \"strict\": "
       "must be a valid seccomp profile"},
      {"a filter outside of its folder", seccomp + "a: localhost/../x", One(""),
       "metadata.annotations[" + seccomp + "a]: Invalid value: \"../x\": must not contain '..'"},
      {"another file", seccomp + "a: localhost/tight.json",
       One("securityContext: {seccompProfile: {type: Localhost, localhostProfile: other.json}}"),
       "spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: profile in "
       "annotation and field must match"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const std::string got = FirstError(c.spec, ", annotations: {" + c.annotation + "}");
    EXPECT_EQ(c.want.empty() ? got : got.substr(0, c.want.size()), c.want);
  }
}

TEST(BadInput, ValuesThatNoFieldHoldsAreNamedByTheReader) {
  const struct {
    const char* name;
    std::string spec, field;
  } kCases[] = {
      {"a port of 64 bits", One("ports: [{containerPort: 99999999999}]"), "containerPort"},
      {"a grace of 65 bits", With("terminationGracePeriodSeconds: 9223372036854775808"),
       "terminationGracePeriodSeconds"},
      {"a number with a point", With("terminationGracePeriodSeconds: 1.5"),
       "terminationGracePeriodSeconds"},
      {"a word", With("hostUsers: maybe"), "hostUsers"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_NE(FirstError(c.spec).find(c.field), std::string::npos) << FirstError(c.spec);
  }
}

TEST(BadInput, SizesThatNobodyExpects) {
  std::string variables, rules;
  for (int i = 0; i < 10'000; ++i) variables += fmt::format("{{name: V{}, value: x}}, ", i);
  EXPECT_EQ(FirstError(One("env: [" + variables + "]")), "") << "no limit to variables";
  EXPECT_EQ(FirstError(One("env: [" + variables + "{name: '', value: x}]")),
            "spec.containers[0].env[10000].name: Required value");
  EXPECT_EQ(FirstError(One(""), ", annotations: {a: '" + std::string(1 << 20, 'x') + "'}"),
            "metadata.annotations: Too long: may not be more than 262144 bytes");
  EXPECT_EQ(FirstError(One(""), ", annotations: {a: '" + std::string(262'143, 'x') + "'}"), "");
  for (int i = 0; i < 21; ++i)
    rules += "{action: Restart, exitCodes: {operator: In, values: [1]}}, ";
  EXPECT_EQ(FirstError(One("restartPolicy: Never, restartPolicyRules: [" + rules + "]")),
            "spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items");
  EXPECT_EQ(FirstError(With("terminationGracePeriodSeconds: 9223372036854775807")), "")
      << "an API server has no limit";
}

}  // namespace
}  // namespace splitlet::kube
