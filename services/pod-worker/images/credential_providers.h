#pragma once

/// Asks credential provider plugins, which are programs of the node, for credentials of registries.
/// In:      repositories to pull from, and the pods that pull; answers of plugins; service accounts
///          and their tokens, for plugins with tokenAttributes.
/// Owns:    the answers of plugins, for as long as each answer allows.
/// Out:     credentials. The failure of a plugin is logged and counted; the pull goes on with the
///          credentials of the other plugins.
/// Killed:  the next start asks the plugins again.
/// Threads: any; answers come on a strand. All state belongs to one strand.
/// Limits:  kMaxRun for one run, kMaxAnswer bytes. With tokenAttributes two answers of the API
///          server come before the run, and take their own time.
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
    exec::EventLoop& loop;              // the loop of `accounts`
    AccountSource* accounts = nullptr;  // null: this node has no API server
  };
  CredentialProviders(Deps deps, std::vector<CredentialProvider> providers)
      : deps_(std::move(deps)), providers_(std::move(providers)) {}

  using Found = std::function<void(std::vector<Credential>)>;
  /// Asks all plugins that match the repository. A plugin runs only once at a time for the same
  /// repository and service account. Without such plugins `found` runs immediately on this thread.
  void Find(const std::string& repository, const TokenOwner& pod, Found found);
  /// Ends the plugins that run.
  void BeginStop() { stop_.Cancel(); }

 private:
  struct Search;
  struct Kept {
    Keyring keyring;
    Clock::Time until;
  };
  struct Answer {
    Keyring keyring;
    std::string key;  // the images that the answer is for
    Duration keep{0};
  };
  using SearchPtr = std::shared_ptr<Search>;
  using AccountPtr = std::shared_ptr<const PluginAccount>;  // null: the plugin gets none
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
  void ReportFailed(const Question& question, const Status& why) const;

  const Deps deps_;
  const std::vector<CredentialProvider> providers_;
  CancelToken stop_;
  /// By provider, the images of the answer, and AnswerKey.
  std::map<std::tuple<size_t, std::string, std::string>, Kept> kept_;
  std::map<Question, std::vector<SearchPtr>> asked_;
};

}  // namespace splitlet::pod_worker
