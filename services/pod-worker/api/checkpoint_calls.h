#pragma once

/// Archives that are being made, and the calls that wait for them. An archive may take longer than
/// a call: a caller that has waited for a while is asked to call again, with the id of its request.
/// In:    requests.
/// Owns:  what is under way, and answers for some minutes.
/// Out:   archives, each on a strand of its own.
/// Killed at any line: the runtime's half of an archive may be left; who asked sees UNAVAILABLE.
/// Threads: loop thread.
/// Errors: RESOURCE_EXHAUSTED when too many are made, or wait; those of CheckpointMaker.
/// Source: proto/splitlet/v1/checkpoints.proto.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "libs/exec/exec.h"
#include "services/pod-worker/api/checkpoint_maker.h"
#include "splitlet/v1/checkpoints.pb.h"

namespace splitlet::pod_worker {

inline constexpr size_t kMaxCheckpoints = 2, kMaxCheckpointWaits = 8;
inline constexpr Duration kCheckpointWait = 45s;   // of one call
inline constexpr Duration kCheckpointKept = 5min;  // an answer

class CheckpointCalls {
 public:
  struct Deps {
    exec::EventLoop& loop;
    exec::Strands& strands;
    CheckpointMaker maker;
    std::function<bool(const std::string& uid)> has_pod;
  };
  using Done = std::function<void(StatusOr<v1::CheckpointReply>)>;

  explicit CheckpointCalls(Deps deps) : deps_(std::move(deps)) {}
  CheckpointCalls(const CheckpointCalls&) = delete;
  CheckpointCalls& operator=(const CheckpointCalls&) = delete;

  /// `done` is called once, within kCheckpointWait.
  void OnRequest(const v1::CheckpointRequest& request, Done done);

 private:
  struct Call {
    std::optional<StatusOr<v1::CheckpointReply>> answer;  // none: it is being made
    std::map<uint64_t, Done> waiting;
  };
  Status Check(const v1::CheckpointRequest& request) const;
  void Begin(const v1::CheckpointRequest& request);
  void OnMade(const std::string& request_id, const StatusOr<std::string>& location);
  void OnWaited(const std::string& request_id, uint64_t number);

  Deps deps_;
  std::map<std::string, Call> calls_;  // by request id
  size_t under_way_ = 0, waits_ = 0;
  uint64_t last_ = 0;
};

}  // namespace splitlet::pod_worker
