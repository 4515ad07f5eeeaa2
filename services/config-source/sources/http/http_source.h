#pragma once

/// The source `http`: one URL that answers with a Pod or a PodList. It is polled every period after
/// the last answer. Only an answer that can be used changes the wanted pods. Two empty answers with
/// code 200, kPathMissingGap apart, mean that no pod is wanted. Only the server sees user, password
/// and query of the URL: logs, records and errors leave them out.
/// In:    answers of the URL.
/// Out:   sets of pods.
/// Killed at any line: nothing is lost; the next start asks again.
/// Threads: loop thread.
/// Errors: in the sets.
/// Source: docs/behaviour/config-sources.md, "URL".

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/url_secrets.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/config-source/sources/http/http_fetcher.h"
#include "services/config-source/sources/manifest.h"
#include "services/config-source/sources/problem_log.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

inline constexpr Duration kHttpTimeout = std::chrono::seconds{10};

/// The result of one poll.
struct PollResult {
  enum class Kind {
    kPods,       // `pods` are wanted
    kUnchanged,  // the same body as the last one that was used
    kEmpty,      // code 200 without a body
    kFailed,     // the wanted pods stay; `error` has the reason
  };
  Kind kind = Kind::kFailed;
  std::string body;  // the last body that was used; empty after an empty answer
  DecodedPods pods;
  Status error;
};

/// Pure: compares `reply` with the body that was used last.
PollResult InterpretReply(const StatusOr<HttpReply>& reply, const std::string& last_body,
                          const Origin& origin, decltype(DecodePayload)& decode = DecodePayload);

class HttpSource final : public Source {
 public:
  struct Deps {
    exec::Env env;
    std::unique_ptr<HttpFetcher> fetcher;
    std::function<void(Duration)> on_read_time;  // of one poll
  };
  struct Options {
    std::string url;
    std::map<std::string, std::vector<std::string>> headers;
    std::string node_name;
    Duration period;
    bool has_objects = false;
    kube::GatesOff gates_off = {};
  };
  HttpSource(Deps deps, Options options);
  ~HttpSource() override;

  const std::string& name() const override { return name_; }
  const std::string& place() const override { return place_; }
  void Start(std::vector<SourcePodRef> saved, OnSet on_set) override;

 private:
  void Poll();
  void OnPolled(const PollResult& result);
  void OnEmpty();
  void PutSet(bool complete, const std::string& problem, std::vector<std::string> warnings);

  const std::string name_;
  Deps deps_;
  const Options options_;
  const std::string place_;  // the URL, for people
  OnSet on_set_;
  std::vector<SourcePodRef> pods_;
  std::string body_;
  std::vector<std::string> warnings_;
  ProblemLog problems_;
  std::string problem_;
  WallTime problem_since_;
  Clock::Time empty_since_;  // the first of the empty answers; no time: the last had pods
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::config_source
