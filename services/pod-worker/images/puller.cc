#include "services/pod-worker/images/puller.h"

#include <algorithm>
#include <iterator>
#include <optional>
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

/// Whatever writes records runs here, one after the other.
constexpr const char* kRecords = "pull-records";

std::string StrandOf(const PullRequest& request) {
  return fmt::format("image-pull/{}/{}", request.uid, request.image);
}

/// As a kubelet puts several errors together: each text once.
Status Together(const std::vector<Status>& errors) {
  std::vector<std::string> texts;
  for (const auto& error : errors)
    if (auto text = PullErrorText(error); std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  if (texts.size() == 1) return errors.front();
  return Unknown("[{}]", fmt::join(texts, ", "));
}

}  // namespace

/// One pull: of a pod, image and incarnation.
struct ImagePuller::Flight {
  PullRequest request;
  std::string pod;     // serialised
  std::string tagged;  // the image as the runtime is asked for it
  PodRef who;
  std::shared_ptr<const ObjectSource> objects;  // null: this node has none
  runtime::v1::PodSandboxConfig config;
  std::vector<Credential> credentials;  // tried one after the other; none: without
  std::vector<Status> refused;          // what those before the next one got
  bool noted = true;                    // false: the image is there, and its record is not
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

void ImagePuller::Settle() {
  deps_.strands.Run(kRecords, [this] {
    if (deps_.records.IsEmpty()) return;
    const auto images = deps_.images.ListImages(After(deps_.clock, deps_.request_timeout));
    const Status settled = images.ok() ? deps_.records.Settle(*images) : images.status();
    deps_.log.LogIfError(settled, "settle the records of pulls");
  });
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
  const std::string tagged = kube::WithDefaultTag(request.image).value_or(request.image);
  auto flight = std::make_shared<Flight>(
      Flight{.request = std::move(request),
             .pod = worker.grant->pod,
             .tagged = tagged,
             .who = RefOf(worker),
             .objects = deps_.objects ? deps_.objects() : nullptr,
             .cancel = worker.ending,
             .span = Span("pull image", SpanKind::kInternal, worker.traceparent)});
  flight->span.Set("k8s.pod.uid", flight->request.uid);
  flight->span.Set("container.image.name", flight->request.image);
  ++intents_[flight->tagged].pulls;
  deps_.strands.Run(StrandOf(flight->request), [this, flight] {
    const Status ready = Prepare(*flight);
    flight->begun = deps_.clock.Now();
    if (!ready.ok()) return OnAnswer(flight, ready);
    deps_.providers.Find(RepositoryOf(flight->request.image),
                         [this, flight](std::vector<Credential> found) {
                           std::ranges::move(found, std::back_inserter(flight->credentials));
                           NoteIntent(flight);
                         });
  });
}

void ImagePuller::NoteIntent(const std::shared_ptr<Flight>& flight) {
  deps_.strands.Run(kRecords, [this, flight] {
    const Status noted = deps_.records.PutIntent(flight->tagged);
    if (!noted.ok())
      return OnAnswer(flight, Internal("Failed to record image pull intent for container image "
                                       "\"{}\": {}",
                                       flight->request.image, Message(noted)));
    Ask(flight);
  });
}

/// What the pull is asked with.
Status ImagePuller::Prepare(Flight& flight) {
  kube::Pod pod;
  if (!pod.ParseFromString(flight.pod)) return DataLoss("the granted pod does not parse");
  RETURN_IF_ERROR(MakeSandboxConfig({pod, deps_.node, {}, 0}, flight.config), "sandbox config");
  const auto secrets = PullSecretsOf(pod, flight.objects.get());
  if (!secrets.ok()) return secrets.status();
  if (!secrets->missing.empty())
    PodEvents(deps_.events, flight.who)
        .Warning("FailedToRetrieveImagePullSecret",
                 fmt::format("Unable to retrieve some image pull secrets ({}); attempting to pull "
                             "the image may not succeed.",
                             fmt::join(secrets->missing, ", ")));
  const std::string repository = RepositoryOf(flight.request.image);
  flight.credentials = secrets->keyring.For(repository);
  std::vector<std::string> problems;
  for (auto& credential : deps_.node_credentials.Read(problems).For(repository))
    flight.credentials.push_back(std::move(credential));
  for (const auto& problem : problems)
    deps_.log.Warn("credentials of the node cannot be used", {KV("err", problem)});
  return MayPull();
}

void ImagePuller::Ask(const std::shared_ptr<Flight>& flight) {
  const cri::TraceScope trace(flight->span.traceparent());
  const bool anonymous = flight->credentials.empty();
  runtime::v1::AuthConfig auth;
  if (!anonymous) {
    const Credential& credential = flight->credentials.at(flight->refused.size());
    auth.set_username(credential.user);
    auth.set_password(credential.password);
  }
  deps_.long_calls.BeginPullImage(
      {flight->tagged, flight->config, anonymous ? nullptr : &auth},
      {flight->begun + kPullLimit, flight->cancel},
      [this, flight](const StatusOr<std::string>& ref) { OnTried(flight, ref); });
  FAIL_POINT_VOID("pod-worker.pull-image.begun");
}

/// On any thread.
void ImagePuller::OnTried(const std::shared_ptr<Flight>& flight, const StatusOr<std::string>& ref) {
  auto answer = Answered(flight->request.image, ref);
  if (answer.ok() || flight->cancel->cancelled()) return OnAnswer(flight, std::move(answer));
  flight->refused.push_back(answer.status());
  if (flight->refused.size() >= flight->credentials.size())
    return OnAnswer(flight, Together(flight->refused));
  deps_.strands.Run(StrandOf(flight->request), [this, flight] { Ask(flight); });
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
  deps_.strands.Run(StrandOf(flight->request), [this, flight, post] {
    const cri::TraceScope trace(flight->span.traceparent());
    const auto local =
        deps_.images.ImageStatus(flight->tagged, After(deps_.clock, deps_.request_timeout));
    if (local.ok() && local->has_value()) flight->bytes = (*local)->size_bytes;
    deps_.strands.Run(kRecords, [this, flight, post] {
      std::optional<Credential> used;
      if (!flight->credentials.empty()) used = flight->credentials.at(flight->refused.size());
      const Status noted = deps_.records.AddAccess({flight->tagged, *flight->ref}, used);
      flight->noted = noted.ok();
      deps_.log.LogIfError(noted, "note with whose credentials an image came");
      post();
    });
  });
}

void ImagePuller::OnPulled(const Flight& flight) {
  queue_.Done();
  EndIntent(flight);
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

void ImagePuller::EndIntent(const Flight& flight) {
  const auto found = intents_.find(flight.tagged);
  found->second.keep = found->second.keep || !flight.noted;
  if (--found->second.pulls > 0) return;
  const bool keep = found->second.keep;
  intents_.erase(found);
  if (keep || stopping_) return;
  deps_.strands.Run(kRecords, [this, image = flight.tagged] {
    deps_.log.LogIfError(deps_.records.RemoveIntent(image), "forget a pull that is over");
  });
}

void ImagePuller::AddAccess(const ImageIdentity& image, const Credential& shown) {
  deps_.strands.Run(kRecords, [this, image, shown] {
    deps_.log.LogIfError(deps_.records.AddAccess(image, shown), "note who may use an image");
  });
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
