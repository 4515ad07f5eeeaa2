#pragma once

/// The source `api`: the pods that an API server has bound to this node. It lists and watches them
/// once the server has the node. Listed pods stay wanted while the server is away; a pod leaves the
/// set when a list or the watch shows that it is gone.
/// In:    the Node object, until the server has it; pods of the server.
/// Out:   sets of pods, one set for each turn of the loop.
/// Killed at any line: nothing is lost; the next start lists, and saved pods stay wanted until
/// then.
/// Threads: loop thread; a strand gets the Node.
/// Errors: in the sets.
/// Source: docs/behaviour/config-sources.md, "API server"; docs/safety.md, rules 6 and 9.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/apiclient/client.h"
#include "libs/apiclient/reflector.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/kube/gated_fields.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/sources/problem_log.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

class ApiSource final : public Source {
 public:
  struct Deps {
    exec::Env env;
    std::unique_ptr<apiclient::Transport> transport;    // for this source alone
    std::shared_ptr<apiclient::ClientMetrics> metrics;  // null: none
    std::function<void(bool)> on_watched;               // whether the watch is open
    uint64_t seed = 1;                                  // of jitter
    apiclient::WaitUntil wait = nullptr;  // waits of strands; not set: on the real clock
  };
  struct Options {
    std::string node_name;
    std::string place;  // of the server, for people
    apiclient::ContentType content = apiclient::ContentType::kProtobuf;
    bool offline_start = false;
    kube::GatesOff gates_off = {};
  };
  ApiSource(Deps deps, Options options);
  ~ApiSource() override;

  const std::string& name() const override { return name_; }
  const std::string& place() const override { return options_.place; }
  void Start(std::vector<SourcePodRef> saved, OnSet on_set) override;

 private:
  struct Entry {
    SourcePodRef pod;
    std::string problem;  // why a newer version cannot be used
    WallTime problem_since;
    bool unconfirmed = false;
  };
  using Entries = std::map<std::string, Entry>;  // by "namespace/name"

  void GetNode();
  void OnNode(const Status& status);
  void Watch();
  void OnList(const std::vector<apiclient::Reflector::Object>& objects);
  void OnEvent(apiclient::Reflector::Event event, const kube::Pod& pod);
  void OnSync(const Status& status);
  /// `before`: has the last good version of the pod, if any.
  void Accept(const kube::Pod& pod, const Entries& before);
  /// Empty: the problem is over.
  void SetProblem(std::string problem);
  /// Records whether the server answered at all.
  void RecordReach(const Status& status);
  void OnOfflineTimer();
  void StartOffline();
  void PutSetSoon();
  void PutSet();
  /// Logs the problems of pods; OnNode and the reflector log those of the server.
  void ReportPods();
  std::string WhyIncomplete() const;

  const std::string name_;
  Deps deps_;
  const Options options_;
  Random random_;
  exec::Backoff node_backoff_;
  apiclient::Client client_;
  OnSet on_set_;
  Entries pods_;
  std::map<std::string, Problem> unusable_;  // by "namespace/name"; pods without a good version
  std::set<std::string> saved_;              // UIDs; empty once the pods are listed
  ProblemLog problems_;                      // of pods
  bool listed_ = false;                      // in this start
  bool set_posted_ = false;
  std::string problem_;
  WallTime problem_since_;
  std::optional<Clock::Time> away_since_;  // the server does not answer at all
  exec::TimerId node_timer_ = 0, offline_timer_ = 0;
  std::unique_ptr<apiclient::Reflector> reflector_;  // once the server has the node
};

}  // namespace splitlet::config_source
