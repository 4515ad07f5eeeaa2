#pragma once

/// Service accounts and their tokens for pulls, requested only when a credential provider plugin is
/// about to run for a pod.
/// In:      the pods of this node (Hold, Release); requests for plugins (AccountSource).
/// Owns:    tokens, in memory only, until Release of their pod; the callers that wait for a token.
/// Out:     a GET of the account for each request; a TokenRequest where no token is valid.
/// Killed:  the tokens are lost; the next pull requests others.
/// Threads: the loop's.
/// Errors:  those of AccountSource.
/// Source:  docs/behaviour/images.md, "Tokens for plugins".

#include <list>
#include <map>
#include <set>
#include <string>

#include "services/pod-worker/api_objects/tokens.h"
#include "services/pod-worker/objects/account_source.h"

namespace splitlet::pod_worker {

class PullAccounts final : public AccountSource {
 public:
  /// The default of TokenRequest.
  static constexpr int64_t kTokenSeconds = 3600;

  /// Both outlive this object.
  PullAccounts(const ApiContext& context, ApiCalls& calls)
      : calls_(calls), tokens_({context, calls, [this](const std::string& uid, bool /*changed*/) {
                                  OnAnswer(uid);
                                }}) {}

  void Hold(const std::string& uid) { pods_.try_emplace(uid); }
  /// Callers that wait for a token of the pod get NOT_FOUND.
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
