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

void ExecProber::Begin(const ProbeCall& call, Done done) {
  const auto start = [this, call, done] { Run(call, done); };
  if (!slots_.Enter(call.slow, start))
    done({.kind = ProbeAnswer::Kind::kError,
          .text = "too many probes wait for a slot to run a command"});
}

void ExecProber::Run(const ProbeCall& call, const Done& done) {
  const Clock::Time began = deps_.clock.Now();
  deps_.calls.BeginExecSync(
      cri::ContainerId(call.container_id),
      {.words = std::get<ExecProbe>(call.action).command,
       .timeout = call.timeout,
       .keep = {.bytes = kMaxProbeOutput}},
      After(deps_.clock, call.timeout + deps_.request_timeout),
      [this, call, done, began](const StatusOr<cri::ExecResult>& result) {
        deps_.loop.Post([this, call, done, began, answer = AnswerOfExec(result, call)]() mutable {
          slots_.Leave(call.slow);
          answer.took = deps_.clock.Now() - began;
          done(std::move(answer));
        });
      });
}

}  // namespace splitlet::pod_worker
