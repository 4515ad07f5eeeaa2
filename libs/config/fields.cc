#include "libs/config/fields.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "libs/base/processes.h"

namespace splitlet::config {
namespace {

using enum FieldKind;
constexpr Zero kCounts = Zero::kCounts;
constexpr Zero kUnset = Zero::kUnset;
constexpr int64_t kMin = INT64_MIN;
constexpr int64_t kMax = INT64_MAX;
constexpr int64_t kInt32Max = INT32_MAX;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMillisecond;

constexpr std::string_view kOperator = "ctl";
/// "config-source|...|ctl"
constexpr size_t kUserNamesLength = [] {
  size_t length = kOperator.size();
  for (const ProcessRow& row : kProcesses) length += row.name.size() + 1;
  return length;
}();
constexpr auto kUserNames = [] {
  std::array<char, kUserNamesLength> names{};
  auto* end = names.begin();
  for (const ProcessRow& row : kProcesses) {
    end = std::ranges::copy(row.name, end).out;
    *end++ = '|';
  }
  std::ranges::copy(kOperator, end);
  return names;
}();
constexpr std::string_view kUsers(kUserNames.data(), kUserNames.size());
constexpr std::string_view kReserved = "cpu|memory|ephemeral-storage|pid";
constexpr std::string_view kSignals =
    "memory.available|nodefs.available|nodefs.inodesFree|imagefs.available|imagefs.inodesFree|"
    "containerfs.available|containerfs.inodesFree|allocatableMemory.available|pid.available";
constexpr std::string_view kTlsVersions = "VersionTLS10|VersionTLS11|VersionTLS12|VersionTLS13";

constexpr std::string_view kApi = "with `--kubeconfig`";
constexpr std::string_view kGo = "on: 404, because Go profiles do not exist here; off: 405";
constexpr std::string_view kSetUp = "with `splitlet.machineSetup`";
constexpr std::string_view kWithTree = "with `cgroupsPerQOS`";
constexpr std::string_view kReservedCgroups =
    "splitlet does not move system processes into a cgroup";
constexpr std::string_view kWithReserved =
    "with `enforceNodeAllocatable`; the cgroup must exist when pod-worker starts";
constexpr std::string_view kMemoryQos = "with `featureGates.MemoryQoS: true` and cgroup version 2";
/// A kubelet's default.
constexpr std::string_view kFlexVolumes =
    "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/|"
    "/usr/libexec/kubernetes/kubelet-plugins/volume/exec";
constexpr std::string_view kManagers =
    "the managers of CPUs, memory and topology are not built yet";

constexpr Field Works(Field field, std::string_view note) {
  field.note = note;
  return field;
}

constexpr Field NotYet(Field field, std::string_view why, std::string_view same = "") {
  field.effect = Effect::kNotYet;
  field.note = why;
  field.same = same;
  return field;
}

constexpr Field Never(Field field, std::string_view why, std::string_view same = "") {
  field.effect = Effect::kNever;
  field.note = why;
  field.same = same;
  return field;
}

/// Other values request more protection than a node has by default.
constexpr Field OrRefused(Field field, std::string_view allowed) {
  field.allowed = allowed;
  return field;
}

constexpr auto kFields = std::to_array<Field>({
    {"apiVersion", kString, kCounts, "kubelet.config.k8s.io/v1beta1"},
    {"kind", kString, kCounts, "KubeletConfiguration"},
    // Server, TLS, authentication and authorization.
    {"enableServer", kBool, kCounts},
    {"address", kString},
    {"port", kInt, kUnset, "", 1, 65535},
    {"readOnlyPort", kInt, kUnset, "", 0, 65535},
    Works({"healthzPort", kInt, kCounts, "", 0, 65535},
          "the port of node-api; each process also has one at `--http-address`"),
    {"healthzBindAddress", kString},
    {"tlsCertFile", kString},
    {"tlsPrivateKeyFile", kString},
    {"tlsCipherSuites", kStrings},
    NotYet({"tlsCurvePreferences", kInts}, "the TLS library chooses the curves"),
    {"tlsMinVersion", kString, kUnset, kTlsVersions},
    Works({"rotateCertificates", kBool}, kApi),
    Works({"serverTLSBootstrap", kBool}, kApi),
    {"authentication.x509.clientCAFile", kString},
    {"authentication.webhook.enabled", kBool, kCounts},
    {"authentication.webhook.cacheTTL", kDuration},
    {"authentication.anonymous.enabled", kBool, kCounts},
    {"authorization.mode", kString, kUnset, "AlwaysAllow|Webhook"},
    {"authorization.webhook.cacheAuthorizedTTL", kDuration},
    {"authorization.webhook.cacheUnauthorizedTTL", kDuration},
    {"enableDebuggingHandlers", kBool, kCounts},
    Never({"enableContentionProfiling", kBool}, "splitlet is not a Go program", "false"),
    Works({"enableProfilingHandler", kBool, kCounts}, kGo),
    Works({"enableDebugFlagsHandler", kBool, kCounts}, "`PUT /debug/flags/v`; off: 405"),
    {"enableSystemLogHandler", kBool, kCounts},
    {"enableSystemLogQuery", kBool, kCounts},
    Works({"streamingConnectionIdleTimeout", kDuration},
          "accepted without effect, as in a kubelet: the runtime's streaming server has its own "
          "limit"),
    // Pod sources, API traffic, node object.
    Works({"staticPodPath", kString}, "a relative path counts from the folder of this file"),
    {"staticPodURL", kString},
    {"staticPodURLHeader", kHeaders},
    {"fileCheckFrequency", kDuration, kUnset, "", 0, kMax},
    {"httpCheckFrequency", kDuration, kUnset, "", 0, kMax},
    {"syncFrequency", kDuration, kUnset, "", 0, kMax},
    Works({"contentType", kString}, kApi),
    Works({"kubeAPIQPS", kInt, kCounts, "", 0, kInt32Max}, kApi),
    Works({"kubeAPIBurst", kInt, kUnset, "", 0, kInt32Max}, kApi),
    Works({"eventRecordQPS", kInt, kCounts, "", 0, kInt32Max}, kApi),
    Works({"eventBurst", kInt, kUnset, "", 0, kInt32Max}, kApi),
    Works({"registerNode", kBool, kCounts}, kApi),
    Works({"registerWithTaints", kObjects}, kApi),
    {"registerWithTaints[].key", kString, kCounts},
    {"registerWithTaints[].value", kString},
    {"registerWithTaints[].effect", kString, kCounts, "NoSchedule|PreferNoSchedule|NoExecute"},
    Works({"providerID", kString}, kApi),
    Works({"podCIDR", kString}, "the Node's own podCIDR wins, once it has one"),
    Works({"nodeStatusUpdateFrequency", kDuration, kUnset, "", 0, kMax}, kApi),
    Works({"nodeStatusReportFrequency", kDuration, kUnset, "", 0, kMax}, kApi),
    Works({"nodeLeaseDurationSeconds", kInt, kUnset, "", 1, kInt32Max}, kApi),
    Works({"nodeStatusMaxImages", kInt, kCounts, "", -1, kInt32Max}, kApi),
    {"clusterDomain", kString},
    {"clusterDNS", kStrings},
    Works({"resolvConf", kString, kCounts}, "a relative path counts from the folder of this file"),
    Works({"configMapAndSecretChangeDetectionStrategy", kString, kUnset, "Get|Cache|Watch"}, kApi),
    Works({"enableControllerAttachDetach", kBool, kCounts}, kApi),
    {"allowedUnsafeSysctls", kStrings},
    Works({"hairpinMode", kString, kUnset, "promiscuous-bridge|hairpin-veth|none"},
          "only checked, as in a kubelet"),
    Works({"makeIPTablesUtilChains", kBool, kCounts}, kSetUp),
    Works({"iptablesMasqueradeBit", kInt, kCounts, "", 0, 31}, "only checked, as in a kubelet"),
    Works({"iptablesDropBit", kInt, kCounts, "", 0, 31}, "only checked, as in a kubelet"),
    Works({"runOnce", kBool}, "only `false`; Kubernetes 1.35 removed run-once"),
    // Runtime, images, logs.
    Works({"containerRuntimeEndpoint", kString}, "`--runtime-endpoint` wins"),
    NotYet({"imageServiceEndpoint", kString}, "images come from `containerRuntimeEndpoint`"),
    {"runtimeRequestTimeout", kDuration, kUnset, "", 0, kMax},
    {"registryPullQPS", kInt, kCounts, "", 0, kInt32Max},
    {"registryBurst", kInt, kUnset, "", 0, kInt32Max},
    {"serializeImagePulls", kBool, kCounts},
    {"maxParallelImagePulls", kInt, kCounts, "", 1, kInt32Max},
    {"imagePullCredentialsVerificationPolicy", kString, kUnset,
     "NeverVerify|NeverVerifyPreloadedImages|NeverVerifyAllowlistedImages|AlwaysVerify"},
    {"preloadedImagesVerificationAllowlist", kStrings},
    {"imageMinimumGCAge", kDuration, kUnset, "", 0, kMax},
    {"imageMaximumGCAge", kDuration, kUnset, "", 0, kMax},
    {"imageGCHighThresholdPercent", kInt, kCounts, "", 0, 100},
    {"imageGCLowThresholdPercent", kInt, kCounts, "", 0, 100},
    Works({"podLogsDir", kString}, "`--log-dir` wins"),
    Works({"containerLogMaxSize", kQuantity}, "0 or negative: logs are not rotated"),
    {"containerLogMaxFiles", kInt, kCounts, "", 2, kInt32Max},
    {"containerLogMaxWorkers", kInt, kCounts, "", 1, kInt32Max},
    Works({"containerLogMonitorInterval", kDuration, kCounts, "", 3 * kSecond, kMax},
          "a container that would fill its log file earlier is checked earlier"),
    {"crashLoopBackOff.maxContainerRestartPeriod", kDuration, kCounts, "", kSecond, 300 * kSecond},
    {"seccompDefault", kBool, kCounts},
    {"userNamespaces.idsPerPod", kInt, kCounts, "", 65536, 4294967295},
    NotYet({"volumePluginDir", kString}, "FlexVolume is not built", kFlexVolumes),
    Works({"volumeStatsAggPeriod", kDuration}, "negative: volumes are not measured"),
    // cgroups, resources, managers.
    Works({"cgroupRoot", kString}, kWithTree),
    Works({"cgroupsPerQOS", kBool, kCounts},
          "unset: `true`, as in a kubelet, with `--kubeconfig` unless `splitlet.machineSetup` is "
          "`false`; otherwise the runtime places pods"),
    Works({"cgroupDriver", kString, kUnset, "cgroupfs|systemd"},
          "with `cgroupsPerQOS`, for a runtime that does not report its driver (containerd before "
          "2.0)"),
    Never({"kubeletCgroups", kString}, "the supervisor places each process in a cgroup"),
    NotYet({"systemCgroups", kString}, kReservedCgroups),
    {"systemReserved", kQuantityMap, kUnset, kReserved},
    {"kubeReserved", kQuantityMap, kUnset, kReserved},
    Works({"systemReservedCgroup", kString}, kWithReserved),
    Works({"kubeReservedCgroup", kString}, kWithReserved),
    Works({"enforceNodeAllocatable", kStrings, kUnset,
           "none|pods|system-reserved|system-reserved-compressible|kube-reserved|kube-reserved-"
           "compressible"},
          "values other than `pods` and `none` need `cgroupsPerQOS`"),
    Works({"reservedSystemCPUs", kString},
          "reduces allocatable; `kubeReserved.cpu` is then ignored"),
    Works({"qosReserved", kPercentMap, kUnset, "memory"},
          "only empty, because the feature gate QOSReserved is off"),
    OrRefused(NotYet({"cpuManagerPolicy", kString, kUnset, "none|static"}, kManagers, "none"),
              "none"),
    NotYet({"cpuManagerPolicyOptions", kStringMap}, kManagers),
    NotYet({"cpuManagerReconcilePeriod", kDuration, kUnset, "", 0, kMax}, kManagers, "10s"),
    OrRefused(NotYet({"memoryManagerPolicy", kString, kUnset, "None|Static"}, kManagers, "None"),
              "None"),
    NotYet({"reservedMemory", kObjects}, kManagers),
    {"reservedMemory[].numaNode", kInt, kCounts, "", 0, kInt32Max},
    {"reservedMemory[].limits", kQuantityMap},
    OrRefused(NotYet({"topologyManagerPolicy", kString, kUnset,
                      "none|best-effort|restricted|single-numa-node"},
                     kManagers, "none"),
              "none"),
    NotYet({"topologyManagerScope", kString, kUnset, "container|pod"}, kManagers, "container"),
    NotYet({"topologyManagerPolicyOptions", kStringMap}, kManagers),
    {"cpuCFSQuota", kBool, kCounts},
    {"cpuCFSQuotaPeriod", kDuration, kCounts, "", kMillisecond, kSecond},
    {"maxPods", kInt, kUnset, "", 0, kInt32Max},
    {"podsPerCore", kInt, kUnset, "", 0, kInt32Max},
    Works({"podPidsLimit", kInt, kCounts}, "with `cgroupsPerQOS`; refused without"),
    Works({"singleProcessOOMKill", kBool, kCounts}, "`false` needs cgroup version 2"),
    Works({"memoryThrottlingFactor", kFloat, kCounts}, kMemoryQos),
    Works({"memoryReservationPolicy", kString, kUnset, "None|TieredReservation"},
          "TieredReservation with `featureGates.MemoryQoS: true`; refused without"),
    Works({"failSwapOn", kBool, kCounts}, "unset: `true` with `--kubeconfig`, `false` without"),
    Works({"memorySwap.swapBehavior", kString, kUnset, "NoSwap|LimitedSwap"},
          "`LimitedSwap` needs cgroup version 2"),
    Works({"failCgroupV1", kBool, kCounts}, "unset: `false`; in a kubelet `true`"),
    Never({"oomScoreAdj", kInt, kCounts, "", -1000, 1000},
          "set by the supervisor: `OOMScoreAdjust=` of the units", "-999"),
    Never({"maxOpenFiles", kInt, kUnset, "", 0, kMax},
          "set by the supervisor: `LimitNOFILE=` of the units", "1000000"),
    Works({"protectKernelDefaults", kBool},
          "`true`: pod-worker does not start if a kernel setting differs; `false`: pod-worker sets "
          "them, with `splitlet.machineSetup`"),
    Works({"localStorageCapacityIsolation", kBool, kCounts},
          "enforces limits of pods and emptyDir volumes; allocatable includes ephemeral storage in "
          "both cases"),
    // Eviction, shutdown, diagnostics.
    Works({"evictionHard", kThresholds, kUnset, kSignals},
          "affects node conditions, admission, eviction and allocatable; containerfs has the "
          "thresholds of nodefs; allocatableMemory applies if pods are limited to allocatable"),
    Works({"evictionSoft", kThresholds, kUnset, kSignals}, "like `evictionHard`"),
    {"evictionSoftGracePeriod", kDurationMap, kUnset, kSignals, 0, kMax},
    {"evictionMinimumReclaim", kThresholds, kCounts, kSignals},
    {"evictionMaxPodGracePeriod", kInt, kUnset, "", INT32_MIN, kInt32Max},
    {"evictionPressureTransitionPeriod", kDuration, kUnset, "", 0, kMax},
    {"mergeDefaultEvictionSettings", kBool, kCounts},
    Works({"kernelMemcgNotification", kBool},
          "only with cgroup version 1; otherwise memory is checked every 10 s"),
    Works({"shutdownGracePeriod", kDuration, kUnset, "", kSecond, kMax},
          "needs logind on the system's D-Bus; without logind gc logs an error and tries again"),
    {"shutdownGracePeriodCriticalPods", kDuration, kUnset, "", kSecond, kMax},
    {"shutdownGracePeriodByPodPriority", kObjects},
    {"shutdownGracePeriodByPodPriority[].priority", kInt, kCounts, "", INT32_MIN, kInt32Max},
    {"shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds", kInt, kCounts, "", 0,
     kInt32Max},
    Works({"featureGates", kBoolMap}, "see [Feature gates](#feature-gates)"),
    Never({"showHiddenMetricsForVersion", kString, kUnset, "1.35"},
          "no metric of 1.36 is hidden here"),
    Works({"logging.format", kString, kUnset, "text|json"}, "`--log-format` wins"),
    Never({"logging.flushFrequency", kDurationOrNanos, kUnset, "", 1, kMax},
          "log lines are written immediately", "5s|5000000000"),
    Works({"logging.verbosity", kInt, kUnset, "", 0, kInt32Max},
          "4 and above: debug; `--log-level` wins"),
    Never({"logging.vmodule", kObjects}, "a log level applies to a whole process"),
    {"logging.vmodule[].filePattern", kString, kCounts},
    {"logging.vmodule[].verbosity", kInt, kCounts, "", 0, kInt32Max},
    Never({"logging.options", kFree}, "there is only one log stream"),
    {"tracing.endpoint", kString},
    {"tracing.samplingRatePerMillion", kInt, kCounts, "", 0, 1'000'000},
    // Settings of splitlet itself.
    {"splitlet.containerGCMinAge", kDuration, kCounts, "", 0, kMax},
    {"splitlet.containerGCMaxPerPod", kInt, kCounts, "", 0, kInt32Max},
    {"splitlet.containerGCMaxTotal", kInt, kCounts, "", -1, kInt32Max},
    {"splitlet.killUnmanagedPods", kBool},
    Works({"splitlet.allocatableIgnoresEviction", kBool},
          "`true`: allocatable is not reduced by `evictionHard`; a kubelet's "
          "`--experimental-allocatable-ignore-eviction`"),
    Works({"splitlet.evictionHardIsMerged", kBool},
          "set by splitlet-kubelet when it has applied `mergeDefaultEvictionSettings`, which is "
          "valid only in the main file"),
    Works({"splitlet.evictStaticPods", kBool},
          "`true`: evicts static pods too, which a kubelet never does; for a node with static pods "
          "only"),
    Works({"splitlet.sandboxImage", kString},
          "this image is never removed; needed only if the runtime neither reports nor pins its "
          "sandbox image"),
    Works({"splitlet.objectsPath", kString},
          "a folder of ConfigMap, Secret, Service and RuntimeClass manifests, for variables of "
          "static pods"),
    Works({"splitlet.offlineStart", kBool}, kApi),
    Works({"splitlet.machineSetup", kBool, kCounts},
          "sets sysctls and iptables chains; unset: `true` on a node with an API server"),
    {"splitlet.maxBlockingThreads", kInt, kCounts, "", 4, 4096},
    Works({"splitlet.lockFailPoints", kBool}, "also applies to `SPLITLET_FAILPOINTS`"),
    {"splitlet.users", kUserMap, kCounts, kUsers, 0, UINT32_MAX - 1LL},
});

}  // namespace

std::span<const Field> Fields() { return kFields; }

const Field* FindField(std::string_view path) {
  const auto* found = std::ranges::find(kFields, path, &Field::path);
  return found == kFields.end() ? nullptr : found;
}

bool IsObjectPath(std::string_view path) {
  const std::string prefix = std::string(path) + ".";
  return std::ranges::any_of(kFields,
                             [&prefix](const Field& f) { return f.path.starts_with(prefix); });
}

}  // namespace splitlet::config
