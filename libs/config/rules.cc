#include "libs/config/rules.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "libs/config/feature_gates.h"
#include "libs/config/reader.h"
#include "libs/config/scalars.h"

namespace splitlet::config {
namespace {

/// The document and the problems of the rules.
class Rules {
 public:
  explicit Rules(const YAML::Node& document)
      : document_(document), read_(document), gates_(GatesSet(read_)) {}

  std::vector<ConfigProblem> Run() {
    CheckImages();
    CheckImagePolicy();
    CheckLogs();
    CheckEnforcement();
    CheckTree();
    CheckObjectsPath();
    CheckEviction();
    CheckShutdown();
    CheckTaints();
    CheckTlsPair();
    CheckDiagnostics();
    CheckOthers();
    CheckGates();
    return std::move(problems_);
  }

 private:
  void Add(std::string_view key, std::string reason) {
    const YAML::Node node = At(document_, key);
    const bool known = node.IsDefined() && !node.Mark().is_null();
    problems_.push_back({std::string(key), std::move(reason), known ? node.Mark().line + 1 : 0});
  }

  void CheckImages() {
    const int64_t low = read_.Int("imageGCLowThresholdPercent").value_or(80);
    const int64_t high = read_.Int("imageGCHighThresholdPercent").value_or(85);
    if (low >= high)
      Add("imageGCLowThresholdPercent",
          fmt::format("{} is not below imageGCHighThresholdPercent {}", low, high));
    const Duration youngest = read_.Time("imageMinimumGCAge").value_or(2min);
    const auto oldest = read_.Time("imageMaximumGCAge");
    if (oldest && *oldest <= youngest)
      Add("imageMaximumGCAge",
          fmt::format("{} is not above imageMinimumGCAge {}s",
                      read_.String("imageMaximumGCAge").value_or(""), youngest / 1s));
    if (read_.Int("maxParallelImagePulls").value_or(1) > 1 &&
        read_.Bool("serializeImagePulls").value_or(false))
      Add("maxParallelImagePulls", "a value above 1 needs serializeImagePulls: false");
  }

  void CheckImagePolicy() {
    const auto policy = read_.String("imagePullCredentialsVerificationPolicy");
    const auto list = read_.Strings("preloadedImagesVerificationAllowlist");
    if (!list.empty() && policy != "NeverVerifyAllowlistedImages")
      Add("preloadedImagesVerificationAllowlist",
          "it needs imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages");
    const int64_t ids = read_.Int("userNamespaces.idsPerPod").value_or(65536);
    if (ids % 65536 != 0)
      Add("userNamespaces.idsPerPod", fmt::format("{} is not a multiple of 65536", ids));
  }

  void CheckLogs() {
    const auto dir = read_.String("podLogsDir");
    if (!dir) return;
    const bool ascii = std::ranges::all_of(*dir, [](char c) { return c > 0x1f && c < 0x7f; });
    const bool dotted = (*dir + "/").find("/../") != std::string::npos ||
                        (*dir + "/").find("/./") != std::string::npos;
    const bool clean =
        dir->find("//") == std::string::npos && (dir->size() == 1 || dir->back() != '/') && !dotted;
    if (!ascii)
      Add("podLogsDir", "it may hold ASCII only");
    else if (!dir->starts_with('/'))
      Add("podLogsDir", fmt::format("{} is not an absolute path", *dir));
    else if (!clean)
      Add("podLogsDir", fmt::format("{} is not a normalized path", *dir));
  }

  void CheckObjectsPath() {
    const auto path = read_.String("splitlet.objectsPath");
    if (path && !path->empty() && !path->starts_with('/'))
      Add("splitlet.objectsPath", fmt::format("{} is not an absolute path", *path));
  }

  void CheckEnforcement() {
    constexpr std::string_view kKey = "enforceNodeAllocatable";
    const auto list = read_.Strings(kKey);
    const std::set<std::string> kinds(list.begin(), list.end());
    if (kinds.size() != list.size()) Add(kKey, "a value is there twice");
    if (kinds.contains("none") && kinds.size() > 1) Add(kKey, "none stands with other values");
    for (const std::string family : {"system-reserved", "kube-reserved"}) {
      const bool plain = kinds.contains(family),
                 compressible = kinds.contains(family + "-compressible");
      if (plain && compressible)
        Add(kKey, fmt::format("{0} and {0}-compressible exclude each other", family));
      const std::string cgroup =
          family == "kube-reserved" ? "kubeReservedCgroup" : "systemReservedCgroup";
      if (!plain && !compressible) continue;
      if (read_.String(cgroup).value_or("").empty())
        Add(kKey, fmt::format("{} needs {}", family, cgroup));
    }
    const bool enforces = !kinds.empty() && !kinds.contains("none");
    if (enforces && !read_.Bool("cgroupsPerQOS").value_or(true))
      Add(kKey, "it needs cgroupsPerQOS: true");
    if (read_.String("systemCgroups") && !read_.String("cgroupRoot"))
      Add("systemCgroups", "it needs cgroupRoot");
    if (read_.String("reservedSystemCPUs") &&
        (read_.String("systemReservedCgroup") || read_.String("kubeReservedCgroup")))
      Add("reservedSystemCPUs", "it excludes systemReservedCgroup and kubeReservedCgroup");
  }

  void CheckTree() {
    const bool tree = read_.Bool("cgroupsPerQOS").value_or(true);
    if (read_.Int("podPidsLimit").value_or(0) > 0 && !tree)
      Add("podPidsLimit", "it needs cgroupsPerQOS: true");
    const std::string root = read_.String("cgroupRoot").value_or("/");
    // A slice's name would differ from the value here.
    if (tree && read_.String("cgroupDriver") == "systemd" &&
        (root.find('_') != std::string::npos || root.find(".slice") != std::string::npos))
      Add("cgroupRoot", fmt::format("{} cannot be named by slices: \"_\" and \".slice\" have a "
                                    "meaning there",
                                    root));
    if (tree && !root.empty() && !root.starts_with('/'))
      Add("cgroupRoot", fmt::format("{} is not an absolute path", root));
  }

