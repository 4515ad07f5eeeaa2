#include <functional>
#include <memory>
#include <utility>

#include "libs/base/trace.h"
#include "libs/bus/bus.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/worker/grant_check.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

/// How many questions about grants are out at once.
constexpr size_t kAskers = 4;

const char* ReasonOf(GrantAnswer::Kind kind) {
  switch (kind) {
    case GrantAnswer::Kind::kTake: return "";
    case GrantAnswer::Kind::kAsk: return "not-wanted";
    case GrantAnswer::Kind::kRefuse: return "other-generation";
    case GrantAnswer::Kind::kForeign: return "other-pod";
  }
  UNREACHABLE();
}

bool IsNewer(const v1::DesiredRecord& record, const v1::DesiredRecord& other) {
  return std::pair{record.incarnation(), record.generation()} >
         std::pair{other.incarnation(), other.generation()};
}

}  // namespace

/// A grant may come before the view shows its pod: then config-source says what it wants.
PodWorkerService::GrantStep PodWorkerService::JudgeGrant(const v1::UpdatePodRequest& request,
                                                         const DoneStatus& done,
                                                         const std::string& traceparent,
                                                         const AskedDesired* asked) {
  peers::DesiredOwner::Record record = deps_.desired.Find(bus::KeyOf(request.uid()));
  const bool told = asked != nullptr && asked->ok() && asked->value() != nullptr;
  if (told && (record == nullptr || IsNewer(*asked->value(), *record))) record = asked->value();
  const GrantAnswer answer = CheckGrant(request, record.get());
  if (answer.kind == GrantAnswer::Kind::kTake) return GrantStep::kTake;
  if (answer.kind == GrantAnswer::Kind::kAsk && asked == nullptr) {
    AskForGrant(request, done, traceparent);
    return GrantStep::kAnswered;
  }
  if (answer.kind == GrantAnswer::Kind::kAsk && !asked->ok()) {
    done(Unavailable("cannot ask config-source for the pod: {}", Message(asked->status())));
    return GrantStep::kAnswered;
  }
  metrics_.grants_refused.Add({{"reason", ReasonOf(answer.kind)}}).Increment();
  deps_.log.Warn("a grant is refused",
                 {KV("podUID", request.uid()), KV("incarnation", request.incarnation()),
                  KV("generation", request.generation()), KV("err", answer.why),
                  KV(kTraceIdField, TraceIdOf(traceparent))});
  done(answer.why);
  return GrantStep::kAnswered;
}

void PodWorkerService::AskForGrant(const v1::UpdatePodRequest& request, const DoneStatus& done,
                                   const std::string& traceparent) {
  if (!asking_.insert(request.uid()).second)
    return done(Unavailable("config-source is being asked for the pod"));
  const size_t asker = std::hash<std::string>{}(request.uid()) % kAskers;
  const Deadline deadline = After(deps_.clock, kAskOwner);
  deps_.strands.Run(
      fmt::format("ask/grant/{}", asker), [this, request, done, traceparent, deadline] {
        const auto asked =
            std::make_shared<const AskedDesired>(deps_.owner.Find(request.uid(), deadline));
        deps_.loop.Post([this, request, done, traceparent, asked] {
          asking_.erase(request.uid());
          Update(request, done, traceparent, asked.get());
        });
      });
}

}  // namespace splitlet::pod_worker
