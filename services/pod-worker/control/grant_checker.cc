#include "services/pod-worker/control/grant_checker.h"

#include <utility>

#include "libs/base/trace.h"
#include "libs/bus/bus.h"
#include "services/pod-worker/control/grant_check.h"
#include "services/pod-worker/control/recovery/desired_confirmation.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

/// How many questions about grants wait for an answer at the same time.
constexpr size_t kAskers = 4;

GrantChecker::Step StepOf(GrantAnswer::Kind kind) {
  switch (kind) {
    case GrantAnswer::Kind::kTake: return GrantChecker::Step::kTake;
    case GrantAnswer::Kind::kAsk:
    case GrantAnswer::Kind::kRefuse: return GrantChecker::Step::kRefused;
    case GrantAnswer::Kind::kUnmanaged: return GrantChecker::Step::kUnmanaged;
    case GrantAnswer::Kind::kUnsafe: return GrantChecker::Step::kUnsafe;
  }
  UNREACHABLE();
}

const char* ReasonOf(GrantAnswer::Kind kind) {
  switch (kind) {
    case GrantAnswer::Kind::kTake: return "";
    case GrantAnswer::Kind::kAsk: return "not-wanted";
    case GrantAnswer::Kind::kRefuse: return "other-generation";
    case GrantAnswer::Kind::kUnmanaged: return "other-pod";
    case GrantAnswer::Kind::kUnsafe: return "unsafe";
  }
  UNREACHABLE();
}

bool IsNewer(const v1::DesiredRecord& record, const v1::DesiredRecord& other) {
  return std::pair{record.incarnation(), record.generation()} >
         std::pair{other.incarnation(), other.generation()};
}

}  // namespace

GrantChecker::Result GrantChecker::Check(const Question& question) const {
  const auto& [request, traceparent, pod, granted, asked] = question;
  peers::DesiredOwner::Record record = deps_.desired.Find(bus::KeyOf(request.uid()));
  const bool answered = asked != nullptr && asked->ok() && asked->value() != nullptr;
  if (answered && (record == nullptr || IsNewer(*asked->value(), *record))) record = asked->value();
  GrantAnswer answer = CheckGrant(request, pod, record.get(), granted);
  if (answer.kind == GrantAnswer::Kind::kTake) return {.pod = std::move(answer.pod)};
  if (answer.kind == GrantAnswer::Kind::kAsk && asked == nullptr) return {.step = Step::kAsk};
  if (answer.kind == GrantAnswer::Kind::kAsk && !asked->ok())
    return {
        .step = Step::kRefused,
        .why = Unavailable("cannot ask config-source for the pod: {}", Message(asked->status()))};
  deps_.metrics.grants_refused.Add({{"reason", ReasonOf(answer.kind)}}).Increment();
  // sync-loop logs the others, when the next grants are refused too.
  const bool for_good =
      answer.kind == GrantAnswer::Kind::kUnsafe || answer.kind == GrantAnswer::Kind::kUnmanaged;
  deps_.log.At(for_good ? LogLevel::kWarn : LogLevel::kDebug, "a grant is refused",
               {KV("podUID", request.uid()), KV("incarnation", request.incarnation()),
                KV("generation", request.generation()), KV("err", answer.why),
                KV(kTraceIdField, TraceIdOf(traceparent))});
  return {.step = StepOf(answer.kind),
          .why = answer.why,
          .pod = std::move(answer.pod),
          .record = std::move(record)};
}

void GrantChecker::Ask(const v1::UpdatePodRequest& request,
                       std::function<void(const Asked&)> answered, const Done& done) {
  if (!asking_.insert(request.uid()).second)
    return done(Unavailable("config-source is being asked for the pod"));
  const size_t asker = std::hash<std::string>{}(request.uid()) % kAskers;
  const Deadline deadline = After(deps_.clock, kAskOwner);
  deps_.strands.Run(fmt::format("ask/grant/{}", asker), [this, uid = request.uid(), deadline,
                                                         answered = std::move(answered)] {
    const auto asked = std::make_shared<const Asked>(deps_.owner.Find(uid, deadline));
    deps_.loop.Post([this, uid, asked, answered] {
      asking_.erase(uid);
      answered(*asked);
    });
  });
}

}  // namespace splitlet::pod_worker
