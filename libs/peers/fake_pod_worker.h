#pragma once

/// pod-worker in memory, for tests of its clients: it keeps a record for each pod and answers as
/// pod-worker does, which services/pod-worker/tests/clients_contract_test.cc checks of both. It
/// runs nothing: a test ends a pod with Finish.
/// Threads: any, for calls. The test sets the public members before the calls begin, or on virtual
/// time.
/// Errors: those of pod-worker, and those that the test sets.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/peers/pod_worker_client.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::peers {

class FakePodWorker {
 public:
  /// Where the records are kept. `put` may take effect later.
  struct Records {
    std::function<std::optional<v1::WorkerRecord>(const std::string& uid)> find;
    std::function<void(const v1::WorkerRecord& record)> put;
  };
  FakePodWorker();  // keeps the records itself
  explicit FakePodWorker(Records records) : records_(std::move(records)) {}
  FakePodWorker(const FakePodWorker&) = delete;
  FakePodWorker& operator=(const FakePodWorker&) = delete;

  /// A client of this object, which outlives it.
  std::unique_ptr<GrantClient> NewClient();

  Status UpdatePod(const v1::UpdatePodRequest& request, const std::string& traceparent);
  Status KillPod(const v1::KillPodRequest& request, const std::string& traceparent);
  std::optional<v1::WorkerRecord> Find(const std::string& uid) { return records_.find(uid); }
  void Set(const std::string& uid, v1::WorkerState state);
  /// The containers have stopped, and the worker is done. A grant that waits for this begins.
  void Finish(const std::string& uid);

  /// The calls that were accepted since the last time: "CREATE web 1/1", "KILL web 1".
  std::vector<std::string> TakeCalls();

  Status failure;     // the answer to each call, if it is an error
  bool mute = false;  // accepts calls, but its records do not change
  /// Runs at the start of each call; an error is the answer.
  std::function<Status(const std::string& uid)> on_call = [](const std::string&) {
    return OkStatus();
  };
  /// The incarnation that config-source shows; nothing: none.
  std::function<std::optional<int64_t>(const std::string& uid)> desired = [](const std::string&) {
    return std::nullopt;
  };
  std::vector<std::string> calls;           // since TakeCalls
  std::vector<v1::KillPodRequest> kills;    // accepted
  std::map<std::string, std::string> pods;  // UID -> the pod of the last accepted grant
  std::vector<std::string> traces;          // of all calls

 private:
  Status Begin(const std::string& uid, const std::string& traceparent);
  Status Accept(const v1::UpdatePodRequest& request);
  Status KillOrphan(const v1::KillPodRequest& request);
  void Put(const v1::WorkerRecord& record);

  std::map<std::string, v1::WorkerRecord> own_;  // without Records of the test
  Records records_;
  std::map<std::string, v1::UpdatePodRequest> next_;  // grants that wait for the end of a worker
  std::mutex mutex_;
};

}  // namespace splitlet::peers