  void CheckEviction() {
    const auto grace = read_.Map("evictionSoftGracePeriod");
    for (const auto& [signal, value] : read_.Map("evictionSoft"))
      if (std::ranges::find(grace, signal, &std::pair<std::string, std::string>::first) ==
          grace.end())
        Add("evictionSoft", fmt::format("{} has no value in evictionSoftGracePeriod", signal));
  }

  void CheckShutdown() {
    const Duration total = read_.Time("shutdownGracePeriod").value_or(0s);
    const Duration critical = read_.Time("shutdownGracePeriodCriticalPods").value_or(0s);
    if (critical > total)
      Add("shutdownGracePeriodCriticalPods",
          fmt::format("{}s is above shutdownGracePeriod {}s", critical / 1s, total / 1s));
    if (read_.Has("shutdownGracePeriodByPodPriority") && (total > 0s || critical > 0s))
      Add("shutdownGracePeriodByPodPriority",
          "it excludes shutdownGracePeriod and shutdownGracePeriodCriticalPods");
  }

  void CheckTaints() {
    const YAML::Node taints = read_.Node("registerWithTaints");
    if (!taints.IsDefined()) return;
    for (const YAML::Node& taint : taints)
      if (!taint["key"] || taint["key"].Scalar().empty())
        Add("registerWithTaints", "a taint has no key");
      else if (!taint["effect"])
        Add("registerWithTaints", fmt::format("{} has no effect", taint["key"].Scalar()));
  }

  void CheckTlsPair() {
    if (read_.String("tlsCertFile").has_value() != read_.String("tlsPrivateKeyFile").has_value())
      Add("tlsCertFile", "it and tlsPrivateKeyFile come together or not at all");
  }

  void CheckDiagnostics() {
    const auto endpoint = read_.String("tracing.endpoint");
    const auto scheme = endpoint ? endpoint->find("://") : std::string::npos;
    if (scheme != std::string::npos) {
      static const std::set<std::string> kSchemes = {"dns", "unix", "unix-abstract"};
      if (!kSchemes.contains(endpoint->substr(0, scheme)))
        Add("tracing.endpoint", fmt::format("scheme {} is not one of dns, unix, unix-abstract",
                                            endpoint->substr(0, scheme)));
    }
    if (read_.Has("logging.vmodule") && read_.String("logging.format") == "json")
      Add("logging.vmodule", "it needs logging.format: text");
    if (read_.Bool("enableSystemLogQuery").value_or(false) &&
        !read_.Bool("enableSystemLogHandler").value_or(true))
      Add("enableSystemLogQuery", "it needs enableSystemLogHandler: true");
  }

  void CheckOthers() {
    if (read_.Bool("runOnce").value_or(false)) Add("runOnce", "running once is no longer possible");
    const double factor = read_.Float("memoryThrottlingFactor").value_or(0.9);
    if (factor <= 0 || factor > 1)
      Add("memoryThrottlingFactor", fmt::format("{} is not in (0, 1]", factor));
    if (read_.String("memoryReservationPolicy") == "TieredReservation" &&
        !gates_.Enabled("MemoryQoS"))
      Add("memoryReservationPolicy", "TieredReservation needs the feature gate MemoryQoS");
    if (!read_.Map("qosReserved").empty())
      Add("qosReserved", gates_.Enabled("QOSReserved")
                             ? "the feature gate QOSReserved does nothing on this node"
                             : "it needs the feature gate QOSReserved");
  }

  /// Gates, and fields whose value needs a gate that is off.
  void CheckGates() {
    for (std::string& problem : GateProblems(gates_.set())) Add("featureGates", std::move(problem));
    const struct {
      std::string_view key;
      bool asked;
      std::string_view gate;
    } kGated[] = {
        {"cpuCFSQuotaPeriod", read_.Time("cpuCFSQuotaPeriod").value_or(100ms) != 100ms,
         "CustomCPUCFSQuotaPeriod"},
        {"shutdownGracePeriod", read_.Time("shutdownGracePeriod").has_value(),
         "GracefulNodeShutdown"},
        {"shutdownGracePeriodCriticalPods",
         read_.Time("shutdownGracePeriodCriticalPods").has_value(), "GracefulNodeShutdown"},
        {"shutdownGracePeriodByPodPriority",
         read_.Node("shutdownGracePeriodByPodPriority").size() > 0,
         "GracefulNodeShutdownBasedOnPodPriority"},
        {"crashLoopBackOff.maxContainerRestartPeriod",
         read_.Has("crashLoopBackOff.maxContainerRestartPeriod"), "KubeletCrashLoopBackOffMax"},
        {"imagePullCredentialsVerificationPolicy",
         read_.String("imagePullCredentialsVerificationPolicy").has_value(),
         "KubeletEnsureSecretPulledImages"},
        {"serverTLSBootstrap", read_.Bool("serverTLSBootstrap").value_or(false),
         "RotateKubeletServerCertificate"},
        {"logging.format", read_.String("logging.format") == "json", "LoggingBetaOptions"},
    };
    for (const auto& [key, asked, gate] : kGated)
      if (asked && !gates_.Enabled(gate))
        Add(key, fmt::format("it needs the feature gate {}", gate));
  }

  const YAML::Node& document_;
  ConfigReader read_;
  FeatureGates gates_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

std::vector<ConfigProblem> CheckRules(const YAML::Node& document) { return Rules(document).Run(); }

}  // namespace splitlet::config
