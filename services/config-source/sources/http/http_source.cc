#include "services/config-source/sources/http/http_source.h"

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {
namespace {

const char* const kHttpStrand = "source-http";
constexpr int kLoggedFailures = 3;

StatusOr<HttpReply> Fetch(HttpFetcher& fetcher, const HttpRequest& request, Deadline deadline) {
  FAIL_POINT("config-source.fetch.before");
  auto reply = fetcher.Get(request, std::move(deadline));
  FAIL_POINT("config-source.fetch.after");
  return reply;
}

}  // namespace

PollResult InterpretReply(const StatusOr<HttpReply>& reply, const std::string& last_body,
                          const Origin& origin, decltype(DecodePayload)& decode) {
  PollResult result{.body = last_body, .pods = DecodedPods{}};
  if (!reply.ok()) {
    result.pods = Annotate(reply.status(), origin.location);
  } else if (reply->code != 200) {
    result.pods = Unavailable("{}: {}", origin.location, reply->status);
  } else if (reply->body.empty()) {
    result.body.clear();
    result.empty = true;
  } else if (reply->body == last_body) {
    result.unchanged = true;
  } else {
    result.pods = decode(reply->body, origin);
    if (result.pods.ok()) result.body = reply->body;
  }
  return result;
}

HttpSource::HttpSource(Deps deps, Options options)
    : name_(kube::kHttpSource),
      deps_(std::move(deps)),
      options_(std::move(options)),
      place_(WithoutSecrets(options_.url)) {}

HttpSource::~HttpSource() { deps_.env.loop.CancelTimer(timer_); }

void HttpSource::Start(std::vector<SourcePodRef> saved, OnSet on_set) {
  on_set_ = std::move(on_set);
  pods_ = std::move(saved);
  Poll();
}

void HttpSource::Poll() {
  timer_ = 0;
  deps_.env.strands.Run(kHttpStrand, [this, last = body_, started = deps_.env.clock.Now()] {
    const HttpRequest request{options_.url, options_.headers, kMaxConfigBytes};
    const auto reply = Fetch(*deps_.fetcher, request, After(deps_.env.clock, kHttpTimeout));
    PollResult result = InterpretReply(reply, last,
                                       {.source = std::string(kube::kHttpSource),
                                        .node_name = options_.node_name,
                                        .location = place_,
                                        .identity = options_.url,
                                        .has_objects = options_.has_objects,
                                        .gates_off = options_.gates_off});
    deps_.env.loop.Post([this, r = std::move(result), started] {
      deps_.on_read_time(deps_.env.clock.Now() - started);
      OnPolled(r);
    });
  });
}

void HttpSource::OnPolled(const PollResult& result) {
  body_ = result.body;
  if (!result.pods.ok()) {
    const std::string reason = Message(result.pods.status());
    OnFailure(reason);
    PutSet(false, reason, {});
  } else if (result.empty) {
    OnEmpty();
  } else {
    OnSuccess();
    empty_since_ = {};
    if (!result.unchanged) {
      pods_ = result.pods->pods;
      warnings_ = result.pods->warnings;
    }
    PutSet(true, {}, warnings_);
  }
  timer_ = deps_.env.loop.RunAfter(options_.period, [this] { Poll(); });
}

/// A server that is starting, or whose disk is full, may answer like this too.
void HttpSource::OnEmpty() {
  const std::string reason = fmt::format("zero-length data received from {}", place_);
  OnFailure(reason);
  const Clock::Time now = deps_.env.clock.Now();
  if (!empty_since_) empty_since_ = now;
  if (!pods_.empty() && now - empty_since_ < kPathMissingGap)
    return PutSet(false, reason + "; its pods are kept for now", {});
  pods_.clear();
  PutSet(true, reason, {});
}

void HttpSource::OnFailure(const std::string& reason) {
  ++failures_;
  const std::vector<LogField> fields = {KV("url", place_), KV("err", reason)};
  if (failures_ <= kLoggedFailures) {
    deps_.env.log.Warn("cannot read pods from the URL", fields);
  } else if (failures_ == kLoggedFailures + 1) {
    deps_.env.log.Warn("cannot read pods from the URL, further failures are logged at debug level",
                       fields);
  } else {
    deps_.env.log.Debug("cannot read pods from the URL", fields);
  }
}

void HttpSource::OnSuccess() {
  if (failures_ > 0)
    deps_.env.log.Info("pods read from the URL again",
                       {KV("url", place_), KV("failures", failures_)});
  failures_ = 0;
}

void HttpSource::PutSet(bool complete, const std::string& problem,
                        std::vector<std::string> warnings) {
  if (problem != problem_) problem_since_ = deps_.env.clock.WallNow();
  problem_ = problem;
  SourceSet set;
  set.complete = complete;
  if (!complete) set.reason = problem;
  if (!problem.empty()) set.problems.push_back({place_, problem, problem_since_});
  for (auto& warning : warnings)
    set.problems.push_back({place_, std::move(warning), problem_since_});
  for (const auto& pod : pods_) set.pods.push_back({pod, {}});
  on_set_(set);
}

}  // namespace splitlet::config_source
