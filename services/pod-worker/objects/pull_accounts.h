#pragma once

/// Service accounts and their tokens for pulls: asked for when a credential provider plugin is
/// about to be run for a pod, and not before.
/// In:      which pods there are (Hold, Release); what plugins need (AccountSource).
/// Owns:    tokens, in memory only, until their pod is over; who waits for one.
/// Out:     a GET of the account for each question, a TokenRequest where no token is good.
/// Killed:  nobody waits for an answer; the next pull asks again.
/// Threads: the loop's.
/// Errors:  of AccountSource.
/// Source:  docs/behaviour/images.md, "Tokens for plugins".

#include <list>
#include <map>
#include <set>
#include <string>

#include "services/pod-worker/objects/account_source.h"
#include "services/pod-worker/objects/tokens.h"

namespace splitlet::pod_worker {

class PullAccounts final : public AccountSource {
 public:
  /// Asked for without a time, a token lasts so long (TokenRequest's default).
  static constexpr int64_t kTokenSeconds = 3600;

  /// Both outlive it.
  PullAccounts(const ApiContext& context, ApiCalls& calls)
      : calls_(calls), tokens_({context, calls, [this](const std::string& uid, bool /*changed*/) {
                                  OnAnswer(uid);
                                }}) {}

  void Hold(const std::string& uid) { pods_.try_emplace(uid); }
  /// Who still waits for a token of the pod gets none.
  void Release(const std::string& uid);

  void GetAccount(const TokenOwner& pod, OnAccount done) override;
  void GetToken(const TokenOwner& pod, const std::string& account, const std::string& audience,
                OnToken done) override;

 private:
  struct Waiting {
    TokenWish wish;
    OnToken done;
  };
  struct Pod {
    std::set<TokenWish> wishes;
    std::list<Waiting> waiting;
  };
  void OnAnswer(const std::string& uid);
  StatusOr<std::string> ValueOf(const std::string& uid, const TokenWish& wish) const;

  ApiCalls& calls_;
  PodTokens tokens_;
  std::map<std::string, Pod> pods_;  // by UID
};

}  // namespace splitlet::pod_worker
