#include <memory>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/span.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/long_calls.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/runtime_config/container.h"

namespace splitlet::pod_worker {

namespace {

/// A runtime ends a pull that makes no progress by itself; this is only so that no call is without
/// an end.
constexpr Duration kPullLimit = 24h;

Status MayPull() {
  FAIL_POINT("pod-worker.pull-image.before");
  return OkStatus();
}

StatusOr<std::string> Answered(const std::string& image, const StatusOr<std::string>& ref) {
  FAIL_POINT("pod-worker.pull-image.after");
  if (ref.ok() && ref->empty()) return Internal("imageRef of image \"{}\" is not set", image);
  return ref;
}

/// What a pull of a pod's image is asked with.
struct Question {
  std::string image;  // as the runtime is asked for it
  runtime::v1::PodSandboxConfig config;
};

StatusOr<Question> MakeQuestion(const std::string& bytes, const std::string& image,
                                const NodeInfo& node) {
  kube::Pod pod;
  if (!pod.ParseFromString(bytes)) return DataLoss("the granted pod does not parse");
  auto tagged = WithDefaultTag(image);
  if (!tagged.ok()) return tagged.status();
  Question question{.image = std::move(*tagged), .config = {}};
  RETURN_IF_ERROR(MakeSandboxConfig({pod, node, {}, 0}, question.config), "sandbox config");
  if (const Status may = MayPull(); !may.ok()) return may;
  return question;
}

}  // namespace

/// What is known of the one pull: of a pod, image and life.
struct PodWorkerService::Pull {
  PullRequest request;
  std::string pod;     // serialised
  std::string tagged;  // the image as the runtime is asked for it
  std::shared_ptr<CancelToken> cancel;
  Span span;
  Clock::Time begun;
  StatusOr<std::string> ref = Unavailable("no answer");
  Duration took{0};
  uint64_t bytes = 0;
};

void PodWorkerService::StartPull(Worker& worker, const std::string& image,
                                 const std::set<std::string>& containers) {
  PullMemory& memory = worker.pulls[image];
  PodEvents events(deps_.events, RefOf(worker));
  for (const auto& container : containers)
    if (memory.waiting.insert(container).second)
      events.Normal("Pulling", fmt::format("Pulling image \"{}\"", image), container);
  if (memory.pulling) return;
  memory.pulling = true;
  pulls_.Add({worker.uid, worker.incarnation, image, deps_.clock.Now()});
  BeginPulls();
}

/// As many as may begin now; the others when one is done, or in time for the next.
void PodWorkerService::BeginPulls() {
  if (stopping_) return;
  const auto wanted = [this](const PullRequest& pull) { return PullerOf(pull) != nullptr; };
  while (auto next = pulls_.TakeNext(wanted)) BeginPull(std::move(*next));
  deps_.loop.CancelTimer(std::exchange(pull_timer_, 0));
  if (const auto wait = pulls_.NextIn())
    pull_timer_ = deps_.loop.RunAfter(*wait, [this] {
      pull_timer_ = 0;
      BeginPulls();
    });
}

/// The worker that waits for this pull; nullptr when its life ends or is another one.
Worker* PodWorkerService::PullerOf(const PullRequest& pull) const {
  Worker* worker = Find(pull.uid);
  const bool same = worker != nullptr && worker->incarnation == pull.incarnation;
  return same && worker->state == WorkerState::kSyncing ? worker : nullptr;
}

void PodWorkerService::BeginPull(PullRequest request) {
  Worker& worker = *PullerOf(request);
  auto pull = std::make_shared<Pull>(
      Pull{.request = std::move(request),
           .pod = worker.grant->pod,
           .tagged = {},
           .cancel = worker.ending,
           .span = Span("pull image", SpanKind::kInternal, worker.traceparent)});
  pull->span.Set("k8s.pod.uid", pull->request.uid);
  pull->span.Set("container.image.name", pull->request.image);
  const std::string strand =
      fmt::format("image-pull/{}/{}", pull->request.uid, pull->request.image);
  deps_.runtime_strands.Run(strand, [this, pull] {
    const cri::TraceScope trace(pull->span.traceparent());
    const auto question = MakeQuestion(pull->pod, pull->request.image, config_.node);
    pull->begun = deps_.clock.Now();
    if (!question.ok()) return TellPulled(pull, question.status());
    pull->tagged = question->image;
    deps_.long_calls.BeginPullImage(pull->tagged, question->config,
                                    {pull->begun + kPullLimit, pull->cancel},
                                    [this, pull](const StatusOr<std::string>& ref) {
                                      TellPulled(pull, Answered(pull->request.image, ref));
                                    });
    FAIL_POINT_VOID("pod-worker.pull-image.begun");
  });
}

/// On any thread: the answer goes to the loop; how large the image is, is asked on the way.
void PodWorkerService::TellPulled(const std::shared_ptr<Pull>& pull, StatusOr<std::string> ref) {
  pull->ref = std::move(ref);
  pull->took = deps_.clock.Now() - pull->begun;
  const auto tell = [this, pull] {
    pull->span.End(pull->ref.status());
    deps_.loop.Post([this, pull] { OnPulled(*pull); });
  };
  if (!pull->ref.ok()) return tell();
  const std::string strand =
      fmt::format("image-pulled/{}/{}", pull->request.uid, pull->request.image);
  deps_.runtime_strands.Run(strand, [this, pull, tell] {
    const cri::TraceScope trace(pull->span.traceparent());
    const auto local =
        deps_.images.ImageStatus(pull->tagged, After(deps_.clock, config_.request_timeout));
    if (local.ok() && local->has_value()) pull->bytes = (*local)->size_bytes;
    tell();
  });
}

void PodWorkerService::OnPulled(const Pull& pull) {
  pulls_.Done();
  BeginPulls();
  Worker* worker = PullerOf(pull.request);
  if (worker == nullptr || stopping_) return;
  const std::string& image = pull.request.image;
  PullMemory& memory = worker->pulls[image];
  memory.pulling = false;
  const std::set<std::string> containers = std::exchange(memory.waiting, {});
  PodEvents events(deps_.events, RefOf(*worker));
  const Duration waited = deps_.clock.Now() - pull.request.asked;
  if (pull.ref.ok()) {
    memory.pulled_ref = *pull.ref;
    metrics_.ObservePull(pull.bytes, waited);
    for (const auto& container : containers)
      events.Normal("Pulled",
                    fmt::format("Successfully pulled image \"{}\" in {} ({} including waiting). "
                                "Image size: {} bytes.",
                                image, FormatMillis(pull.took), FormatMillis(waited), pull.bytes),
                    container);
    return Advance(worker->uid);
  }
  const ImageDecision failed =
      PullFailed({image, "", deps_.clock.Now()}, pull.ref.status(), random_, memory);
  for (const auto& container : containers) {
    for (const auto& event : failed.events)
      event.warning ? events.Warning(event.reason, event.message, container)
                    : events.Normal(event.reason, event.message, container);
    worker->notes[container] = Note{failed.reason, failed.message, failed.retry_at};
    metrics_.CountStartError("container", failed.reason);
  }
  if (failed.retry_at) due_.Add(worker->uid, *failed.retry_at - deps_.clock.Now());
  PutWorkers(*worker);
}

}  // namespace splitlet::pod_worker
