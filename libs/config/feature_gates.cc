#include "libs/config/feature_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libs/base/status.h"
#include "libs/config/reader.h"

namespace splitlet::config {
namespace {

using enum GateStage;
using enum GateDefault;
using enum GateHere;

constexpr std::string_view kAllAlpha = "AllAlpha", kAllBeta = "AllBeta";

constexpr auto kGates = std::to_array<FeatureGate>({
    {"APIResponseCompression", kBeta, kOn, kElsewhere},
    {"APIServerIdentity", kBeta, kOn, kElsewhere},
    {"APIServerTracing", kGa, kLockedOn, kElsewhere},
    {"APIServingWithRoutine", kAlpha, kOff, kElsewhere},
    {"AggregatedDiscoveryRemoveBetaType", kDeprecated, kLockedOn, kElsewhere},
    {"AllAlpha", kAlpha, kOff, kSwitch},
    {"AllBeta", kBeta, kOff, kSwitch},
    {"AllowDNSOnlyNodeCSR", kDeprecated, kOff, kAbsent},
    {"AllowInsecureKubeletCertificateSigningRequests", kDeprecated, kOff, kElsewhere},
    {"AllowOverwriteTerminationGracePeriodSeconds", kDeprecated, kLockedOff, kElsewhere},
    {"AllowParsingUserUIDFromCertAuth", kBeta, kOn, kSwitch},
    {"AllowServiceExternalIPs", kGa, kOn, kElsewhere},
    {"AllowUnsafeMalformedObjectDeletion", kAlpha, kOff, kElsewhere},
    {"AnonymousAuthConfigurableEndpoints", kGa, kLockedOn, kElsewhere},
    {"AnyVolumeDataSource", kGa, kLockedOn, kElsewhere},
    {"AtomicFIFO", kBeta, kOn, kElsewhere},
    {"AuthorizeNodeWithSelectors", kGa, kLockedOn, kElsewhere},
    {"AuthorizePodWebsocketUpgradeCreatePermission", kBeta, kOn, kElsewhere},
    {"AuthorizeWithSelectors", kGa, kLockedOn, kElsewhere},
    {"BtreeWatchCache", kGa, kLockedOn, kElsewhere},
    {"CBORServingAndStorage", kAlpha, kOff, kElsewhere},
    {"CPUManagerPolicyAlphaOptions", kAlpha, kOff, kAbsent},
    {"CPUManagerPolicyBetaOptions", kBeta, kOn, kAbsent},
    {"CPUManagerPolicyOptions", kGa, kLockedOn, kAbsent},
    {"CRDObservedGenerationTracking", kBeta, kOn, kElsewhere},
    {"CRDValidationRatcheting", kGa, kLockedOn, kElsewhere},
    {"CRIListStreaming", kAlpha, kOff, kAbsent},
    {"CSIServiceAccountTokenSecrets", kGa, kLockedOn, kAbsent},
    {"CSIVolumeHealth", kAlpha, kOff, kAbsent},
    {"ChangeContainerStatusOnKubeletRestart", kDeprecated, kOff, kAbsent},
    {"ClearingNominatedNodeNameAfterBinding", kBeta, kOn, kElsewhere},
    {"ClientsAllowCARotation", kBeta, kOn, kBuiltIn},
    {"ClientsAllowCBOR", kAlpha, kOff, kAbsent},
    {"ClientsAllowTLSCacheGC", kBeta, kOn, kElsewhere},
    {"ClientsPreferCBOR", kAlpha, kOff, kAbsent},
    {"CloudControllerManagerWatchBasedRoutesReconciliation", kAlpha, kOff, kElsewhere},
    {"CloudControllerManagerWebhook", kAlpha, kOff, kElsewhere},
    {"ClusterTrustBundle", kBeta, kOff, kElsewhere},
    {"ClusterTrustBundleProjection", kBeta, kOff, kAbsent},
    {"ComponentFlagz", kBeta, kOn, kSwitch},
    {"ComponentStatusz", kBeta, kOn, kSwitch},
    {"ConcurrentWatchObjectDecode", kBeta, kOff, kElsewhere},
    {"ConsistentListFromCache", kGa, kLockedOn, kElsewhere},
    {"ConstrainedImpersonation", kBeta, kOn, kElsewhere},
    {"ContainerCheckpoint", kBeta, kOn, kSwitch},
    {"ContainerRestartRules", kBeta, kOn, kSwitch},
    {"ContainerStopSignals", kAlpha, kOff, kSwitch},
    {"ContextualLogging", kBeta, kOn, kElsewhere},
    {"ControllerManagerReleaseLeaderElectionLockOnExit", kAlpha, kOff, kElsewhere},
    {"CoordinatedLeaderElection", kBeta, kOff, kElsewhere},
    {"CrossNamespaceVolumeDataSource", kAlpha, kOff, kElsewhere},
    {"CustomCPUCFSQuotaPeriod", kGa, kOn, kSwitch},
    {"CustomResourceFieldSelectors", kGa, kLockedOn, kElsewhere},
    {"DRAAdminAccess", kGa, kLockedOn, kElsewhere},
    {"DRAConsumableCapacity", kBeta, kOn, kElsewhere},
    {"DRADeviceBindingConditions", kBeta, kOn, kElsewhere},
    {"DRADeviceTaintRules", kBeta, kOff, kElsewhere},
    {"DRADeviceTaints", kBeta, kOn, kElsewhere},
    {"DRAExtendedResource", kBeta, kOn, kAbsent},
    {"DRAListTypeAttributes", kAlpha, kOff, kElsewhere},
    {"DRANodeAllocatableResources", kAlpha, kOff, kAbsent},
    {"DRAPartitionableDevices", kBeta, kOn, kElsewhere},
    {"DRAPrioritizedList", kGa, kOn, kElsewhere},
    {"DRAResourceClaimDeviceStatus", kBeta, kOn, kElsewhere},
    {"DRAResourceClaimGranularStatusAuthorization", kBeta, kOn, kElsewhere},
    {"DRAResourcePoolStatus", kAlpha, kOff, kElsewhere},
    {"DRASchedulerFilterTimeout", kBeta, kOn, kElsewhere},
    {"DRAWorkloadResourceClaims", kAlpha, kOff, kAbsent},
    {"DeclarativeValidation", kGa, kLockedOn, kElsewhere},
    {"DeclarativeValidationBeta", kBeta, kOn, kElsewhere},
    {"DeclarativeValidationTakeover", kDeprecated, kOff, kElsewhere},
    {"DeploymentReplicaSetTerminatingReplicas", kBeta, kOn, kElsewhere},
    {"DetectCacheInconsistency", kBeta, kOn, kElsewhere},
    {"DisableAllocatorDualWrite", kGa, kLockedOn, kElsewhere},
    {"DisableCPUQuotaWithExclusiveCPUs", kDeprecated, kOn, kAbsent},
    {"DisableNodeKubeProxyVersion", kDeprecated, kLockedOn, kBuiltIn},
    {"DynamicResourceAllocation", kGa, kLockedOn, kAbsent},
    {"EnvFiles", kBeta, kOn, kSwitch},
    {"EventedPLEG", kAlpha, kOff, kSwitch},
    {"ExecProbeTimeout", kGa, kLockedOn, kBuiltIn},
    {"ExtendWebSocketsToKubelet", kBeta, kOn, kAbsent},
    {"ExternalServiceAccountTokenSigner", kGa, kLockedOn, kElsewhere},
    {"GangScheduling", kAlpha, kOff, kElsewhere},
    {"GenericWorkload", kAlpha, kOff, kElsewhere},
    {"GitRepoVolumeDriver", kDeprecated, kLockedOff, kAbsent},
    {"GracefulNodeShutdown", kBeta, kOn, kSwitch},
    {"GracefulNodeShutdownBasedOnPodPriority", kBeta, kOn, kSwitch},
    {"HPAConfigurableTolerance", kBeta, kOn, kElsewhere},
    {"HPAScaleToZero", kAlpha, kOff, kElsewhere},
    {"HostnameOverride", kBeta, kOn, kSwitch},
    {"ImageMaximumGCAge", kGa, kLockedOn, kBuiltIn},
    {"ImageVolume", kGa, kLockedOn, kBuiltIn},
    {"ImageVolumeWithDigest", kAlpha, kOff, kAbsent},
    {"InOrderInformers", kGa, kLockedOn, kElsewhere},
    {"InOrderInformersBatchProcess", kBeta, kOn, kElsewhere},
    {"InPlacePodLevelResourcesVerticalScaling", kBeta, kOn, kAbsent},
    {"InPlacePodVerticalScaling", kGa, kLockedOn, kAbsent},
    {"InPlacePodVerticalScalingExclusiveCPUs", kAlpha, kOff, kAbsent},
    {"InPlacePodVerticalScalingExclusiveMemory", kAlpha, kOff, kAbsent},
    {"InPlacePodVerticalScalingInitContainers", kBeta, kOn, kAbsent},
    {"InformerResourceVersion", kGa, kOn, kElsewhere},
    {"JobBackoffLimitPerIndex", kGa, kLockedOn, kElsewhere},
    {"JobManagedBy", kGa, kLockedOn, kElsewhere},
    {"JobPodReplacementPolicy", kGa, kLockedOn, kElsewhere},
    {"JobSuccessPolicy", kGa, kLockedOn, kElsewhere},
    {"KMSv1", kDeprecated, kOff, kElsewhere},
    {"KubeletCgroupDriverFromCRI", kGa, kLockedOn, kBuiltIn},
    {"KubeletCrashLoopBackOffMax", kBeta, kOn, kSwitch},
    {"KubeletEnsureSecretPulledImages", kBeta, kOn, kSwitch},
    {"KubeletFineGrainedAuthz", kGa, kLockedOn, kBuiltIn},
    {"KubeletInUserNamespace", kAlpha, kOff, kAbsent},
    {"KubeletPSI", kGa, kLockedOn, kBuiltIn},
    {"KubeletPodResourcesDynamicResources", kGa, kLockedOn, kAbsent},
    {"KubeletPodResourcesGet", kGa, kLockedOn, kAbsent},
    {"KubeletPodResourcesListUseActivePods", kDeprecated, kOn, kAbsent},
    {"KubeletRegistrationGetOnExistsOnly", kDeprecated, kOff, kAbsent},
    {"KubeletSeparateDiskGC", kBeta, kOn, kBuiltIn},
    {"KubeletServiceAccountTokenForCredentialProviders", kBeta, kOn, kSwitch},
    {"KubeletTracing", kGa, kLockedOn, kBuiltIn},
    {"ListFromCacheSnapshot", kBeta, kOn, kElsewhere},
    {"LocalStorageCapacityIsolationFSQuotaMonitoring", kBeta, kOff, kAbsent},
    {"LogarithmicScaleDown", kGa, kLockedOn, kElsewhere},
    {"LoggingAlphaOptions", kAlpha, kOff, kAbsent},
    {"LoggingBetaOptions", kBeta, kOn, kSwitch},
    {"ManifestBasedAdmissionControlConfig", kAlpha, kOff, kElsewhere},
    {"MatchLabelKeysInPodAffinity", kGa, kLockedOn, kElsewhere},
    {"MatchLabelKeysInPodTopologySpread", kBeta, kOn, kElsewhere},
    {"MatchLabelKeysInPodTopologySpreadSelectorMerge", kBeta, kOn, kElsewhere},
    {"MaxUnavailableStatefulSet", kBeta, kOff, kElsewhere},
    {"MemoryQoS", kAlpha, kOff, kSwitch},
    {"MultiCIDRServiceAllocator", kGa, kLockedOn, kElsewhere},
    {"MutableCSINodeAllocatableCount", kGa, kLockedOn, kAbsent},
    {"MutablePVNodeAffinity", kAlpha, kOff, kElsewhere},
    {"MutablePodResourcesForSuspendedJobs", kBeta, kOn, kElsewhere},
    {"MutableSchedulingDirectivesForSuspendedJobs", kBeta, kOn, kElsewhere},
    {"MutatingAdmissionPolicy", kGa, kOn, kElsewhere},
    {"NFTablesProxyMode", kGa, kLockedOn, kElsewhere},
    {"NativeHistograms", kAlpha, kOff, kAbsent},
    {"NodeDeclaredFeatures", kBeta, kOn, kSwitch},
    {"NodeInclusionPolicyInPodTopologySpread", kGa, kLockedOn, kElsewhere},
    {"NodeLogQuery", kGa, kLockedOn, kBuiltIn},
    {"NodeSwap", kGa, kLockedOn, kBuiltIn},
    {"NominatedNodeNameForExpectation", kBeta, kOn, kElsewhere},
    {"OpenAPIEnums", kBeta, kOn, kElsewhere},
    {"OpportunisticBatching", kBeta, kOn, kElsewhere},
    {"OrderedNamespaceDeletion", kGa, kLockedOn, kElsewhere},
    {"PLEGOnDemandRelist", kBeta, kOn, kElsewhere},
    {"PersistentVolumeClaimUnusedSinceTime", kAlpha, kOff, kElsewhere},
    {"PodAndContainerStatsFromCRI", kAlpha, kOff, kAbsent},
    {"PodCertificateRequest", kBeta, kOff, kAbsent},
    {"PodDeletionCost", kBeta, kOn, kElsewhere},
    {"PodLevelResourceManagers", kAlpha, kOff, kAbsent},
    {"PodLevelResources", kBeta, kOn, kSwitch},
    {"PodLifecycleSleepAction", kGa, kLockedOn, kBuiltIn},
    {"PodLifecycleSleepActionAllowZero", kGa, kLockedOn, kBuiltIn},
    {"PodLogsQuerySplitStreams", kAlpha, kOff, kAbsent},
    {"PodObservedGenerationTracking", kGa, kLockedOn, kBuiltIn},
    {"PodReadyToStartContainersCondition", kBeta, kOn, kSwitch},
    {"PodSchedulingReadiness", kGa, kLockedOn, kBuiltIn},
    {"PodTopologyLabelsAdmission", kBeta, kOn, kElsewhere},
    {"PodsAPI", kAlpha, kOff, kAbsent},
    {"PortForwardWebsockets", kBeta, kOn, kElsewhere},
    {"PreferSameTrafficDistribution", kGa, kLockedOn, kElsewhere},
    {"PreventStaticPodAPIReferences", kBeta, kOn, kBuiltIn},
    {"ProcMountType", kGa, kLockedOn, kBuiltIn},
    {"QOSReserved", kAlpha, kOff, kAbsent},
    {"RecoverVolumeExpansionFailure", kGa, kLockedOn, kAbsent},
    {"RecursiveReadOnlyMounts", kGa, kLockedOn, kBuiltIn},
    {"ReduceDefaultCrashLoopBackOffDecay", kAlpha, kOff, kAbsent},
    {"RelaxedDNSSearchValidation", kGa, kLockedOn, kBuiltIn},
    {"RelaxedEnvironmentVariableValidation", kGa, kLockedOn, kBuiltIn},
    {"RelaxedServiceNameValidation", kBeta, kOn, kElsewhere},
    {"ReloadKubeletClientCAFile", kBeta, kOn, kSwitch},
    {"ReloadKubeletServerCertificateFile", kBeta, kOn, kSwitch},
    {"RemoteRequestHeaderUID", kBeta, kOn, kElsewhere},
    {"ResilientWatchCacheInitialization", kGa, kLockedOn, kElsewhere},
    {"ResourceHealthStatus", kBeta, kOn, kAbsent},
    {"ResourceHealthStatusMessage", kBeta, kOn, kAbsent},
    {"RestartAllContainersOnContainerExits", kBeta, kOn, kSwitch},
    {"RetryGenerateName", kGa, kLockedOn, kElsewhere},
    {"RotateKubeletServerCertificate", kBeta, kOn, kSwitch},
    {"RuntimeClassInImageCriApi", kAlpha, kOff, kAbsent},
    {"SELinuxChangePolicy", kGa, kLockedOn, kAbsent},
    {"SELinuxMount", kBeta, kOff, kAbsent},
    {"SELinuxMountReadWriteOncePod", kGa, kLockedOn, kAbsent},
    {"SchedulerAsyncAPICalls", kBeta, kOff, kElsewhere},
    {"SchedulerAsyncPreemption", kBeta, kOn, kElsewhere},
    {"SchedulerPopFromBackoffQ", kBeta, kOn, kElsewhere},
    {"SchedulerQueueingHints", kGa, kLockedOn, kElsewhere},
    {"SeparateCacheWatchRPC", kDeprecated, kLockedOff, kElsewhere},
    {"SeparateTaintEvictionController", kGa, kLockedOn, kElsewhere},
    {"ServiceAccountNodeAudienceRestriction", kBeta, kOn, kElsewhere},
    {"ServiceAccountTokenJTI", kGa, kLockedOn, kElsewhere},
    {"ServiceAccountTokenNodeBinding", kGa, kLockedOn, kElsewhere},
    {"ServiceAccountTokenNodeBindingValidation", kGa, kLockedOn, kElsewhere},
    {"ServiceAccountTokenPodNodeInfo", kGa, kLockedOn, kElsewhere},
    {"ServiceCIDRStatusFieldWiping", kDeprecated, kOn, kElsewhere},
    {"ShardedListAndWatch", kAlpha, kOff, kElsewhere},
    {"SidecarContainers", kGa, kLockedOn, kBuiltIn},
    {"SizeBasedListCostEstimate", kBeta, kOn, kElsewhere},
    {"StaleControllerConsistencyDaemonSet", kBeta, kOn, kElsewhere},
    {"StaleControllerConsistencyJob", kBeta, kOn, kElsewhere},
    {"StaleControllerConsistencyReplicaSet", kBeta, kOn, kElsewhere},
    {"StaleControllerConsistencyStatefulSet", kBeta, kOn, kElsewhere},
    {"StatefulSetSemanticRevisionComparison", kBeta, kOn, kElsewhere},
    {"StorageCapacityScoring", kAlpha, kOff, kElsewhere},
    {"StorageNamespaceIndex", kDeprecated, kOn, kElsewhere},
    {"StorageVersionAPI", kAlpha, kOff, kElsewhere},
    {"StorageVersionHash", kBeta, kOn, kElsewhere},
    {"StorageVersionMigrator", kBeta, kOff, kElsewhere},
    {"StreamingCollectionEncodingToJSON", kGa, kLockedOn, kElsewhere},
    {"StreamingCollectionEncodingToProtobuf", kGa, kLockedOn, kElsewhere},
    {"StrictIPCIDRValidation", kBeta, kOn, kElsewhere},
    {"StructuredAuthenticationConfiguration", kGa, kLockedOn, kElsewhere},
    {"StructuredAuthenticationConfigurationEgressSelector", kBeta, kOn, kElsewhere},
    {"StructuredAuthenticationConfigurationJWKSMetrics", kBeta, kOn, kElsewhere},
    {"SupplementalGroupsPolicy", kGa, kLockedOn, kBuiltIn},
    {"SystemdWatchdog", kGa, kLockedOn, kBuiltIn},
    {"TaintTolerationComparisonOperators", kAlpha, kOff, kAbsent},
    {"TokenRequestServiceAccountUIDValidation", kBeta, kOn, kElsewhere},
    {"TopologyAwareWorkloadScheduling", kAlpha, kOff, kElsewhere},
    {"TopologyManagerPolicyAlphaOptions", kAlpha, kOff, kAbsent},
    {"TopologyManagerPolicyBetaOptions", kBeta, kOn, kAbsent},
    {"TopologyManagerPolicyOptions", kGa, kLockedOn, kAbsent},
    {"TranslateStreamCloseWebsocketRequests", kBeta, kOn, kElsewhere},
    {"UnauthenticatedHTTP2DOSMitigation", kBeta, kOn, kElsewhere},
    {"UnknownVersionInteroperabilityProxy", kBeta, kOn, kElsewhere},
    {"UnlockWhileProcessingFIFO", kBeta, kOn, kElsewhere},
    {"UserNamespacesHostNetworkSupport", kAlpha, kOff, kAbsent},
    {"UserNamespacesSupport", kGa, kLockedOn, kBuiltIn},
    {"VolumeAttributesClass", kGa, kLockedOn, kElsewhere},
    {"VolumeLimitScaling", kAlpha, kOff, kElsewhere},
    {"WatchCacheInitializationPostStartHook", kBeta, kOn, kElsewhere},
    {"WatchList", kBeta, kOn, kElsewhere},
    {"WatchListClient", kBeta, kOn, kAbsent},
    {"WinDSR", kGa, kLockedOn, kElsewhere},
    {"WinOverlay", kGa, kLockedOn, kElsewhere},
    {"WindowsCPUAndMemoryAffinity", kAlpha, kOff, kElsewhere},
    {"WindowsGracefulNodeShutdown", kBeta, kOn, kElsewhere},
    {"WindowsHostNetwork", kDeprecated, kOff, kElsewhere},
    {"WorkloadAwarePreemption", kAlpha, kOff, kElsewhere},
    {"WorkloadWithJob", kAlpha, kOff, kElsewhere},
});
static_assert(std::ranges::is_sorted(kGates, {}, &FeatureGate::name));

const FeatureGate* FindGate(std::string_view name) {
  const auto* at = std::ranges::lower_bound(kGates, name, {}, &FeatureGate::name);
  return at != kGates.end() && at->name == name ? at : nullptr;
}

std::optional<bool> ValueOf(const std::map<std::string, bool>& set, std::string_view name) {
  const auto at = set.find(std::string(name));
  return at == set.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

std::span<const FeatureGate> KnownGates() { return kGates; }

std::string_view StageName(GateStage stage) {
  switch (stage) {
    case kAlpha: return "ALPHA";
    case kBeta: return "BETA";
    case kGa: return "";
    case kDeprecated: return "DEPRECATED";
  }
  UNREACHABLE();
}

std::optional<bool> FeatureGates::Said(std::string_view name) const {
  if (const auto own = ValueOf(set_, name)) return own;
  const FeatureGate* gate = FindGate(name);
  CHECK(gate != nullptr, "a gate that no kubelet knows");
  if (gate->Locked() || name == kAllAlpha || name == kAllBeta) return std::nullopt;
  if (gate->stage == kAlpha) return ValueOf(set_, kAllAlpha);
  if (gate->stage == kBeta) return ValueOf(set_, kAllBeta);
  return std::nullopt;
}

bool FeatureGates::Enabled(std::string_view name) const {
  if (const auto said = Said(name)) return *said;
  return FindGate(name)->OnByDefault();
}

bool FeatureGates::DoneHere(const FeatureGate& gate) const {
  return gate.here != kAbsent && Enabled(gate.name);
}

std::vector<std::string> FeatureGates::TurnedOnInVain() const {
  std::vector<std::string> names;
  for (const FeatureGate& gate : kGates)
    if (gate.here == kAbsent && Said(gate.name) == true) names.emplace_back(gate.name);
  return names;
}

std::map<std::string, bool> GatesSet(const ConfigReader& read) {
  std::map<std::string, bool> set;
  const YAML::Node gates = read.Node("featureGates");
  if (!gates.IsDefined() || !gates.IsMap()) return set;
  for (const auto& gate : gates)
    if (const auto value = ReadBool(gate.second)) set[gate.first.Scalar()] = *value;
  return set;
}

std::vector<std::string> GateProblems(const std::map<std::string, bool>& set) {
  std::vector<std::string> problems;
  for (const auto& [name, value] : set) {
    const FeatureGate* gate = FindGate(name);
    if (gate == nullptr) {
      problems.push_back(fmt::format("unrecognized feature gate: {}", name));
    } else if (gate->Locked() && value != gate->OnByDefault()) {
      problems.push_back(fmt::format("cannot set feature gate {} to {}, feature is locked to {}",
                                     name, value, gate->OnByDefault()));
    }
  }
  if (!problems.empty()) return problems;
  const FeatureGates gates(set);
  for (const FeatureGate& gate : kGates)
    if (gate.here == kBuiltIn && gates.Said(gate.name) == false)
      problems.push_back(
          fmt::format("{}: this node cannot be without the feature, false is refused", gate.name));
  return problems;
}

}  // namespace splitlet::config
