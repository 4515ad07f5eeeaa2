#pragma once

/// The surroundings of every process: flags, configuration, lock, loop, strands, bus, log, metrics,
/// health, gRPC.
/// Threads: see each function. A service is made from a ServiceContext and runs on its loop thread.
/// Errors: a bad flag or file is one line on stderr (file, key, reason) and exit code 1.
/// Source: docs/design.md, "Threads and time" and "Start and end"; docs/safety.md, rule 4.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/bus/bus.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"

namespace grpc {
class Channel;
class Service;
}  // namespace grpc
namespace prometheus {
class Registry;
}

namespace splitlet::config {
class KubeletConfig;
}

namespace splitlet::daemon {

/// The same flags for every process.
struct Flags {
  std::string process;                          // "pleg"
  std::string config_file;                      // --config: KubeletConfiguration; may be empty
  std::string run_dir = "/run/splitlet";        // --run-dir: sockets, records of this boot
  std::string state_dir = "/var/lib/splitlet";  // --state-dir: permanent records
  std::string root_dir = "/var/lib/kubelet";    // --root-dir: a kubelet's, pod directories
  std::string log_dir = "/var/log/pods";        // --log-dir: pod logs
  std::string runtime_endpoint;  // --runtime-endpoint; over containerRuntimeEndpoint of the file
  std::string node_name;         // --node-name; default: host name; lower case
  std::vector<std::string> node_ips;  // --node-ip: one, or one of each family; empty: found out
  std::string manifests;              // --manifests; over staticPodPath of the file
  std::string nats_url;               // --nats-url
  std::string nats_creds;             // --nats-creds: file with user, then password, a line each
  std::string nats_ca;                // --nats-ca: CA of the NATS server's certificate
  std::string http_address = "127.0.0.1:0";  // --http-address: metrics and health
  std::string network_interface;             // --network-interface: not ready without; empty: any
  std::string credential_provider_config;    // --image-credential-provider-config: file or folder
  std::string credential_provider_bin_dir;   // --image-credential-provider-bin-dir
  std::string kubeconfig;                    // --kubeconfig; empty: this node has no API server
  std::string bootstrap_kubeconfig;          // --bootstrap-kubeconfig: until there is a kubeconfig
  std::string cert_dir = "/var/lib/kubelet/pki";   // --cert-dir: keys and certificates of this node
  std::string cloud_provider;                      // --cloud-provider: empty or "external"
  std::map<std::string, std::string> node_labels;  // --node-labels, at registration
  std::string log_format = "text";                 // --log-format: text or json
  std::string log_level = "info";                  // --log-level
};

/// Live: the loop turns. Ready: the process can do its work.
struct Health {
  bool ready = true;
  std::string reason;  // if not ready
};

class Service {
 public:
  virtual ~Service() = default;
  /// On the loop thread, once; the loop runs already.
  virtual void Start() = 0;
  /// On the loop thread. Ready or why not; also shown by /readyz.
  virtual Health GetHealth() const = 0;
  /// On the loop thread, once, when the process is to end: ends long calls, so that strands end
  /// soon. Soon after, calls to this process are refused.
  virtual void BeginStop() {}
  /// Once, after BeginStop, on a thread that may block while the loop still runs: returns when the
  /// service's own threads have ended.
  virtual void WaitStopped() {}
  /// On the loop thread: problems that people should know and that do not stop the process, a line
  /// each.
  virtual std::vector<std::string> Notes() const { return {}; }
  /// On the loop thread: puts the unreadable files of this pod aside, so that the pod is no longer
  /// unknown. Calls `done` once, from any thread, with the new paths. NOT_FOUND: all files are
  /// readable.
  using Discarded = std::function<void(StatusOr<std::vector<std::string>> paths)>;
  virtual void DiscardRecord(const std::string& /*uid*/, Discarded done) {
    done(Unimplemented("this process keeps no files of pods"));
  }
  /// gRPC services to serve beside Tables and Admin.
  virtual std::vector<grpc::Service*> GrpcServices() = 0;
};

/// An event for `kubectl describe` (kept by status). Best effort; never blocks.
struct PodEvent {
  enum class Step { kOther, kPullBegan, kPullEnded };  // of a start that status measures
  bool warning = false;
  std::string reason, message;        // "Pulled", "Successfully pulled ..."
  std::string name_space, name, uid;  // of the pod
  std::string container;              // may be empty
  bool about_node = false;            // then name and uid are the node's name
  bool init_container = false;        // `container` is one
  bool ephemeral_container = false;   // `container` is an ephemeral container
  std::map<std::string, std::string> annotations;
  Step step = Step::kOther;
};

class EventRecorder {
 public:
  virtual ~EventRecorder() = default;
  virtual void Record(PodEvent event) = 0;  // any thread
};

class ServiceContext {
 public:
  virtual ~ServiceContext() = default;
  virtual const Flags& flags() const = 0;
  /// The configuration file, parsed once; see libs/config/kubelet_config.h. A null document without
  /// a file.
  virtual const config::KubeletConfig& config() const = 0;
  virtual const Clock& clock() const = 0;
  virtual exec::EventLoop& loop() = 0;
  virtual exec::Strands& strands() = 0;
  virtual bus::Bus& bus() = 0;
  virtual fs::FileSystem& files() = 0;
  virtual const Log& log() const = 0;
  virtual prometheus::Registry& metrics() = 0;
  virtual EventRecorder& events() = 0;
  exec::Env env() { return {clock(), loop(), strands(), log(), metrics()}; }
  /// Channel to another process of this node.
  virtual std::shared_ptr<grpc::Channel> Peer(const std::string& process) = 0;
};

using MakeService = std::function<StatusOr<std::unique_ptr<Service>>(ServiceContext&)>;

}  // namespace splitlet::daemon
