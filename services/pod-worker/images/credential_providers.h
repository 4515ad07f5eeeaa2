#pragma once

/// Asks credential provider plugins, programs of the node, for credentials of registries.
/// In:      repositories that are to be pulled from, and for which pods; answers of plugins; of the
///          API server service accounts and their tokens, for plugins with tokenAttributes.
/// Owns:    answers, as long as they say they are good.
/// Out:     credentials. What goes wrong with a plugin is a line in the log and a count: the pull
///          goes on with what the others have.
/// Killed:  answers are asked for again.
/// Threads: any; answers come on a strand. All state belongs to one strand.
/// Limits:  kMaxRun for one run, kMaxAnswer bytes. Before it, with tokenAttributes, the time of the
///          two answers of the API server.
/// Source:  docs/behaviour/images.md, "Credential provider plugins" and "Tokens for plugins".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/process/run_program.h"
#include "services/pod-worker/images/keyring.h"
#include "services/pod-worker/images/provider_config.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/objects/account_source.h"

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
    exec::EventLoop& loop;              // that of `accounts`
    AccountSource* accounts = nullptr;  // null: this node has no API server
  };
  CredentialProviders(Deps deps, std::vector<CredentialProvider> providers)
      : deps_(std::move(deps)), providers_(std::move(providers)) {}

  using Found = std::function<void(std::vector<Credential>)>;
  /// Of all plugins that are for the repository; a plugin runs once at a time for it, and for what
  /// it is told of the pod's service account. At once on this thread where there are none.
  void Find(const std::string& repository, const TokenOwner& pod, Found found);
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
    std::string key;  // what it is for
    Duration keep{0};
  };
  using SearchPtr = std::shared_ptr<Search>;
  using AccountPtr = std::shared_ptr<const PluginAccount>;  // null: the plugin is told of none
  struct Question {
    size_t provider = 0;
    std::string repository;
    std::string account;  // AnswerKey
    auto operator<=>(const Question&) const = default;
  };
  void Begin(const SearchPtr& search);
  void Consider(const SearchPtr& search, size_t provider);
  void OnAccount(const SearchPtr& search, size_t provider, const StatusOr<PodAccount>& account);
  void OnToken(const SearchPtr& search, size_t provider, const AccountPtr& account,
               const Status& status);
  void AskOnce(const SearchPtr& search, size_t provider, const AccountPtr& account);
  const Keyring* FindKept(const Question& question);
  StatusOr<Answer> Ask(const Question& question, const PluginAccount* account);
  void Run(const Question& question, const AccountPtr& account);
  void OnAnswer(const Question& question, const StatusOr<Answer>& answer);
  void Useless(const Question& question, const Status& why) const;

  const Deps deps_;
  const std::vector<CredentialProvider> providers_;
  CancelToken stop_;
  /// By provider, what an answer is for, and AnswerKey.
  std::map<std::tuple<size_t, std::string, std::string>, Kept> kept_;
  std::map<Question, std::vector<SearchPtr>> asked_;
};

}  // namespace splitlet::pod_worker
