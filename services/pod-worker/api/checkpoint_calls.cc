#include "services/pod-worker/api/checkpoint_calls.h"

#include <utility>

namespace splitlet::pod_worker {

Status CheckpointCalls::Check(const v1::CheckpointRequest& request) const {
  if (request.request_id().empty() || request.uid().empty() || request.container_id().empty())
    return InvalidArgument("request id, pod and container are needed");
  if (request.timeout_seconds() < 0)
    return InvalidArgument("a timeout of {} s", request.timeout_seconds());
  if (!deps_.has_pod(request.uid()))
    return NotFound("there is no pod {} on this node", request.uid());
  if (under_way_ >= kMaxCheckpoints) return ResourceExhausted("too many checkpoints are made");
  return OkStatus();
}

void CheckpointCalls::OnRequest(const v1::CheckpointRequest& request, Done done) {
  CHECK(deps_.loop.IsCurrent());
  const std::string& id = request.request_id();
  if (!calls_.contains(id)) {
    if (Status allowed = Check(request); !allowed.ok()) return done(std::move(allowed));
    Begin(request);
  }
  Call& call = calls_[id];
  if (call.answer) return done(*call.answer);
  if (waits_ >= kMaxCheckpointWaits)
    return done(ResourceExhausted("too many wait for checkpoints"));
  ++waits_;
  const uint64_t number = ++last_;
  call.waiting.emplace(number, std::move(done));
  deps_.loop.RunAfter(kCheckpointWait, [this, id, number] { OnWaited(id, number); });
}

void CheckpointCalls::Begin(const v1::CheckpointRequest& request) {
  ++under_way_;
  calls_.emplace(request.request_id(), Call{});
  deps_.strands.Run("checkpoint/" + request.request_id(), [this, request] {
    auto location = deps_.maker.Make(request);
    deps_.loop.Post([this, id = request.request_id(), location = std::move(location)] {
      OnMade(id, location);
    });
  });
}

void CheckpointCalls::OnMade(const std::string& request_id, const StatusOr<std::string>& location) {
  --under_way_;
  Call& call = calls_[request_id];
  if (location.ok()) {
    v1::CheckpointReply reply;
    reply.set_done(true);
    reply.set_location(*location);
    call.answer = std::move(reply);
  } else {
    call.answer = location.status();
  }
  waits_ -= call.waiting.size();
  for (const auto& [number, done] : std::exchange(call.waiting, {})) done(*call.answer);
  deps_.loop.RunAfter(kCheckpointKept, [this, request_id] { calls_.erase(request_id); });
}

void CheckpointCalls::OnWaited(const std::string& request_id, uint64_t number) {
  const auto call = calls_.find(request_id);
  if (call == calls_.end()) return;
  auto waited = call->second.waiting.extract(number);
  if (waited.empty()) return;  // it has its answer
  --waits_;
  waited.mapped()(v1::CheckpointReply());
}

}  // namespace splitlet::pod_worker
