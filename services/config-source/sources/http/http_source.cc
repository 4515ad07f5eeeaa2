#include "services/config-source/sources/http/http_source.h"

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {
namespace {

const char* const kHttpStrand = "source-http";

StatusOr<HttpReply> Fetch(HttpFetcher& fetcher, const HttpRequest& request, Deadline deadline) {
  FAIL_POINT("config-source.fetch.before");
  auto reply = fetcher.Get(request, std::move(deadline));
  FAIL_POINT("config-source.fetch.after");
  return reply;
}

}  // namespace

PollResult InterpretReply(const StatusOr<HttpReply>& reply, const std::string& last_body,
                          const Origin& origin, decltype(DecodePayload)& decode) {
  using Kind = PollResult::Kind;
  const auto failed = [&last_body](Status why) {
    return PollResult{.body = last_body, .error = std::move(why)};
  };
  if (!reply.ok()) return failed(Annotate(reply.status(), origin.location));
  if (reply->code != 200) return failed(Unavailable("{}: {}", origin.location, reply->status));
  if (reply->body.empty()) return {.kind = Kind::kEmpty, .body = {}};
  if (reply->body == last_body) return {.kind = Kind::kUnchanged, .body = last_body};
  auto pods = decode(reply->body, origin);
  if (!pods.ok()) return failed(pods.status());
  return {.kind = Kind::kPods, .body = reply->body, .pods = *std::move(pods)};
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
  switch (result.kind) {
    case PollResult::Kind::kFailed: PutSet(false, Message(result.error), {}); break;
    case PollResult::Kind::kEmpty: OnEmpty(); break;
    case PollResult::Kind::kPods:
      pods_ = result.pods.pods;
      warnings_ = result.pods.warnings;
      [[fallthrough]];
    case PollResult::Kind::kUnchanged:
      empty_since_ = {};
      PutSet(true, {}, warnings_);
      break;
  }
  timer_ = deps_.env.loop.RunAfter(options_.period, [this] { Poll(); });
}

/// A server that is starting, or whose disk is full, may answer like this too.
void HttpSource::OnEmpty() {
  const std::string reason = fmt::format("zero-length data received from {}", place_);
  const Clock::Time now = deps_.env.clock.Now();
  if (!empty_since_) empty_since_ = now;
  if (!pods_.empty() && now - empty_since_ < kPathMissingGap)
    return PutSet(false, reason + "; its pods are kept for now", {});
  pods_.clear();
  PutSet(true, reason, {});
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
  problems_.Report(deps_.env.log, name_, set.problems, [](const std::string&) { return true; });
  on_set_(set);
}

}  // namespace splitlet::config_source
