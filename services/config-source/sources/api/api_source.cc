#include "services/config-source/sources/api/api_source.h"

#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/sources/api/api_pod.h"
#include "services/config-source/sources/api/remembered_pods.h"

namespace splitlet::config_source {
namespace {

const char* const kApiStrand = "source-api";
constexpr Duration kNodeTimeout = std::chrono::seconds{10};
const exec::Backoff::Options kNodeBackoff{
    .initial = std::chrono::milliseconds{250}, .max = std::chrono::seconds{5}, .jitter = 0.5};

}  // namespace

ApiSource::ApiSource(Deps deps, Options options)
    : name_(kube::kApiSource),
      deps_(std::move(deps)),
      options_(std::move(options)),
      random_(deps_.seed),
      node_backoff_(deps_.clock, kNodeBackoff),
      client_(deps_.clock, *deps_.transport,
              {.content = options_.content,
               .limiter = nullptr,
               .metrics = deps_.metrics,
               .wait = deps_.wait}) {}

ApiSource::~ApiSource() {
  deps_.loop.CancelTimer(node_timer_);
  deps_.loop.CancelTimer(offline_timer_);
}

void ApiSource::Start(std::vector<SourcePodRef> remembered, OnSet on_set) {
  on_set_ = std::move(on_set);
  for (auto& pod : remembered) {
    const bool unconfirmed = pod->unconfirmed;
    remembered_.insert(pod->uid);
    const std::string key = kube::PodKey(pod->name_space, pod->name);
    pods_[key] = {
        .pod = std::move(pod), .problem = {}, .problem_since = {}, .unconfirmed = unconfirmed};
  }
  deps_.on_watched(false);
  PutSet();
  if (options_.offline_start)
    offline_timer_ = deps_.loop.RunAfter(kOfflineWait, [this] { OnOfflineTimer(); });
  AskForNode();
}

void ApiSource::AskForNode() {
  node_timer_ = 0;
  deps_.strands.Run(kApiStrand,
                    [this, path = "/api/v1/nodes/" + apiclient::Escaped(options_.node_name),
                     deadline = After(deps_.clock, kNodeTimeout)] {
                      k8s::io::api::core::v1::Node node;
                      const Status status = client_.Get(path, &node, deadline);
                      deps_.loop.Post([this, status] { OnNode(status); });
                    });
}

void ApiSource::OnNode(const Status& status) {
  NoteReach(status);
  if (status.ok()) {
    SetTrouble({});
    Watch();
    return;
  }
  const std::string before = trouble_;
  SetTrouble(status.code() == StatusCode::kNotFound
                 ? fmt::format("the API server does not have node {} yet", options_.node_name)
                 : fmt::format("the node cannot be read: {}", Message(status)));
  // status registers the node in the same moment.
  const bool usual = status.code() == StatusCode::kNotFound;
  if (trouble_ != before && !IsAwaited(status))
    deps_.log.At(usual ? LogLevel::kInfo : LogLevel::kWarn,
                 "pods of the API server are not known yet",
                 {KV("node", options_.node_name), KV("err", trouble_)});
  node_timer_ = deps_.loop.RunAfter(node_backoff_.Next("node", &random_), [this] { AskForNode(); });
}

void ApiSource::Watch() {
  reflector_ = std::make_unique<apiclient::Reflector>(
      apiclient::Reflector::Deps{.clock = deps_.clock,
                                 .loop = deps_.loop,
                                 .strands = deps_.strands,
                                 .transport = *deps_.transport,
                                 .random = random_,
                                 .log = deps_.log,
                                 .metrics = deps_.metrics},
      apiclient::Reflector::Options{.path = "/api/v1/pods",
                                    .field_selector = "spec.nodeName=" + options_.node_name,
                                    .content = options_.content,
                                    .item = &kube::Pod::default_instance(),
                                    .list = &kube::PodList::default_instance(),
                                    .newest = true,
                                    .strand = kApiStrand},
      apiclient::Reflector::Callbacks{
          .on_list = [this](std::vector<apiclient::Reflector::Object> all) { OnList(all); },
          .on_event =
              [this](apiclient::Reflector::Event event,
                     const apiclient::Reflector::Object& object) {
                OnEvent(event, static_cast<const kube::Pod&>(*object));
              },
          .on_sync = [this](const Status& status) { OnSync(status); }});
  reflector_->Start();
}

void ApiSource::OnList(const std::vector<apiclient::Reflector::Object>& objects) {
  CHECK(deps_.loop.IsCurrent());
  const Entries before = std::exchange(pods_, {});
  unusable_.clear();
  for (const auto& object : objects) Take(static_cast<const kube::Pod&>(*object), before);
  listed_ = true;
  remembered_.clear();
  PutSetSoon();
}

void ApiSource::OnEvent(apiclient::Reflector::Event event, const kube::Pod& pod) {
  CHECK(deps_.loop.IsCurrent());
  const std::string key = kube::PodKey(pod);
  switch (event) {
    case apiclient::Reflector::Event::kAdded:
    case apiclient::Reflector::Event::kModified: Take(pod, pods_); break;
    case apiclient::Reflector::Event::kDeleted: {
      unusable_.erase(key);
      const auto at = pods_.find(key);
      if (at != pods_.end() && at->second.pod->uid == pod.metadata().uid()) pods_.erase(at);
      break;
    }
  }
  PutSetSoon();
}

void ApiSource::Take(const kube::Pod& pod, const Entries& before) {
  const std::string key = kube::PodKey(pod);
  std::vector<std::string> taken_out;
  auto taken = TakeApiPod(pod, options_.gates_off, taken_out);
  if (taken.ok()) {
    if (!taken_out.empty() && !before.contains(key))
      deps_.log.Warn("fields of a pod are passed over",
                     {KV("pod", key), KV("podUID", pod.metadata().uid()),
                      KV("fields", fmt::format("{}", fmt::join(taken_out, "; ")))});
    unusable_.erase(key);
    pods_[key] = {.pod = *std::move(taken), .problem = {}, .problem_since = {}};
    return;
  }
  const std::string problem = Message(taken.status());
  const WallTime now = deps_.clock.WallNow();
  const auto at = before.find(key);
  if (at == before.end() || at->second.pod->uid != pod.metadata().uid()) {
    pods_.erase(key);
    unusable_[key] = {options_.place, fmt::format("pod {}: {}", key, problem), now};
    return;
  }
  Entry stays = at->second;
  if (stays.problem != problem) stays.problem_since = now;
  stays.problem = problem;
  stays.unconfirmed = false;
  pods_[key] = std::move(stays);
}

void ApiSource::OnSync(const Status& status) {
  NoteReach(status);
  deps_.on_watched(status.ok());
  SetTrouble(status.ok() ? std::string()
                         : fmt::format("pods cannot be watched: {}", Message(status)));
}

void ApiSource::SetTrouble(std::string trouble) {
  if (trouble == trouble_) return;
  trouble_ = std::move(trouble);
  trouble_since_ = deps_.clock.WallNow();
  PutSetSoon();
}

void ApiSource::NoteReach(const Status& status) {
  if (!apiclient::IsOutOfReach(status)) {
    away_since_.reset();
  } else if (!away_since_) {
    away_since_ = deps_.clock.Now();
  }
}

void ApiSource::OnOfflineTimer() {
  offline_timer_ = 0;
  if (listed_) return;
  const Duration away = away_since_ ? deps_.clock.Now() - *away_since_ : Duration{0};
  if (away >= kOfflineWait) return StartOffline();
  offline_timer_ = deps_.loop.RunAfter(kOfflineWait - away, [this] { OnOfflineTimer(); });
}

void ApiSource::StartOffline() {
  size_t started = 0;
  for (auto& [key, entry] : pods_) {
    if (!entry.unconfirmed) continue;
    kube::Pod pod;
    const std::string why = pod.ParseFromString(*entry.pod->bytes)
                                ? WhyNotOffline(pod)
                                : std::string("what is remembered of it cannot be read");
    if (why.empty()) {
      entry.unconfirmed = false;
      ++started;
      continue;
    }
    deps_.log.Warn("a remembered pod waits for the API server",
                   {KV("pod", key), KV("podUID", entry.pod->uid), KV("reason", why)});
  }
  deps_.log.Warn("remembered pods start without the API server", {KV("pods", started)});
  PutSetSoon();
}

void ApiSource::PutSetSoon() {
  if (std::exchange(set_posted_, true)) return;
  deps_.loop.Post([this] { PutSet(); });
}

std::string ApiSource::WhyIncomplete() const {
  if (!listed_) return trouble_.empty() ? std::string("pods are not listed yet") : trouble_;
  return unusable_.empty() ? std::string() : unusable_.begin()->second.reason;
}

void ApiSource::PutSet() {
  set_posted_ = false;
  SourceSet set{.undecided = remembered_};
  set.reason = WhyIncomplete();
  set.complete = set.reason.empty();
  if (!trouble_.empty()) set.problems.push_back({options_.place, trouble_, trouble_since_});
  for (const auto& [key, problem] : unusable_) set.problems.push_back(problem);
  set.pods.reserve(pods_.size());
  for (const auto& [key, entry] : pods_) {
    set.pods.push_back({entry.pod, entry.problem, entry.unconfirmed});
    if (!entry.problem.empty())
      set.problems.push_back(
          {options_.place, fmt::format("pod {}: {}", key, entry.problem), entry.problem_since});
  }
  on_set_(set);
}

}  // namespace splitlet::config_source
