#pragma once

/// The API server of a simulated node, and its other clients, which create, change and delete pods,
/// and delete mirror pods. They do so even while the node cannot reach the server, or gets errors,
/// late answers or none. It checks what the node writes.
/// Threads: one.
/// Errors: violations are reported, not thrown.
/// Source: docs/design.md, "Simulation"; docs/safety.md, rules 20 and 23.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/apiclient/waiting.h"
#include "libs/base/random.h"
#include "libs/cri/fake_runtime.h"
#include "libs/exec/fake_exec.h"
#include "libs/fake_api/api_server.h"
#include "libs/kube/pod_types.h"
#include "tests/simulation/node.h"

namespace splitlet::simulation {

class ApiServer {
 public:
  struct Deps {
    exec::Scheduler& scheduler;
    const cri::FakeRuntime& runtime;
    std::string node_name;
    uint64_t seed = 1;
    std::function<void(std::string)> report;  // reports a violation
  };
  explicit ApiServer(Deps deps);

  /// The connection of one process; when the process dies, requests in flight never arrive.
  std::unique_ptr<apiclient::Transport> Connect(exec::Scheduler::Owner client);
  /// How a strand waits for an answer.
  apiclient::WaitUntil Waiting();
  uint64_t NextSeed() { return random_.Next(); }

  /// Another client creates, changes or deletes an object. `rough`: also without grace period.
  void ChangePods(bool rough);
  void Disturb();
  void Heal();
  /// The fault stays for ever, whatever heals.
  void Break(const fake_api::FakeApiServer::Fault& fault);
  /// After the node has deleted a pod at the server, nothing of it starts again.
  void WatchRuntime();

  struct Pod {
    std::string name;
    SimNode::Wanted::Kind kind;
    std::string refusal;    // the reason for which the node refuses the pod; empty: it does not
    bool replaced = false;  // a container of it ended and was replaced
    bool ended = false;     // ended with the machine
  };
  /// By UID; pods without a requested deletion.
  const std::map<std::string, Pod>& wanted() const { return wanted_; }
  /// All pods at the server, including mirror pods.
  std::vector<kube::Pod> Pods() const;
  const fake_api::FakeApiServer& server() const { return server_; }
  /// Contents that the files of this volume of a pod must show.
  std::string ShownIn(const std::string& uid, const std::string& volume) const;
  void NoteReplaced(const std::string& uid);
  /// All pods have ended with the machine.
  void NoteEnds();

 private:
  class Way;
  struct Exchange;
  struct Shown {
    std::string name, phase, reason;
    bool mirror = false, deleting = false;
    std::map<std::string, int32_t> restarts;  // restart count by container
  };

  bool Chance(double p) { return random_.Unit() < p; }
  Duration Latency();
  void Send(const std::shared_ptr<Exchange>& exchange);
  void CarryOut(const std::shared_ptr<Exchange>& exchange);
  void Answer(const std::shared_ptr<Exchange>& exchange, StatusOr<apiclient::Response> answer);
  void InOrder(const std::shared_ptr<Exchange>& exchange, std::function<void()> task);
  void Create(const std::string& name);
  void Change(const std::string& name);
  void Delete(const std::string& path, const std::string& uid, bool rough);
  void DeleteMirror(bool rough);
  /// All values of both objects that pods show.
  void ChangeObjects();
  /// Compares the current objects with the earlier ones.
  void Look(bool by_user);
  void NoteGone(const std::string& uid, const Shown& before);
  static Shown ShownOf(const kube::Pod& pod);

  Deps deps_;
  FakeClock& clock_;
  Random random_;
  exec::FakeLoop loop_;
  fake_api::FakeApiServer server_;
  bool slow_ = false;
  std::vector<fake_api::FakeApiServer::Fault> broken_;
  std::map<std::string, Pod> wanted_;
  std::set<std::string> refused_;       // all UIDs that were ever refused
  int turn_ = 0;                        // version of the objects
  std::map<std::string, Shown> shown_;  // last shown status by UID
  /// Pods deleted by the node: UID -> the containers at that time.
  std::map<std::string, std::set<std::string>> gone_;
};

}  // namespace splitlet::simulation
