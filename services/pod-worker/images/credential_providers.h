#pragma once

/// Asks credential provider plugins, programs of the node, for credentials of registries.
/// In:      repositories that are to be pulled from; answers of plugins.
/// Owns:    answers, as long as they say they are good.
/// Out:     credentials. What goes wrong with a plugin is a line in the log and a count: the pull
///          goes on with what the others have.
/// Killed:  answers are asked for again.
/// Threads: any; answers come on a strand. All state belongs to one strand.
/// Limits:  kMaxRun for one run, kMaxAnswer bytes.
/// Source:  docs/behaviour/images.md, "Credential provider plugins".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/process/run_program.h"
#include "services/pod-worker/images/keyring.h"
#include "services/pod-worker/images/provider_config.h"
#include "services/pod-worker/metrics.h"

namespace splitlet::pod_worker {

class CredentialProviders {
 public:
  static constexpr Duration kMaxRun = std::chrono::minutes{1};
  static constexpr size_t kMaxAnswer = 1u << 20;

  struct Deps {
    const Clock& clock;
    exec::Strands& strands;
    process::ProgramRunner run;
    Metrics& metrics;
    const Log& log;
  };
  CredentialProviders(Deps deps, std::vector<CredentialProvider> providers)
      : deps_(std::move(deps)), providers_(std::move(providers)) {}

  using Found = std::function<void(std::vector<Credential>)>;
  /// Of all plugins that are for the repository; a plugin runs once at a time for it. At once on
  /// this thread where there are none.
  void Find(const std::string& repository, Found found);
  /// Plugins that run are ended.
  void BeginStop() { stop_.Cancel(); }

 private:
  struct Search;
  struct Kept {
    Keyring keyring;
    Clock::Time until;
  };
  struct Answer {
    Keyring keyring;
    std::string key;  // of `kept_`
    Duration keep{0};
  };
  using Question = std::pair<size_t, std::string>;  // of which provider, repository
  void Begin(const std::shared_ptr<Search>& search);
  const Keyring* FindKept(size_t provider, const std::string& repository);
  StatusOr<Answer> Ask(const CredentialProvider& provider, const std::string& repository);
  void Run(const Question& question);
  void OnAnswer(const Question& question, const StatusOr<Answer>& answer);

  const Deps deps_;
  const std::vector<CredentialProvider> providers_;
  CancelToken stop_;
  std::map<std::pair<size_t, std::string>, Kept> kept_;  // by provider, and what an answer is for
  std::map<Question, std::vector<std::shared_ptr<Search>>> asked_;
};

}  // namespace splitlet::pod_worker
