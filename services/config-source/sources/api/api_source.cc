#include "services/config-source/sources/api/api_source.h"

#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"
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
      node_backoff_(deps_.env.clock, kNodeBackoff),
      client_(deps_.env.clock, *deps_.transport,
              {.content = options_.content,
               .limiter = nullptr,
               .metrics = deps_.metrics,
               .wait = deps_.wait}) {}

ApiSource::~ApiSource() {
  deps_.env.loop.CancelTimer(node_timer_);
  deps_.env.loop.CancelTimer(offline_timer_);
}

void ApiSource::Start(std::vector<SourcePodRef> saved, OnSet on_set) {
  on_set_ = std::move(on_set);
  for (auto& pod : saved) {
    const bool unconfirmed = pod->unconfirmed;
    saved_.insert(pod->uid);
    const std::string key = kube::PodKey(pod->name_space, pod->name);
    pods_[key] = {
        .pod = std::move(pod), .problem = {}, .problem_since = {}, .unconfirmed = unconfirmed};
  }
  deps_.on_watched(false);
  PutSet();
  if (options_.offline_start)
    offline_timer_ = deps_.env.loop.RunAfter(kOfflineWait, [this] { OnOfflineTimer(); });
  GetNode();
}

void ApiSource::GetNode() {
  node_timer_ = 0;
  deps_.env.strands.Run(kApiStrand,
                        [this, path = "/api/v1/nodes/" + apiclient::Escaped(options_.node_name),
                         deadline = After(deps_.env.clock, kNodeTimeout)] {
                          k8s::io::api::core::v1::Node node;
                          const Status status = client_.Get(path, &node, deadline);
                          deps_.env.loop.Post([this, status] { OnNode(status); });
                        });
}

void ApiSource::OnNode(const Status& status) {
  RecordReach(status);
  if (status.ok()) {
    SetProblem({});
    Watch();
    return;
  }
  const std::string before = problem_;
  SetProblem(status.code() == StatusCode::kNotFound
                 ? fmt::format("the API server does not have node {} yet", options_.node_name)
                 : fmt::format("cannot get the Node: {}", Message(status)));
  // status registers the node at the same time.
  const bool usual = status.code() == StatusCode::kNotFound;
  if (problem_ != before && !IsAwaited(status))
    deps_.env.log.At(usual ? LogLevel::kInfo : LogLevel::kWarn,
                     "cannot get the Node, will list pods once the API server has it",
                     {KV("node", options_.node_name), KV("err", problem_)});
  node_timer_ =
      deps_.env.loop.RunAfter(node_backoff_.Next("node", &random_), [this] { GetNode(); });
}

