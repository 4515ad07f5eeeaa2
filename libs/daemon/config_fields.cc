#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "libs/daemon/config_schema.h"

namespace splitlet::daemon {
namespace {

using enum FieldKind;
constexpr Zero kCounts = Zero::kCounts;
constexpr Zero kUnset = Zero::kUnset;
constexpr int64_t kMin = INT64_MIN;
constexpr int64_t kMax = INT64_MAX;
constexpr int64_t kInt32Max = INT32_MAX;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMillisecond;

constexpr std::string_view kProcesses =
    "config-source|sync-loop|pod-worker|pleg|status|gc|node-api|ctl";
constexpr std::string_view kReserved = "cpu|memory|ephemeral-storage|pid";
constexpr std::string_view kSignals =
    "memory.available|nodefs.available|nodefs.inodesFree|imagefs.available|imagefs.inodesFree|"
    "containerfs.available|containerfs.inodesFree|allocatableMemory.available|pid.available";
constexpr std::string_view kTlsVersions = "VersionTLS10|VersionTLS11|VersionTLS12|VersionTLS13";

constexpr auto kFields = std::to_array<Field>({
    {"apiVersion", kString, kCounts, "kubelet.config.k8s.io/v1beta1"},
    {"kind", kString, kCounts, "KubeletConfiguration"},
    // Server, TLS, authentication and authorization.
    {"enableServer", kBool, kCounts},
    {"address", kString},
    {"port", kInt, kUnset, "", 1, 65535},
    {"readOnlyPort", kInt, kUnset, "", 0, 65535},
    {"healthzPort", kInt, kCounts, "", 0, 65535},
    {"healthzBindAddress", kString},
    {"tlsCertFile", kString},
    {"tlsPrivateKeyFile", kString},
    {"tlsCipherSuites", kStrings},
    {"tlsCurvePreferences", kInts},
    {"tlsMinVersion", kString, kUnset, kTlsVersions},
    {"rotateCertificates", kBool},
    {"serverTLSBootstrap", kBool},
    {"authentication.x509.clientCAFile", kString},
    {"authentication.webhook.enabled", kBool, kCounts},
    {"authentication.webhook.cacheTTL", kDuration},
    {"authentication.anonymous.enabled", kBool, kCounts},
    {"authorization.mode", kString, kUnset, "AlwaysAllow|Webhook"},
    {"authorization.webhook.cacheAuthorizedTTL", kDuration},
    {"authorization.webhook.cacheUnauthorizedTTL", kDuration},
    {"enableDebuggingHandlers", kBool, kCounts},
    {"enableContentionProfiling", kBool},
    {"enableProfilingHandler", kBool, kCounts},
    {"enableDebugFlagsHandler", kBool, kCounts},
    {"enableSystemLogHandler", kBool, kCounts},
    {"enableSystemLogQuery", kBool, kCounts},
    {"streamingConnectionIdleTimeout", kDuration},
    // Pod sources, API traffic, node object.
    {"staticPodPath", kString},
    {"staticPodURL", kString},
    {"staticPodURLHeader", kHeaders},
    {"fileCheckFrequency", kDuration, kUnset, "", 0, kMax},
    {"httpCheckFrequency", kDuration, kUnset, "", 0, kMax},
    {"syncFrequency", kDuration, kUnset, "", 0, kMax},
    {"contentType", kString},
    {"kubeAPIQPS", kInt, kCounts, "", 0, kInt32Max},
    {"kubeAPIBurst", kInt, kUnset, "", 0, kInt32Max},
    {"eventRecordQPS", kInt, kCounts, "", 0, kInt32Max},
    {"eventBurst", kInt, kUnset, "", 0, kInt32Max},
    {"registerNode", kBool, kCounts},
    {"registerWithTaints", kObjects},
    {"registerWithTaints[].key", kString, kCounts},
    {"registerWithTaints[].value", kString},
    {"registerWithTaints[].effect", kString, kCounts, "NoSchedule|PreferNoSchedule|NoExecute"},
    {"providerID", kString},
    {"podCIDR", kString},
    {"nodeStatusUpdateFrequency", kDuration, kUnset, "", 0, kMax},
    {"nodeStatusReportFrequency", kDuration, kUnset, "", 0, kMax},
    {"nodeLeaseDurationSeconds", kInt, kUnset, "", 1, kInt32Max},
    {"nodeStatusMaxImages", kInt, kCounts, "", -1, kInt32Max},
    {"clusterDomain", kString},
    {"clusterDNS", kStrings},
    {"resolvConf", kString, kCounts},
    {"configMapAndSecretChangeDetectionStrategy", kString, kUnset, "Get|Cache|Watch"},
    {"enableControllerAttachDetach", kBool, kCounts},
    {"allowedUnsafeSysctls", kStrings},
    {"hairpinMode", kString, kUnset, "promiscuous-bridge|hairpin-veth|none"},
    {"makeIPTablesUtilChains", kBool, kCounts},
    {"iptablesMasqueradeBit", kInt, kCounts, "", 0, 31},
    {"iptablesDropBit", kInt, kCounts, "", 0, 31},
    {"runOnce", kBool},
    // Runtime, images, logs.
    {"containerRuntimeEndpoint", kString},
    {"imageServiceEndpoint", kString},
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
    {"podLogsDir", kString},
    {"containerLogMaxSize", kQuantity},
    {"containerLogMaxFiles", kInt, kCounts, "", 2, kInt32Max},
    {"containerLogMaxWorkers", kInt, kCounts, "", 1, kInt32Max},
    {"containerLogMonitorInterval", kDuration, kCounts, "", 3 * kSecond, kMax},
    {"crashLoopBackOff.maxContainerRestartPeriod", kDuration, kCounts, "", kSecond, 300 * kSecond},
    {"seccompDefault", kBool, kCounts},
    {"userNamespaces.idsPerPod", kInt, kCounts, "", 65536, 4294967295},
    {"volumePluginDir", kString},
    {"volumeStatsAggPeriod", kDuration},
    // cgroups, resources, managers.
    {"cgroupRoot", kString},
    {"cgroupsPerQOS", kBool, kCounts},
    {"cgroupDriver", kString, kUnset, "cgroupfs|systemd"},
    {"kubeletCgroups", kString},
    {"systemCgroups", kString},
    {"systemReserved", kQuantityMap, kUnset, kReserved},
    {"kubeReserved", kQuantityMap, kUnset, kReserved},
    {"systemReservedCgroup", kString},
    {"kubeReservedCgroup", kString},
    {"enforceNodeAllocatable", kStrings, kUnset,
     "none|pods|system-reserved|system-reserved-compressible|kube-reserved|kube-reserved-"
     "compressible"},
    {"reservedSystemCPUs", kString},
    {"qosReserved", kPercentMap, kUnset, "memory"},
    {"cpuManagerPolicy", kString, kUnset, "none|static"},
    {"cpuManagerPolicyOptions", kStringMap},
    {"cpuManagerReconcilePeriod", kDuration, kUnset, "", 0, kMax},
    {"memoryManagerPolicy", kString, kUnset, "None|Static"},
    {"reservedMemory", kObjects},
    {"reservedMemory[].numaNode", kInt, kCounts, "", 0, kInt32Max},
    {"reservedMemory[].limits", kQuantityMap},
    {"topologyManagerPolicy", kString, kUnset, "none|best-effort|restricted|single-numa-node"},
    {"topologyManagerScope", kString, kUnset, "container|pod"},
    {"topologyManagerPolicyOptions", kStringMap},
    {"cpuCFSQuota", kBool, kCounts},
    {"cpuCFSQuotaPeriod", kDuration, kCounts, "", kMillisecond, kSecond},
    {"maxPods", kInt, kUnset, "", 0, kInt32Max},
    {"podsPerCore", kInt, kUnset, "", 0, kInt32Max},
    {"podPidsLimit", kInt, kCounts},
    {"singleProcessOOMKill", kBool, kCounts},
    {"memoryThrottlingFactor", kFloat, kCounts},
    {"memoryReservationPolicy", kString, kUnset, "None|TieredReservation"},
    {"failSwapOn", kBool, kCounts},
    {"memorySwap.swapBehavior", kString, kUnset, "NoSwap|LimitedSwap"},
    {"failCgroupV1", kBool, kCounts},
    {"oomScoreAdj", kInt, kCounts, "", -1000, 1000},
    {"maxOpenFiles", kInt, kUnset, "", 0, kMax},
    {"protectKernelDefaults", kBool},
    {"localStorageCapacityIsolation", kBool, kCounts},
    // Eviction, shutdown, diagnostics.
    {"evictionHard", kThresholds, kUnset, kSignals},
    {"evictionSoft", kThresholds, kUnset, kSignals},
    {"evictionSoftGracePeriod", kDurationMap, kUnset, kSignals, 0, kMax},
    {"evictionMinimumReclaim", kThresholds, kCounts, kSignals},
    {"evictionMaxPodGracePeriod", kInt, kUnset, "", INT32_MIN, kInt32Max},
    {"evictionPressureTransitionPeriod", kDuration, kUnset, "", 0, kMax},
    {"mergeDefaultEvictionSettings", kBool, kCounts},
    {"kernelMemcgNotification", kBool},
    {"shutdownGracePeriod", kDuration, kUnset, "", kSecond, kMax},
    {"shutdownGracePeriodCriticalPods", kDuration, kUnset, "", kSecond, kMax},
    {"shutdownGracePeriodByPodPriority", kObjects},
    {"shutdownGracePeriodByPodPriority[].priority", kInt, kCounts, "", INT32_MIN, kInt32Max},
    {"shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds", kInt, kCounts, "", 0, kMax},
    {"featureGates", kBoolMap},
    {"showHiddenMetricsForVersion", kString, kUnset, "1.35"},
    {"logging.format", kString, kUnset, "text|json"},
    {"logging.flushFrequency", kDurationOrNanos, kUnset, "", 1, kMax},
    {"logging.verbosity", kInt, kUnset, "", 0, kInt32Max},
    {"logging.vmodule", kObjects},
    {"logging.vmodule[].filePattern", kString, kCounts},
    {"logging.vmodule[].verbosity", kInt, kCounts, "", 0, kInt32Max},
    {"logging.options", kFree},
    {"tracing.endpoint", kString},
    {"tracing.samplingRatePerMillion", kInt, kCounts, "", 0, 1'000'000},
    // Settings of our own.
    {"splitlet.containerGCMinAge", kDuration, kCounts, "", 0, kMax},
    {"splitlet.containerGCMaxPerPod", kInt, kCounts, "", 0, kInt32Max},
    {"splitlet.containerGCMaxTotal", kInt, kCounts, "", -1, kInt32Max},
    {"splitlet.killForeignPods", kBool},
    {"splitlet.offlineStart", kBool},
    {"splitlet.maxBlockingThreads", kInt, kCounts, "", 4, 4096},
    {"splitlet.lockFailPoints", kBool},
    {"splitlet.users", kUserMap, kCounts, kProcesses, 0, UINT32_MAX - 1LL},
});

}  // namespace

const Field* FindField(std::string_view path) {
  const auto* found = std::ranges::find(kFields, path, &Field::path);
  return found == kFields.end() ? nullptr : found;
}

bool IsObjectPath(std::string_view path) {
  const std::string prefix = std::string(path) + ".";
  return std::ranges::any_of(kFields,
                             [&prefix](const Field& f) { return f.path.starts_with(prefix); });
}

}  // namespace splitlet::daemon
