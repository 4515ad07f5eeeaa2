#include "services/pod-worker/images/puller.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/span.h"
#include "libs/cri/long_calls.h"
#include "libs/cri/trace_scope.h"
#include "libs/kube/image_name.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/sandbox.h"

namespace splitlet::pod_worker {

namespace {

/// The runtime itself ends a pull without progress; this only bounds the call.
constexpr Duration kPullLimit = 24h;

/// Between two rounds of Settle, and after one in which the runtime did not answer.
constexpr Duration kSettlePeriod = 5min, kSettleRetry = 10s;

Status MayPull() {
  FAIL_POINT("pod-worker.pull-image.before");
  return OkStatus();
}

StatusOr<std::string> Answered(const std::string& image, const StatusOr<std::string>& ref) {
  FAIL_POINT("pod-worker.pull-image.after");
  if (ref.ok() && ref->empty()) return Unknown("imageRef of image \"{}\" is not set", image);
  return ref;
}

/// The strand of all writes of records.
constexpr const char* kRecords = "pull-records";

std::string StrandOf(PullId id) { return fmt::format("image-pull/{}", id); }

bool AreEqual(const std::vector<Credential>& some, const std::vector<Credential>& others) {
  return std::ranges::equal(some, others, [](const Credential& a, const Credential& b) {
    return a.user == b.user && a.password == b.password && a.secret == b.secret &&
           a.account == b.account;
  });
}

/// Joins errors as a kubelet does: each text once.
Status Together(const std::vector<Status>& errors) {
  std::vector<std::string> texts;
  for (const auto& error : errors)
    if (auto text = PullErrorText(error); std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  if (texts.size() == 1) return errors.front();
  return Unknown("[{}]", fmt::join(texts, ", "));
}

}  // namespace

/// A pod that waits for a pull.
struct ImagePuller::Member {
  PullRequest request;
  std::shared_ptr<CancelToken> ending;
  int ending_id = 0;  // of the callback in `ending`; 0: none
};

/// One pull. The request is the first pod's; the pull is given up when all its pods have ended.
struct ImagePuller::Flight {
  PullId id = 0;
  std::vector<Member> members;  // the loop's
  std::string image;            // as the first pod writes it
  kube::PodBytes pod;           // the first pod
  std::string tagged;           // the image name in PullImage
  PodRef who;
  TokenOwner owner;                             // of tokens of service accounts
  std::shared_ptr<const ObjectSource> objects;  // null: this node has none
  runtime::v1::PodSandboxConfig config;
  std::vector<Credential> credentials;  // tried one after the other; empty: without
  std::vector<Status> refused;          // answers to the credentials tried so far
  bool recorded = true;                 // false: the record of the pulled image is not written
  std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
  Span span;
  Clock::Time began_at;
  StatusOr<std::string> ref = Unavailable("no answer");
  Duration took{0};
  uint64_t bytes = 0;
};

std::map<std::string, PullMemory> ImagePuller::MemoryOf(const std::string& uid) const {
  const auto found = memories_.find(uid);
  return found == memories_.end() ? std::map<std::string, PullMemory>{} : found->second;
}

void ImagePuller::MarkUsed(const std::string& uid, const std::string& image,
                           const std::set<std::string>& kept_for) {
  PullMemory& memory = memories_[uid][image];
  if (kept_for.empty()) memory.pulled_ref.clear();
  memory.kept_for = kept_for;
  memory.unreported_failure = false;
}

void ImagePuller::MarkBackedOff(const std::string& uid, const std::string& image,
                                const std::set<std::string>& containers) {
  memories_[uid][image].backed_off.insert(containers.begin(), containers.end());
}

/// Leaves the intents of images that are being pulled. Runs on the strand of the records, so the
/// list of images is newer than every record.
void ImagePuller::Settle() {
  if (stopping_) return;
  std::set<std::string> under_way;
  for (const auto& [image, intent] : intents_) under_way.insert(kube::NormalImageName(image));
  deps_.env.strands.Run(kRecords, [this, under_way] {
    const auto again = [this](Duration wait) {
      deps_.env.loop.Post([this, wait] { deps_.env.loop.RunAfter(wait, [this] { Settle(); }); });
    };
    if (deps_.records.IsEmpty()) return again(kSettlePeriod);
    auto images = deps_.images.ListImages(After(deps_.env.clock, deps_.request_timeout));
    // GetHealth reports that the runtime does not answer.
    if (!images.ok()) return again(kSettleRetry);
    const auto is_pulled = [&under_way](const auto& name) { return under_way.contains(name); };
    for (auto& image : *images) {
      std::erase_if(image.tags, is_pulled);
      std::erase_if(image.digests, is_pulled);
    }
    deps_.env.log.LogIfError(deps_.records.Settle(*images),
                             "bring the records of pulls in line with the images of the runtime");
    again(kSettlePeriod);
  });
}

bool ImagePuller::Join(const Worker& worker, const std::string& image,
                       const std::set<std::string>& containers) {
  PullMemory& memory = memories_[worker.uid][image];
  if (!memory.pulling) return false;
  PodEvents events(deps_.events, RefOf(worker));
  for (const auto& container : containers)
    if (memory.waiting.insert(container).second)
      events.PullBegan(fmt::format("Pulling image \"{}\"", image), container);
  return true;
}

void ImagePuller::Pull(const Worker& worker, const std::string& image,
                       const std::set<std::string>& containers) {
  if (Join(worker, image, containers)) return;
  PullMemory& memory = memories_[worker.uid][image];
  memory.pulling = true;
  memory.pulled_ref.clear();
  memory.kept_for.clear();
  Join(worker, image, containers);
  auto flight = std::make_shared<Flight>(
      Flight{.id = ++last_id_,
             .image = image,
             .pod = worker.grant->pod,
             .tagged = kube::WithDefaultTag(image).value_or(image),
             .who = RefOf(worker),
             .objects = deps_.objects(worker),
             .span = Span("pull image", SpanKind::kInternal, worker.traceparent)});
  flight->members.push_back(
      {{worker.uid, worker.incarnation, image, deps_.env.clock.Now()}, worker.ending});
  flight->span.Set("k8s.pod.uid", worker.uid);
  flight->span.Set("container.image.name", image);
  deps_.env.strands.Run(StrandOf(flight->id), [this, flight] {
    const auto post = [this, flight](const Status& ready) {
      deps_.env.loop.Post([this, flight, ready] { OnPrepared(flight, ready); });
    };
    // Not the answer of a registry, so its text is shown unchanged.
    if (const Status ready = Prepare(*flight); !ready.ok())
      return post(Unknown("{}", Message(ready)));
    deps_.providers.Find(RepositoryOf(flight->image), flight->owner,
                         [flight, post](std::vector<Credential> found) {
                           std::ranges::move(found, std::back_inserter(flight->credentials));
                           post(OkStatus());
                         });
  });
}

void ImagePuller::OnPrepared(const FlightPtr& flight, const Status& ready) {
  if (stopping_) return;
  if (!ready.ok()) {
    flight->ref = ready;
    flight->span.End(ready);
    return Report(*flight, flight->members.front());
  }
  if (JoinOther(*flight)) return;
  flights_[flight->id] = flight;
  Listen(flight, flight->members.front());
  queue_.Add(flight->id);
  BeginWaiting();
}

/// True: another pull with the same credentials serves this pod too.
bool ImagePuller::JoinOther(const Flight& flight) {
  for (const auto& [id, other] : flights_) {
    if (other->tagged != flight.tagged || other->cancel->cancelled() ||
        !AreEqual(other->credentials, flight.credentials))
      continue;
    other->members.push_back(flight.members.front());
    Listen(other, other->members.back());
    return true;
  }
  return false;
}

void ImagePuller::Listen(const FlightPtr& flight, Member& member) {
  member.ending_id = member.ending->Add([this, id = flight->id] {
    deps_.env.loop.Post([this, id] {
      const auto found = flights_.find(id);
      if (found != flights_.end() && !IsWanted(*found->second)) found->second->cancel->Cancel();
    });
  });
}

bool ImagePuller::IsWanted(const Flight& flight) const {
  return std::ranges::any_of(flight.members, [this](const Member& member) {
    return !member.ending->cancelled() && deps_.waiting(member.request) != nullptr;
  });
}

/// Begins the pulls that the queue allows, and sets a timer for the next one.
void ImagePuller::BeginWaiting() {
  if (stopping_) return;
  const auto wanted = [this](PullId id) {
    const auto flight = flights_.find(id);
    if (IsWanted(*flight->second)) return true;
    flights_.erase(flight);
    return false;
  };
  while (auto next = queue_.TakeNext(wanted)) Begin(flights_.at(*next));
  deps_.env.loop.CancelTimer(std::exchange(timer_, 0));
  if (const auto wait = queue_.NextIn())
    timer_ = deps_.env.loop.RunAfter(*wait, [this] {
      timer_ = 0;
      BeginWaiting();
    });
}

void ImagePuller::Begin(const FlightPtr& flight) {
  flight->began_at = deps_.env.clock.Now();
  ++intents_[flight->tagged].pulls;
  deps_.env.strands.Run(StrandOf(flight->id), [this, flight] {
    if (const Status may = MayPull(); !may.ok()) return OnAnswer(flight, may);
    RecordIntent(flight);
  });
}

void ImagePuller::RecordIntent(const FlightPtr& flight) {
  deps_.env.strands.Run(kRecords, [this, flight] {
    const Status recorded = deps_.records.PutIntent(flight->tagged);
    if (!recorded.ok())
      return OnAnswer(flight, Unknown("Failed to record image pull intent for container image "
                                      "\"{}\": {}",
                                      flight->image, Message(recorded)));
    Ask(flight);
  });
}

/// Collects the sandbox configuration and the credentials of the pull.
Status ImagePuller::Prepare(Flight& flight) {
  const kube::Pod pod = flight.pod.Parse();
  RETURN_IF_ERROR(MakeSandboxConfig({pod, deps_.node, {}, 0}, flight.config), "sandbox config");
  const auto& meta = pod.metadata();
  flight.owner = {meta.uid(), meta.name(), meta.namespace_(), pod.spec().service_account_name()};
  const auto secrets = PullSecretsOf(pod, flight.objects.get());
  if (!secrets.ok()) return secrets.status();
  if (!secrets->missing.empty())
    PodEvents(deps_.events, flight.who)
        .Warning("FailedToRetrieveImagePullSecret",
                 fmt::format("Unable to retrieve some image pull secrets ({}); attempting to pull "
                             "the image may not succeed.",
                             fmt::join(secrets->missing, ", ")));
  const std::string repository = RepositoryOf(flight.image);
  flight.credentials = secrets->keyring.For(repository);
  std::vector<std::string> problems;
  for (auto& credential : deps_.node_credentials.Read(problems).For(repository))
    flight.credentials.push_back(std::move(credential));
  for (const auto& problem : problems)
    deps_.env.log.Warn("cannot use credentials of the node, pulling without them",
                       {KV("err", problem)});
  return OkStatus();
}

void ImagePuller::Ask(const FlightPtr& flight) {
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
      {flight->began_at + kPullLimit, flight->cancel},
      [this, flight](const StatusOr<std::string>& ref) { OnTried(flight, ref); });
  FAIL_POINT_VOID("pod-worker.pull-image.begun");
}

/// On any thread.
void ImagePuller::OnTried(const FlightPtr& flight, const StatusOr<std::string>& ref) {
  auto answer = Answered(flight->image, ref);
  if (answer.ok() || flight->cancel->cancelled()) return OnAnswer(flight, std::move(answer));
  flight->refused.push_back(answer.status());
  if (flight->refused.size() >= flight->credentials.size())
    return OnAnswer(flight, Together(flight->refused));
  deps_.env.strands.Run(StrandOf(flight->id), [this, flight] { Ask(flight); });
}

/// On any thread. Asks for the size of the image before the answer goes to the loop.
void ImagePuller::OnAnswer(const FlightPtr& flight, StatusOr<std::string> ref) {
  flight->ref = std::move(ref);
  flight->took = deps_.env.clock.Now() - flight->began_at;
  const auto post = [this, flight] {
    flight->span.End(flight->ref.status());
    deps_.env.loop.Post([this, flight] { OnPulled(flight); });
  };
  if (!flight->ref.ok()) return post();
  deps_.env.strands.Run(StrandOf(flight->id), [this, flight, post] {
    const cri::TraceScope trace(flight->span.traceparent());
    const auto& annotations = flight->config.annotations();
    const auto local =
        deps_.images.ImageStatus({flight->tagged, {annotations.begin(), annotations.end()}},
                                 After(deps_.env.clock, deps_.request_timeout));
    if (local.ok() && local->has_value()) flight->bytes = (*local)->size_bytes;
    deps_.env.strands.Run(kRecords, [this, flight, post] {
      std::optional<Credential> used;
      if (!flight->credentials.empty()) used = flight->credentials.at(flight->refused.size());
      const Status recorded = deps_.records.AddAccess({flight->tagged, *flight->ref}, used);
      flight->recorded = recorded.ok();
      deps_.env.log.LogIfError(recorded, "record the credentials of a pull");
      post();
    });
  });
}

void ImagePuller::OnPulled(const FlightPtr& flight) {
  queue_.Done();
  EndIntent(*flight);
  flights_.erase(flight->id);
  for (const auto& member : flight->members) member.ending->Remove(member.ending_id);
  BeginWaiting();
  if (flight->ref.ok())
    deps_.metrics.ObservePull(flight->bytes,
                              deps_.env.clock.Now() - flight->members.front().request.asked);
  for (const auto& member : flight->members) Report(*flight, member);
}

void ImagePuller::Report(const Flight& flight, const Member& member) {
  Worker* worker = deps_.waiting(member.request);
  if (worker == nullptr || stopping_) return;
  const std::string& image = member.request.image;
  PullMemory& memory = memories_[worker->uid][image];
  memory.pulling = false;
  const auto containers = std::exchange(memory.waiting, {});
  if (!flight.ref.ok()) return OnFailed(*worker, image, flight.ref.status(), containers);
  memory.pulled_ref = *flight.ref;
  const Duration waited = deps_.env.clock.Now() - member.request.asked;
  PodEvents events(deps_.events, RefOf(*worker));
  for (const auto& container : containers)
    events.PullEnded(
        fmt::format("Successfully pulled image \"{}\" in {} ({} including waiting). "
                    "Image size: {} bytes.",
                    image, FormatMillis(flight.took), FormatMillis(waited), flight.bytes),
        container);
  deps_.on_pulled(*worker, {.sync_now = true});
}

void ImagePuller::EndIntent(const Flight& flight) {
  const auto found = intents_.find(flight.tagged);
  found->second.keep = found->second.keep || !flight.recorded;
  if (--found->second.pulls > 0) return;
  const bool keep = found->second.keep;
  intents_.erase(found);
  if (keep || stopping_) return;
  deps_.env.strands.Run(kRecords, [this, image = flight.tagged] {
    deps_.env.log.LogIfError(deps_.records.RemoveIntent(image),
                             "remove the intent of a pull that has ended");
  });
}

void ImagePuller::AddAccess(const ImageIdentity& image, const Credential& shown) {
  deps_.env.strands.Run(kRecords, [this, image, shown] {
    deps_.env.log.LogIfError(deps_.records.AddAccess(image, shown),
                             "record further credentials for an image");
  });
}

/// As if the containers had started one after the other: the first one failed, and the others are
/// in back-off. After the failure of a volume's image the next sync reports it to the containers
/// that mount the volume, and starts the others.
void ImagePuller::OnFailed(Worker& worker, const std::string& image, const Status& why,
                           const std::set<std::string>& containers) {
  PullMemory& memory = memories_[worker.uid][image];
  const ImageQuestion question{image, "", deps_.env.clock.Now()};
  ImageDecision failed = PullFailed(question, why, deps_.random, memory);
  PullResult result{.sync_now = containers.contains(""), .sync_at = failed.sync_at};
  PodEvents events(deps_.events, RefOf(worker));
  for (const auto& container : containers) {
    for (const auto& event : failed.events)
      event.warning ? events.Warning(event.reason, event.message, container)
                    : events.Normal(event.reason, event.message, container);
    if (failed.backs_off) memory.backed_off.insert(container);
    if (!container.empty()) {
      events.Warning("Failed", fmt::format("Error: {}", failed.reason), container);
      deps_.metrics.CountStartError("container", failed.reason);
      result.waiting_reasons[container] =
          WaitingReason{failed.reason, failed.message, failed.retry_at};
    }
    failed = DecideImage(question, memory, nullptr);
  }
  memory.unreported_failure = result.sync_now;
  deps_.on_pulled(worker, result);
}

}  // namespace splitlet::pod_worker