void ApiSource::Watch() {
  reflector_ = std::make_unique<apiclient::Reflector>(
      apiclient::Reflector::Deps{.clock = deps_.env.clock,
                                 .loop = deps_.env.loop,
                                 .strands = deps_.env.strands,
                                 .transport = *deps_.transport,
                                 .random = random_,
                                 .log = deps_.env.log,
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
  CHECK(deps_.env.loop.IsCurrent());
  const Entries before = std::exchange(pods_, {});
  unusable_.clear();
  for (const auto& object : objects) Accept(static_cast<const kube::Pod&>(*object), before);
  listed_ = true;
  saved_.clear();
  PutSetSoon();
}

void ApiSource::OnEvent(apiclient::Reflector::Event event, const kube::Pod& pod) {
  CHECK(deps_.env.loop.IsCurrent());
  const std::string key = kube::PodKey(pod);
  switch (event) {
    case apiclient::Reflector::Event::kAdded:
    case apiclient::Reflector::Event::kModified: Accept(pod, pods_); break;
    case apiclient::Reflector::Event::kDeleted: {
      unusable_.erase(key);
      const auto at = pods_.find(key);
      if (at != pods_.end() && at->second.pod->uid == pod.metadata().uid()) pods_.erase(at);
      break;
    }
  }
  PutSetSoon();
}

void ApiSource::Accept(const kube::Pod& pod, const Entries& before) {
  const std::string key = kube::PodKey(pod);
  std::vector<std::string> dropped;
  auto accepted = AcceptApiPod(pod, options_.gates_off, dropped);
  if (accepted.ok()) {
    if (!dropped.empty() && !before.contains(key))
      deps_.env.log.Warn("dropping fields of a pod whose feature gates are off",
                         {KV("pod", key), KV("podUID", pod.metadata().uid()),
                          KV("fields", fmt::format("{}", fmt::join(dropped, "; ")))});
    unusable_.erase(key);
    pods_[key] = {.pod = *std::move(accepted), .problem = {}, .problem_since = {}};
    return;
  }
  const std::string problem = Message(accepted.status());
  const WallTime now = deps_.env.clock.WallNow();
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
  RecordReach(status);
  deps_.on_watched(status.ok());
  SetProblem(status.ok() ? std::string() : fmt::format("cannot watch pods: {}", Message(status)));
}

void ApiSource::SetProblem(std::string problem) {
  if (problem == problem_) return;
  problem_ = std::move(problem);
  problem_since_ = deps_.env.clock.WallNow();
  PutSetSoon();
}

void ApiSource::RecordReach(const Status& status) {
  if (!apiclient::IsOutOfReach(status)) {
    away_since_.reset();
  } else if (!away_since_) {
    away_since_ = deps_.env.clock.Now();
  }
}

void ApiSource::OnOfflineTimer() {
  offline_timer_ = 0;
  if (listed_) return;
  const Duration away = away_since_ ? deps_.env.clock.Now() - *away_since_ : Duration{0};
  if (away >= kOfflineWait) return StartOffline();
  offline_timer_ = deps_.env.loop.RunAfter(kOfflineWait - away, [this] { OnOfflineTimer(); });
}

void ApiSource::StartOffline() {
  size_t started = 0;
  for (auto& [key, entry] : pods_) {
    if (!entry.unconfirmed) continue;
    const auto pod = kube::ParsePod(*entry.pod->bytes);
    const std::string why =
        pod.ok() ? WhyNotOffline(*pod) : std::string("its saved record cannot be parsed");
    if (why.empty()) {
      entry.unconfirmed = false;
      ++started;
      continue;
    }
    deps_.env.log.Warn("a saved pod waits for the API server",
                       {KV("pod", key), KV("podUID", entry.pod->uid), KV("reason", why)});
  }
  deps_.env.log.Warn("starting saved pods without the API server", {KV("pods", started)});
  PutSetSoon();
}

void ApiSource::PutSetSoon() {
  if (std::exchange(set_posted_, true)) return;
  deps_.env.loop.Post([this] { PutSet(); });
}

std::string ApiSource::WhyIncomplete() const {
  if (!listed_) return problem_.empty() ? std::string("pods are not listed yet") : problem_;
  return unusable_.empty() ? std::string() : unusable_.begin()->second.reason;
}

void ApiSource::PutSet() {
  set_posted_ = false;
  SourceSet set{.undecided = saved_};
  set.reason = WhyIncomplete();
  set.complete = set.reason.empty();
  if (!problem_.empty()) set.problems.push_back({options_.place, problem_, problem_since_});
  for (const auto& [key, problem] : unusable_) set.problems.push_back(problem);
  set.pods.reserve(pods_.size());
  for (const auto& [key, entry] : pods_) {
    set.pods.push_back({entry.pod, entry.problem, entry.unconfirmed});
    if (!entry.problem.empty())
      set.problems.push_back(
          {options_.place, fmt::format("pod {}: {}", key, entry.problem), entry.problem_since});
  }
  ReportPods();
  on_set_(set);
}

void ApiSource::ReportPods() {
  std::vector<Problem> problems;
  for (const auto& [key, problem] : unusable_)
    problems.push_back({key, problem.reason, problem.since});
  for (const auto& [key, entry] : pods_)
    if (!entry.problem.empty()) problems.push_back({key, entry.problem, entry.problem_since});
  problems_.Report(deps_.env.log, name_, problems,
                   [this](const std::string& key) { return pods_.contains(key); });
}

}  // namespace splitlet::config_source
