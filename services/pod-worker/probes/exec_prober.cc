#include "services/pod-worker/probes/exec_prober.h"

#include <fmt/ranges.h>

#include "libs/base/text.h"

namespace splitlet::pod_worker {

ProbeAnswer AnswerOfExec(const StatusOr<cri::ExecResult>& result, const ProbeCall& call) {
  using enum ProbeAnswer::Kind;
  if (result.status().code() == StatusCode::kDeadlineExceeded) {
    return {kFailure,
            fmt::format(
                "command timed out: \"{}\" timed out after {}s",
                ToText(fmt::format("{}", fmt::join(std::get<ExecProbe>(call.action).command, " ")),
                       kMaxProbeOutput),
                call.timeout / 1s)};
  }
  if (!result.ok()) return {kError, std::string(Message(result.status()))};
  std::string output = result->out.substr(0, kMaxProbeOutput);
  output += result->err.substr(0, kMaxProbeOutput - output.size());
  return {result->exit_code == 0 ? kSuccess : kFailure, ToText(output, kMaxProbeOutput)};
}

void ExecProber::BeginStop() {
  stopping_ = true;
  waiting_.clear();
}

void ExecProber::Begin(const ProbeCall& call, Done done) {
  if (stopping_) return;
  if (waiting_.size() >= kMaxWaiting)
    return done({ProbeAnswer::Kind::kError, "too many probes wait for the runtime"});
  waiting_.emplace_back(call, std::move(done));
  BeginNext();
}

void ExecProber::BeginNext() {
  if (running_ >= kAtOnce || waiting_.empty()) return;
  const auto [call, done] = std::move(waiting_.front());
  waiting_.pop_front();
  ++running_;
  deps_.calls.BeginExecSync(
      cri::ContainerId(call.container_id), {std::get<ExecProbe>(call.action).command, call.timeout},
      After(deps_.clock, call.timeout + deps_.request_timeout),
      [this, call = call, done = done](const StatusOr<cri::ExecResult>& result) {
        deps_.loop.Post([this, done, answer = AnswerOfExec(result, call)] {
          --running_;
          BeginNext();
          done(answer);
        });
      });
}

}  // namespace splitlet::pod_worker
