#include "libs/daemon/flags.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "libs/base/log_level.h"
#include "libs/base/one_line.h"
#include "libs/base/trim.h"
#include "libs/config/scalars.h"
#include "libs/kube/node_labels.h"

#ifndef SPLITLET_VERSION
#define SPLITLET_VERSION "0.0.0"
#endif

namespace splitlet::daemon {
namespace {

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

void Declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_file, "KubeletConfiguration file");
  app.add_option("--run-dir", flags.run_dir, "Sockets and records of this boot")
      ->capture_default_str();
  app.add_option("--state-dir", flags.state_dir, "Permanent records")->capture_default_str();
  app.add_option("--root-dir", flags.root_dir,
                 "The kubelet's: directories of pods, seccomp profiles; its disk is nodefs")
      ->capture_default_str();
  app.add_option("--log-dir", flags.log_dir, "Pod logs; over podLogsDir of the file")
      ->capture_default_str();
  app.add_option("--runtime-endpoint", flags.runtime_endpoint,
                 "CRI socket; over containerRuntimeEndpoint of the file");
  app.add_option("--node-name,--hostname-override", flags.node_name,
                 "Name of this node; default: the host name");
  app.add_option(
         "--node-ip", flags.node_ips,
         "Address of this node, or IPv4 and IPv6; default: its name, what that resolves to here, "
         "or the address of the default route's interface")
      ->delimiter(',');
  app.add_option("--manifests", flags.manifests,
                 "Folder of static pods; over staticPodPath of the file");
  app.add_option("--nats-url", flags.nats_url, "nats://host:port");
  app.add_option("--nats-creds", flags.nats_creds, "File with user and password, a line each");
  app.add_option("--nats-ca", flags.nats_ca, "CA of the bus, in PEM: it is spoken to over TLS");
  app.add_option("--http-address", flags.http_address, "Address of metrics and health")
      ->capture_default_str();
  app.add_option("--network-interface", flags.network_interface,
                 "Interface that this process is not ready without: in a container, whose network "
                 "may be taken away");
  app.add_option("--image-credential-provider-config", flags.credential_provider_config,
                 "CredentialProviderConfig: a file, or a folder of them");
  app.add_option("--image-credential-provider-bin-dir", flags.credential_provider_bin_dir,
                 "Folder of the programs that it names");
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "API server of this node, and who it is there; without: pods of files alone");
  app.add_option("--bootstrap-kubeconfig", flags.bootstrap_kubeconfig,
                 "Who may ask for a certificate, while there is no --kubeconfig that can be used");
  app.add_option("--cert-dir", flags.cert_dir, "Keys and certificates of this node")
      ->capture_default_str();
  app.add_option("--cloud-provider", flags.cloud_provider,
                 "external: a cloud's controller sets addresses and removes the first taint");
  app.add_option("--log-format", flags.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
}

/// Paths below the root directory are compared, so a mark must not be a root itself.
Status CheckRootDirectory(const Flags& flags) {
  const std::string& root = flags.root_dir;
  if (root == "/" || root.ends_with('/') || std::filesystem::path(root).lexically_normal() != root)
    return InvalidArgument("--root-dir: \"{}\" is not a clean path", OneLine(root));
  const std::string state = std::filesystem::path(flags.state_dir + "/").lexically_normal();
  if (root + "/" == state || root == state + "pods" || root.starts_with(state + "pods/"))
    return InvalidArgument("--root-dir: \"{}\" is where --state-dir has its own", OneLine(root));
  return OkStatus();
}

Status CheckDirectories(const Flags& flags) {
  const std::array<std::pair<const char*, const std::string&>, 4> paths = {
      {{"--run-dir", flags.run_dir},
       {"--state-dir", flags.state_dir},
       {"--root-dir", flags.root_dir},
       {"--log-dir", flags.log_dir}}};
  for (const auto& [flag, path] : paths)
    if (!path.starts_with('/'))
      return InvalidArgument("{}: \"{}\" is not an absolute path", flag, OneLine(path));
  return CheckRootDirectory(flags);
}

/// Resolves links of the root directory, since the kernel lists mounts without links. A missing or
/// unreadable directory stays as written.
Status FollowRootDirectory(Flags& flags) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(flags.root_dir, error);
  if (!error) flags.root_dir = real.string();
  return CheckRootDirectory(flags);
}

Status SettleNodeName(Flags& flags, bool given) {
  const std::string name = given ? flags.node_name : HostName();
  flags.node_name = Lower(std::string(Trimmed(name)));
  const Status checked = config::CheckNodeName(flags.node_name);
  if (!checked.ok()) return InvalidArgument("--node-name: {}", OneLine(Message(checked)));
  return OkStatus();
}

