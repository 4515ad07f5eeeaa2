#include "services/pod-worker/images/puller.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/span.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/long_calls.h"
#include "libs/kube/image_name.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/sandbox.h"

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
  auto tagged = kube::WithDefaultTag(image);
  if (!tagged.ok()) return tagged.status();
  Question question{.image = std::move(*tagged), .config = {}};
  RETURN_IF_ERROR(MakeSandboxConfig({pod, node, {}, 0}, question.config), "sandbox config");
  if (const Status may = MayPull(); !may.ok()) return may;
  return question;
}

}  // namespace

/// One pull: of a pod, image and incarnation.
struct ImagePuller::Flight {
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

std::map<std::string, PullMemory> ImagePuller::MemoryOf(const std::string& uid) const {
  const auto found = memories_.find(uid);
  return found == memories_.end() ? std::map<std::string, PullMemory>{} : found->second;
}

void ImagePuller::MarkUsed(const std::string& uid, const std::string& image) {
  memories_[uid][image].pulled_ref.clear();
}

void ImagePuller::Pull(const Worker& worker, const std::string& image,
                       const std::set<std::string>& containers) {
  PullMemory& memory = memories_[worker.uid][image];
  PodEvents events(deps_.events, RefOf(worker));
  for (const auto& container : containers)
    if (memory.waiting.insert(container).second)
      events.Normal("Pulling", fmt::format("Pulling image \"{}\"", image), container);
  if (memory.pulling) return;
  memory.pulling = true;
  queue_.Add({worker.uid, worker.incarnation, image, deps_.clock.Now()});
  BeginWaiting();
}

/// As many as may begin now; the others when one is done, or in time for the next.
void ImagePuller::BeginWaiting() {
  if (stopping_) return;
  const auto wanted = [this](const PullRequest& pull) { return deps_.waiting(pull) != nullptr; };
  while (auto next = queue_.TakeNext(wanted)) Begin(std::move(*next));
  deps_.loop.CancelTimer(std::exchange(timer_, 0));
  if (const auto wait = queue_.NextIn())
    timer_ = deps_.loop.RunAfter(*wait, [this] {
      timer_ = 0;
      BeginWaiting();
    });
}

void ImagePuller::Begin(PullRequest request) {
  const Worker& worker = *deps_.waiting(request);
  auto flight = std::make_shared<Flight>(
      Flight{.request = std::move(request),
             .pod = worker.grant->pod,
             .tagged = {},
             .cancel = worker.ending,
             .span = Span("pull image", SpanKind::kInternal, worker.traceparent)});
  flight->span.Set("k8s.pod.uid", flight->request.uid);
  flight->span.Set("container.image.name", flight->request.image);
  const std::string strand =
      fmt::format("image-pull/{}/{}", flight->request.uid, flight->request.image);
  deps_.strands.Run(strand, [this, flight] {
    const cri::TraceScope trace(flight->span.traceparent());
    const auto question = MakeQuestion(flight->pod, flight->request.image, deps_.node);
    flight->begun = deps_.clock.Now();
    if (!question.ok()) return OnAnswer(flight, question.status());
    flight->tagged = question->image;
    deps_.long_calls.BeginPullImage(flight->tagged, question->config,
                                    {flight->begun + kPullLimit, flight->cancel},
                                    [this, flight](const StatusOr<std::string>& ref) {
                                      OnAnswer(flight, Answered(flight->request.image, ref));
                                    });
    FAIL_POINT_VOID("pod-worker.pull-image.begun");
  });
}

/// On any thread: the answer goes to the loop; how large the image is, is asked on the way.
void ImagePuller::OnAnswer(const std::shared_ptr<Flight>& flight, StatusOr<std::string> ref) {
  flight->ref = std::move(ref);
  flight->took = deps_.clock.Now() - flight->begun;
  const auto post = [this, flight] {
    flight->span.End(flight->ref.status());
    deps_.loop.Post([this, flight] { OnPulled(*flight); });
  };
  if (!flight->ref.ok()) return post();
  const std::string strand =
      fmt::format("image-pulled/{}/{}", flight->request.uid, flight->request.image);
  deps_.strands.Run(strand, [this, flight, post] {
    const cri::TraceScope trace(flight->span.traceparent());
    const auto local =
        deps_.images.ImageStatus(flight->tagged, After(deps_.clock, deps_.request_timeout));
    if (local.ok() && local->has_value()) flight->bytes = (*local)->size_bytes;
    post();
  });
}

void ImagePuller::OnPulled(const Flight& flight) {
  queue_.Done();
  BeginWaiting();
  Worker* worker = deps_.waiting(flight.request);
  if (worker == nullptr || stopping_) return;
  const std::string& image = flight.request.image;
  PullMemory& memory = memories_[worker->uid][image];
  memory.pulling = false;
  PullResult result{.containers = std::exchange(memory.waiting, {})};
  if (!flight.ref.ok()) return OnFailed(*worker, flight, std::move(result));
  memory.pulled_ref = *flight.ref;
  const Duration waited = deps_.clock.Now() - flight.request.asked;
  deps_.metrics.ObservePull(flight.bytes, waited);
  PodEvents events(deps_.events, RefOf(*worker));
  for (const auto& container : result.containers)
    events.Normal("Pulled",
                  fmt::format("Successfully pulled image \"{}\" in {} ({} including waiting). "
                              "Image size: {} bytes.",
                              image, FormatMillis(flight.took), FormatMillis(waited), flight.bytes),
                  container);
  result.pulled = true;
  deps_.on_pulled(*worker, result);
}

void ImagePuller::OnFailed(Worker& worker, const Flight& flight, PullResult result) {
  const std::string& image = flight.request.image;
  const ImageDecision failed = PullFailed({image, "", deps_.clock.Now()}, flight.ref.status(),
                                          deps_.random, memories_[worker.uid][image]);
  PodEvents events(deps_.events, RefOf(worker));
  for (const auto& container : result.containers) {
    for (const auto& event : failed.events)
      event.warning ? events.Warning(event.reason, event.message, container)
                    : events.Normal(event.reason, event.message, container);
    deps_.metrics.CountStartError("container", failed.reason);
  }
  result.reason = failed.reason;
  result.message = failed.message;
  result.retry_at = failed.retry_at;
  deps_.on_pulled(worker, result);
}

}  // namespace splitlet::pod_worker
