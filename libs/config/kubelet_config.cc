#include "libs/config/kubelet_config.h"

#include <fmt/format.h>
#include <pwd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "libs/base/one_line.h"
#include "libs/config/memory_qos.h"
#include "libs/config/reader.h"
#include "libs/config/rules.h"
#include "libs/config/scalars.h"
#include "libs/config/schema.h"
#include "libs/config/unmet.h"

namespace splitlet::config {
namespace {

/// Skips all of a document after its start.
class StartOfDocument final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
  const YAML::Mark& start() const { return start_; }

 private:
  YAML::Mark start_ = YAML::Mark::null_mark();
};

/// Refuses a file with no document or with several. LoadAll cannot count documents, because a
/// misplaced comma makes it return empty documents forever.
StatusOr<YAML::Node> Parse(const std::string& content) {
  try {
    std::istringstream stream(content);
    YAML::Parser parser(stream);
    StartOfDocument second;
    if (parser.HandleNextDocument(second) && parser.HandleNextDocument(second))
      return InvalidArgument(
          "something follows the document, at line {}; want one document and no more",
          second.start().line + 1);
    YAML::Node document = YAML::Load(content);
    if (!document.IsDefined() || document.IsNull()) return InvalidArgument("the file is empty");
    return document;
  } catch (const YAML::Exception& e) {
    if (e.mark.is_null()) return InvalidArgument("not YAML: {}", OneLine(e.msg));
    return InvalidArgument("not YAML: {} (line {}, column {})", OneLine(e.msg), e.mark.line + 1,
                           e.mark.column + 1);
  }
}

/// The problems joined into one line.
std::string Lines(const std::vector<ConfigProblem>& problems) {
  std::string line;
  for (const ConfigProblem& problem : problems) {
    if (!line.empty()) line += "; ";
    if (!problem.key.empty()) line += problem.key + ": ";
    line += problem.reason;
    if (problem.line > 0) line += fmt::format(" (line {})", problem.line);
  }
  return OneLine(line);
}

Status ToStatus(const std::vector<ConfigProblem>& problems) {
  return problems.empty() ? OkStatus() : InvalidArgument("{}", Lines(problems));
}

/// A document whose keys are all known and unique, and its problems.
struct Checked {
  YAML::Node document;
  std::string passed_over;
  std::vector<std::string> without_effect;
};

StatusOr<Checked> Check(const YAML::Node& document, Reading reading) {
  std::vector<ConfigProblem> problems = CheckSchema(document);
  if (!document.IsMap()) return ToStatus(problems);
  for (const char* key : {"kind", "apiVersion"})
    if (!At(document, key).IsDefined())
      problems.insert(problems.begin(), {key, "the key is missing", 0});
  const bool fatal =
      reading == Reading::kStrict || !std::ranges::all_of(problems, &ConfigProblem::only_strict);
  if (fatal && !problems.empty()) return ToStatus(problems);
  Checked checked{problems.empty() ? document : WithoutExtras(document), Lines(problems), {}};
  if (Status ruled = ToStatus(CheckRules(checked.document)); !ruled.ok()) return ruled;
  Unmet unmet = FindUnmet(checked.document);
  if (!unmet.refused.empty()) return ToStatus(unmet.refused);
  checked.without_effect = std::move(unmet.ignored);
  return checked;
}

/// Fields without effect while their gate is off, and gates of features that are not built.
void NameGated(const ConfigReader& read, KubeletConfig& c) {
  const auto factor = read.Float("memoryThrottlingFactor");
  if (!c.gates.Enabled("MemoryQoS") && factor && *factor != MemoryQos().throttling_factor)
    c.without_effect.emplace_back("memoryThrottlingFactor");
  const YAML::Node groups = read.Node("shutdownGracePeriodByPodPriority");
  if (!c.gates.Enabled("GracefulNodeShutdown") && groups.IsDefined() && groups.size() > 0)
    c.without_effect.emplace_back("shutdownGracePeriodByPodPriority");
  for (const std::string& gate : c.gates.TurnedOnInVain())
    c.without_effect.push_back("featureGates." + gate);
}

template <class T, class U>
void Take(T& target, const std::optional<U>& value) {
  if (value) target = static_cast<T>(*value);
}

std::map<std::string, std::string> MapOf(const ConfigReader& read, std::string_view path) {
  std::map<std::string, std::string> map;
  for (auto& [key, value] : read.Map(path)) map[key] = value;
  return map;
}

/// Relative paths of the main file start at its folder.
std::string Beside(const std::string& config_file, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  const auto slash = config_file.rfind('/');
  return slash == std::string::npos ? path : config_file.substr(0, slash + 1) + path;
}

void FillSources(KubeletConfig& c, const ConfigReader& read, const std::string& file) {
  Take(c.static_pod_path, read.String("staticPodPath"));
  c.static_pod_path = Beside(file, c.static_pod_path);
  Take(c.static_pod_url, read.String("staticPodURL"));
  const YAML::Node headers = read.Node("staticPodURLHeader");
  if (headers.IsDefined())
    for (const auto& header : headers)
      for (const YAML::Node& value : header.second)
        c.static_pod_url_header[header.first.Scalar()].push_back(value.Scalar());
  Take(c.file_check_frequency, read.Time("fileCheckFrequency"));
  Take(c.http_check_frequency, read.Time("httpCheckFrequency"));
  Take(c.sync_frequency, read.Time("syncFrequency"));
}

void FillRuntime(KubeletConfig& c, const ConfigReader& read) {
  Take(c.container_runtime_endpoint, read.String("containerRuntimeEndpoint"));
  Take(c.runtime_request_timeout, read.Time("runtimeRequestTimeout"));
  Take(c.max_pods, read.Int("maxPods"));
  Take(c.pods_per_core, read.Int("podsPerCore"));
  Take(c.registry_pull_qps, read.Int("registryPullQPS"));
  Take(c.registry_burst, read.Int("registryBurst"));
  Take(c.max_parallel_image_pulls, read.Int("maxParallelImagePulls"));
  Take(c.image_pull_credentials_verification_policy,
       read.String("imagePullCredentialsVerificationPolicy"));
  if (!c.gates.Enabled("KubeletEnsureSecretPulledImages"))
    c.image_pull_credentials_verification_policy = "NeverVerify";
  c.preloaded_images_verification_allowlist = read.Strings("preloadedImagesVerificationAllowlist");
  c.serialize_image_pulls =
      read.Bool("serializeImagePulls").value_or(read.Int("maxParallelImagePulls").value_or(1) < 2);
  c.allowed_unsafe_sysctls = read.Strings("allowedUnsafeSysctls");
  Take(c.crash_loop_max_container_restart_period,
       read.Time("crashLoopBackOff.maxContainerRestartPeriod"));
}

void FillNode(KubeletConfig& c, const ConfigReader& read, const std::string& file) {
  Take(c.cluster_domain, read.String("clusterDomain"));
  c.cluster_dns = read.Strings("clusterDNS");
  Take(c.resolver_config, read.String("resolvConf"));
  c.resolver_config = Beside(file, c.resolver_config);
  if (const auto size = read.String("containerLogMaxSize"))
    c.container_log_max_size_bytes = ParseQuantity(*size).value_or(c.container_log_max_size_bytes);
  Take(c.container_log_max_files, read.Int("containerLogMaxFiles"));
  Take(c.container_log_max_workers, read.Int("containerLogMaxWorkers"));
  Take(c.container_log_monitor_interval, read.Time("containerLogMonitorInterval"));
  Take(c.pod_logs_dir, read.String("podLogsDir"));
  c.system_reserved = MapOf(read, "systemReserved");
  c.kube_reserved = MapOf(read, "kubeReserved");
  Take(c.reserved_system_cpus, read.String("reservedSystemCPUs"));
}

KubeletConfig::ReservedCgroup ReservedOf(const ConfigReader& read, const std::string& key,
                                         const std::string& kind) {
  using Enforced = KubeletConfig::ReservedCgroup::Enforced;
  KubeletConfig::ReservedCgroup reserved{.path = read.String(key).value_or("")};
  for (const std::string& enforced : read.Strings("enforceNodeAllocatable")) {
    if (enforced == kind) reserved.enforced = Enforced::kAll;
    if (enforced == kind + "-compressible") reserved.enforced = Enforced::kCpu;
  }
  return reserved;
}

void FillCgroups(KubeletConfig& c, const ConfigReader& read) {
  c.cgroups_per_qos = read.Bool("cgroupsPerQOS");
  if (const auto root = read.String("cgroupRoot"); root && !root->empty()) c.cgroup_root = *root;
  if (const auto driver = read.String("cgroupDriver"); driver && !driver->empty())
    c.cgroup_driver = *driver;
  Take(c.pod_pids_limit, read.Int("podPidsLimit"));
  const auto enforced = read.Strings("enforceNodeAllocatable");
  c.enforce_allocatable = enforced.empty() || std::ranges::find(enforced, "pods") != enforced.end();
  c.system_reserved_cgroup = ReservedOf(read, "systemReservedCgroup", "system-reserved");
  c.kube_reserved_cgroup = ReservedOf(read, "kubeReservedCgroup", "kube-reserved");
  if (!c.cgroups_per_qos.value_or(true) && c.cgroup_root != "/")
    c.without_effect.emplace_back("cgroupRoot");
}

void FillContainers(KubeletConfig& c, const ConfigReader& read) {
  Take(c.cpu_cfs_quota, read.Bool("cpuCFSQuota"));
  Take(c.cpu_cfs_quota_period, read.Time("cpuCFSQuotaPeriod"));
  Take(c.seccomp_default, read.Bool("seccompDefault"));
  Take(c.user_namespace_ids_per_pod, read.Int("userNamespaces.idsPerPod"));
  c.single_process_oom_kill = read.Bool("singleProcessOOMKill");
}

void FillShutdown(KubeletConfig& c, const ConfigReader& read) {
  Take(c.shutdown_grace_period, read.Time("shutdownGracePeriod"));
  Take(c.shutdown_grace_period_critical_pods, read.Time("shutdownGracePeriodCriticalPods"));
  const YAML::Node groups = read.Node("shutdownGracePeriodByPodPriority");
  if (!groups.IsDefined() || !c.gates.Enabled("GracefulNodeShutdown")) return;
  for (const YAML::Node& group : groups) {
    const auto number = [&group](const char* name) {
      const YAML::Node value = group[name];
      return value.IsDefined() ? ReadInt(value).value_or(0) : 0;
    };
    c.shutdown_grace_period_by_pod_priority.push_back(
        {.priority = static_cast<int32_t>(number("priority")),
         .seconds = number("shutdownGracePeriodSeconds")});
  }
}

/// A file that contains the key has only the default signals that it names.
void FillEviction(KubeletConfig& c, const ConfigReader& read) {
  Take(c.eviction_pressure_transition_period, read.Time("evictionPressureTransitionPeriod"));
  Take(c.eviction_max_pod_grace_period_seconds, read.Int("evictionMaxPodGracePeriod"));
  Take(c.local_storage_capacity_isolation, read.Bool("localStorageCapacityIsolation"));
  Take(c.kernel_memcg_notification, read.Bool("kernelMemcgNotification"));
  c.eviction_soft = MapOf(read, "evictionSoft");
  c.eviction_minimum_reclaim = MapOf(read, "evictionMinimumReclaim");
  for (const auto& [signal, text] : read.Map("evictionSoftGracePeriod")) {
    const auto grace = ParseGoDuration(text);  // the schema has checked it
    if (grace.ok()) c.eviction_soft_grace_period[signal] = *grace;
  }
  FillShutdown(c, read);
  if (!read.Has("evictionHard")) return;
  auto given = MapOf(read, "evictionHard");
  if (read.Bool("mergeDefaultEvictionSettings").value_or(false) &&
      !read.Bool("splitlet.evictionHardIsMerged").value_or(false))
    given.merge(c.eviction_hard);
  c.eviction_hard = std::move(given);
}

void FillImages(KubeletConfig& c, const ConfigReader& read) {
  Take(c.image_minimum_gc_age, read.Time("imageMinimumGCAge"));
  Take(c.image_maximum_gc_age, read.Time("imageMaximumGCAge"));
  Take(c.image_gc_high_threshold_percent, read.Int("imageGCHighThresholdPercent"));
  Take(c.image_gc_low_threshold_percent, read.Int("imageGCLowThresholdPercent"));
}

void FillMachine(KubeletConfig::MachineSettings& c, const ConfigReader& read) {
  c.fail_swap_on = read.Bool("failSwapOn");
  Take(c.fail_cgroup_v1, read.Bool("failCgroupV1"));
  c.iptables_chains = read.Bool("makeIPTablesUtilChains");
  c.protect_kernel_defaults = read.Bool("protectKernelDefaults");
  Take(c.swap_behavior, read.String("memorySwap.swapBehavior"));
  c.set_up = read.Bool("splitlet.machineSetup");
}

void FillApi(KubeletConfig::Api& c, const ConfigReader& read) {
  Take(c.content_type, read.String("contentType"));
  Take(c.qps, read.Int("kubeAPIQPS"));
  Take(c.burst, read.Int("kubeAPIBurst"));
  Take(c.event_qps, read.Int("eventRecordQPS"));
  Take(c.event_burst, read.Int("eventBurst"));
  Take(c.register_node, read.Bool("registerNode"));
  Take(c.provider_id, read.String("providerID"));
  Take(c.pod_cidr, read.String("podCIDR"));
  Take(c.status_update_frequency, read.Time("nodeStatusUpdateFrequency"));
  // A file that sets only the frequency of status computation uses it for reporting too.
  c.status_report_frequency =
      read.Time("nodeStatusReportFrequency")
          .value_or(read.Time("nodeStatusUpdateFrequency").value_or(c.status_report_frequency));
  Take(c.lease_duration_seconds, read.Int("nodeLeaseDurationSeconds"));
  Take(c.status_max_images, read.Int("nodeStatusMaxImages"));
  Take(c.change_detection, read.String("configMapAndSecretChangeDetectionStrategy"));
  Take(c.attach_detach_controller, read.Bool("enableControllerAttachDetach"));
  Take(c.rotate_certificates, read.Bool("rotateCertificates"));
  Take(c.server_tls_bootstrap, read.Bool("serverTLSBootstrap"));
  const YAML::Node taints = read.Node("registerWithTaints");
  if (!taints.IsDefined()) return;
  for (const YAML::Node& taint : taints) {
    const auto text = [&taint](const char* name) {
      const YAML::Node value = taint[name];
      return value.IsDefined() && value.IsScalar() ? value.Scalar() : std::string();
    };
    c.register_with_taints.push_back({text("key"), text("value"), text("effect")});
  }
}

void FillServer(KubeletConfig::Server& c, const ConfigReader& read, const std::string& file) {
  Take(c.enabled, read.Bool("enableServer"));
  Take(c.address, read.String("address"));
  Take(c.port, read.Int("port"));
  Take(c.read_only_port, read.Int("readOnlyPort"));
  Take(c.healthz_port, read.Int("healthzPort"));
  Take(c.healthz_address, read.String("healthzBindAddress"));
  Take(c.tls_cert_file, read.String("tlsCertFile"));
  Take(c.tls_key_file, read.String("tlsPrivateKeyFile"));
  Take(c.client_ca_file, read.String("authentication.x509.clientCAFile"));
  for (std::string* path : {&c.tls_cert_file, &c.tls_key_file, &c.client_ca_file})
    *path = Beside(file, *path);
  c.tls_cipher_suites = read.Strings("tlsCipherSuites");
  Take(c.tls_min_version, read.String("tlsMinVersion"));
  Take(c.webhook_authentication, read.Bool("authentication.webhook.enabled"));
  Take(c.anonymous, read.Bool("authentication.anonymous.enabled"));
  Take(c.token_ttl, read.Time("authentication.webhook.cacheTTL"));
  Take(c.authorization, read.String("authorization.mode"));
  Take(c.authorized_ttl, read.Time("authorization.webhook.cacheAuthorizedTTL"));
  Take(c.unauthorized_ttl, read.Time("authorization.webhook.cacheUnauthorizedTTL"));
  Take(c.debugging_handlers, read.Bool("enableDebuggingHandlers"));
  Take(c.system_log_handler, read.Bool("enableSystemLogHandler"));
  Take(c.system_log_query, read.Bool("enableSystemLogQuery"));
  Take(c.stream_idle_timeout, read.Time("streamingConnectionIdleTimeout"));
}

void FillLogging(KubeletConfig& c, const ConfigReader& read) {
  Take(c.log_format, read.String("logging.format"));
  Take(c.log_verbosity, read.Int("logging.verbosity"));
}

void FillTracing(KubeletConfig& c, const ConfigReader& read) {
  if (!read.Has("tracing")) return;
  KubeletConfig::Tracing tracing;
  Take(tracing.endpoint, read.String("tracing.endpoint"));
  Take(tracing.sampling_rate_per_million, read.Int("tracing.samplingRatePerMillion"));
  c.tracing = std::move(tracing);
}

void FillOwn(KubeletConfig::Splitlet& c, const ConfigReader& read) {
  Take(c.container_gc_min_age, read.Time("splitlet.containerGCMinAge"));
  Take(c.container_gc_max_per_pod, read.Int("splitlet.containerGCMaxPerPod"));
  Take(c.container_gc_max_total, read.Int("splitlet.containerGCMaxTotal"));
  Take(c.kill_unmanaged_pods, read.Bool("splitlet.killUnmanagedPods"));
  Take(c.evict_static_pods, read.Bool("splitlet.evictStaticPods"));
  Take(c.allocatable_ignores_eviction, read.Bool("splitlet.allocatableIgnoresEviction"));
  Take(c.sandbox_image, read.String("splitlet.sandboxImage"));
  Take(c.objects_path, read.String("splitlet.objectsPath"));
  Take(c.offline_start, read.Bool("splitlet.offlineStart"));
  Take(c.max_blocking_threads, read.Int("splitlet.maxBlockingThreads"));
  Take(c.lock_fail_points, read.Bool("splitlet.lockFailPoints"));
}

StatusOr<uint32_t> UserId(const YAML::Node& user) {
  if (const auto id = ReadInt(user)) return static_cast<uint32_t>(*id);
  std::array<char, 16384> strings{};
  passwd entry{};
  passwd* found = nullptr;
  const int error =
      getpwnam_r(user.Scalar().c_str(), &entry, strings.data(), strings.size(), &found);
  if (found != nullptr) return found->pw_uid;
  return error == 0 ? NotFound("this machine has no user {}", user.Scalar()) : ErrnoStatus(error);
}

StatusOr<std::map<std::string, uint32_t>> ReadUsers(const ConfigReader& read) {
  std::map<std::string, uint32_t> users;
  const YAML::Node map = read.Node("splitlet.users");
  if (!map.IsDefined()) return users;
  for (const auto& user : map) {
    const auto id = UserId(user.second);
    const std::string& process = user.first.Scalar();
    if (!id.ok())
      return InvalidArgument("splitlet.users[{}]: {} (line {})", process,
                             OneLine(Message(id.status())), user.second.Mark().line + 1);
    users[process] = *id;
  }
  return users;
}

}  // namespace

StatusOr<KubeletConfig> KubeletConfig::Load(const std::string& path, const std::string& content,
                                            Reading reading) {
  ASSIGN_OR_RETURN(const YAML::Node document, Parse(content), "{}", path);
  ASSIGN_OR_RETURN(Checked checked, Check(document, reading), "{}", path);
  const ConfigReader read(checked.document);
  KubeletConfig config;
  config.passed_over = std::move(checked.passed_over);
  config.without_effect = std::move(checked.without_effect);
  config.gates = FeatureGates(GatesSet(read));
  NameGated(read, config);
  FillSources(config, read, path);
  FillRuntime(config, read);
  FillNode(config, read, path);
  FillCgroups(config, read);
  FillContainers(config, read);
  FillEviction(config, read);
  config.volume_stats_period = VolumeStatsPeriod(read);
  FillImages(config, read);
  FillMachine(config.machine, read);
  FillApi(config.api, read);
  FillServer(config.server, read, path);
  FillLogging(config, read);
  FillTracing(config, read);
  FillOwn(config.splitlet, read);
  ASSIGN_OR_RETURN(config.splitlet.users, ReadUsers(read), "{}", path);
  return config;
}

}  // namespace splitlet::config
