#pragma once

/// A node of real processes: nats-server, six processes of splitlet and a CRI runtime, all in one
/// directory.
/// Threads: one. Everything ends with the object.
/// Errors: a program that cannot be started fails the test with the last lines of its log.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"
#include "tests/harness/child.h"

namespace splitlet::harness {

struct NodeOptions {
  std::string runtime_endpoint;
  std::string config;  // a KubeletConfiguration; empty: short periods for tests
  std::map<std::string, std::string> fail_points;  // process -> SPLITLET_FAILPOINTS for its first
                                                   // start only
  std::map<std::string, std::string> env;          // for all processes
  std::string nats_settings;  // additional lines of nats-server's configuration
  std::string node_name = "node-1";
  /// process -> user id; other processes run as root, all with the group kGroup. Empty: all as this
  /// user.
  std::map<std::string, uint32_t> users = {};
  std::vector<std::string> flags = {};  // additional flags of all processes
};

inline constexpr uint32_t kGroup = 64990;  // group of all processes that have users of their own

class Node {
 public:
  explicit Node(NodeOptions options);
  ~Node();

  /// Starts nats-server and all six processes. Returns when each serves its socket.
  void Start();
  void StartProcess(const std::string& process);
  /// Starts `process` twice at the same time under two keepers, `process` and `process`-again.
  /// Returns when one answers.
  void StartTwice(const std::string& process);
  void StopProcess(const std::string& process) { keeper_.Stop(process); }
  void Kill(const std::string& process) { keeper_.Signal(process, 9); }
  void Pause(const std::string& process) { keeper_.Signal(process, 19); }
  void Resume(const std::string& process) { keeper_.Signal(process, 18); }
  /// Sends kill -9 and waits until the new process answers.
  void KillAndAwait(const std::string& process);
  bool Answers(const std::string& process);
  void StopNats() { keeper_.Stop("nats"); }
  void StartNats();
  Keeper& keeper() { return keeper_; }

  void PutManifest(const std::string& name, const std::string& yaml);
  void RemoveManifest(const std::string& name);

  /// A whole table, by its owner's List; an error if the owner does not answer.
  StatusOr<std::map<std::string, std::string>> ListTable(const std::string& table);
  template <class R>
  std::map<std::string, R> Table(const std::string& table) {
    std::map<std::string, R> records;
    const auto raw = ListTable(table);
    if (!raw.ok()) return records;
    for (const auto& [key, bytes] : *raw) records[key].ParseFromString(bytes);
    return records;
  }
  /// The API status of the pod named `name` or `name`-..., as JSON with phase and other fields; see
  /// PodView.
  struct ContainerView {
    std::string name, id, state;  // state: "running", "waiting", "terminated"
    std::string reason, message;  // reason and message of the state
    int restarts = 0, exit_code = 0;
    bool ready = false;
  };
  struct PodView {
    std::string uid, name, phase, reason, message, ip;
    bool ready = false;
    std::vector<ContainerView> containers, init_containers;
  };
  std::vector<PodView> Pods();
  /// nullptr if there is no such container.
  std::unique_ptr<PodView> Pod(const std::string& name);
  bool IsRunning(const std::string& name);
  bool IsGone(const std::string& name);

  Status SetFault(const std::string& process, const std::string& point, const std::string& term);
  StatusOr<v1::FaultList> Faults(const std::string& process);
  StatusOr<v1::ProcessInfo> Info(const std::string& process);
  StatusOr<v1::Sources> Sources();
  StatusOr<v1::GcReport> RunGc(bool dry_run);
  std::string HttpGet(const std::string& process, const std::string& path);

  struct Run {
    int exit_code = 0;
    std::string output;
  };
  /// A second start during the running one, with the same directories.
  Run RunAgain(const std::string& process);
  /// Runs splitletctl with these arguments for this node.
  Run Ctl(const std::vector<std::string>& arguments);
  /// Starts with this configuration file (bad.yaml) and separate directories.
  Run RunWithConfig(const std::string& process, const std::string& config);
  /// For all processes started from now on.
  void SetEnv(const std::string& name, const std::string& value) { options_.env[name] = value; }

  const std::string& dir() const { return dir_.path(); }
  std::string manifests() const { return dir() + "/manifests"; }
  std::string LogOf(const std::string& process) const { return dir() + "/log/" + process; }
  /// The last lines of all logs, for the message of a failed test.
  std::string LogTails() const;
  /// Findings of AddressSanitizer or UndefinedBehaviorSanitizer in all processes; empty without
  /// them.
  std::string SanitizerReports() const;

 private:
  /// Gives the processes' users access.
  void ShareDirs() const;
  void RunAsItsUser(const std::string& process, Command& command) const;
  Command CommandOf(const std::string& process, bool first_start) const;
  NodeOptions options_;
  TempDir dir_;
  std::string nats_url_;
  Keeper keeper_;
};

/// Directory of the programs: build/<preset>/bin of this test's build.
std::string BinDir();
/// Root of the source tree.
std::string SourceDir();

/// A manifest with one busybox container that runs `script`.
std::string PodYaml(const std::string& name, const std::string& script,
                    const std::string& more_spec = "");

}  // namespace splitlet::harness