/// 4 or 6; 0: no address.
int FamilyOf(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) == 1) return 4;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1 ? 6 : 0;
}

Status CheckNodeIps(const std::vector<std::string>& ips) {
  for (const std::string& ip : ips) {
    if (FamilyOf(ip) == 0)
      return InvalidArgument("--node-ip: \"{}\" is no IP address", OneLine(ip));
    if (ips.size() > 1 && (ip == "0.0.0.0" || ip == "::"))
      return InvalidArgument("--node-ip: {} stands alone or not at all", ip);
  }
  if (ips.size() > 2 || (ips.size() == 2 && FamilyOf(ips[0]) == FamilyOf(ips[1])))
    return InvalidArgument("--node-ip: want one address, or one of each family");
  return OkStatus();
}

Status CheckApiFlags(const Flags& flags) {
  const std::array<std::pair<const char*, const std::string&>, 3> paths = {
      {{"--kubeconfig", flags.kubeconfig},
       {"--bootstrap-kubeconfig", flags.bootstrap_kubeconfig},
       {"--cert-dir", flags.cert_dir}}};
  for (const auto& [flag, path] : paths)
    if (!path.empty() && !path.starts_with('/'))
      return InvalidArgument("{}: \"{}\" is not an absolute path", flag, OneLine(path));
  if (flags.cert_dir.empty()) return InvalidArgument("--cert-dir: want a folder");
  if (!flags.bootstrap_kubeconfig.empty() && flags.kubeconfig.empty())
    return InvalidArgument("--bootstrap-kubeconfig: needs --kubeconfig, which it makes");
  if (!flags.cloud_provider.empty() && flags.cloud_provider != "external")
    return InvalidArgument("--cloud-provider: \"{}\" is not external or empty",
                           OneLine(flags.cloud_provider));
  return OkStatus();
}

}  // namespace

const char* Version() { return SPLITLET_VERSION; }

StatusOr<CommandLine> ParseCommandLine(const std::string& process, int argc,
                                       const char* const* argv) {
  CommandLine line;
  line.flags.process = process;
  CLI::App app("splitlet " + process + ": one process of a Kubernetes node agent",
               "splitlet-" + process);
  Declare(app, line.flags);
  std::vector<std::string> labels;
  app.add_option("--node-labels", labels, "key=value,...: labels with which the node registers")
      ->delimiter(',');
  app.add_flag("--check-config", line.check_only,
               "Check flags, file (strictly) and environment, then leave: 0 if they can be used, "
               "else 1");
  app.set_version_flag("--version", fmt::format("splitlet-{} {}", process, Version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.print = app.help();
    return line;
  } catch (const CLI::CallForVersion& e) {
    line.print = std::string(e.what()) + "\n";
    return line;
  } catch (const CLI::Error& e) {
    return InvalidArgument("{}", OneLine(e.what()));
  }
  line.log_dir_given = app.count("--log-dir") > 0;
  line.log_format_given = app.count("--log-format") > 0;
  line.log_level_given = app.count("--log-level") > 0;
  RETURN_IF_ERROR(CheckDirectories(line.flags), "flags");
  RETURN_IF_ERROR(FollowRootDirectory(line.flags), "flags");
  RETURN_IF_ERROR(CheckNodeIps(line.flags.node_ips), "flags");
  RETURN_IF_ERROR(CheckApiFlags(line.flags), "flags");
  ASSIGN_OR_RETURN(line.flags.node_labels, kube::ParseNodeLabels(labels), "flags: --node-labels");
  RETURN_IF_ERROR(SettleNodeName(line.flags, app.count("--node-name") > 0), "flags");
  return line;
}

void Reconcile(CommandLine& line, config::KubeletConfig& config) {
  Flags& flags = line.flags;
  if (line.log_dir_given) config.pod_logs_dir = flags.log_dir;
  flags.log_dir = config.pod_logs_dir;
  if (!flags.runtime_endpoint.empty()) config.container_runtime_endpoint = flags.runtime_endpoint;
  flags.runtime_endpoint = config.container_runtime_endpoint;
  if (!flags.manifests.empty()) config.static_pod_path = flags.manifests;
  flags.manifests = config.static_pod_path;
  if (!line.log_format_given && !config.log_format.empty()) flags.log_format = config.log_format;
  if (!line.log_level_given) flags.log_level = NameOf(LevelOf(config.log_verbosity));
}

}  // namespace splitlet::daemon
