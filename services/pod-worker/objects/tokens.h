#pragma once

/// Tokens of service accounts for projected volumes and plugins: asked for with the pod they are
/// bound to, kept while it names them, and asked for anew before they are old.
/// In:      what pods name; answers of the API server.
/// Owns:    the tokens, in memory only, by UID of the pod.
/// Out:     one TokenRequest at a time for each; on_answer for its pod.
/// Killed:  the next start asks for others; those in volumes stay good until they expire.
/// Threads: the loop's.
/// Errors:  "failed to fetch token: ..." while there is none; "token ... expired and refresh
///          failed: ..." (UNAVAILABLE). While the one before is good it is given out.
/// Source:  docs/behaviour/volumes.md, "Tokens"; kubelet token.Manager.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "services/pod-worker/objects/account_source.h"
#include "services/pod-worker/objects/referenced_objects.h"

namespace splitlet::pod_worker {

class PodTokens {
 public:
  using Values = std::map<TokenWish, StatusOr<std::string>>;
  struct Deps {
    const ApiContext& context;
    ApiCalls& calls;
    OnAnswer on_answer;
  };
  explicit PodTokens(Deps deps) : deps_(std::move(deps)) {}

  /// These and no others from now on.
  void Hold(const TokenOwner& owner, const std::set<TokenWish>& wishes);
  /// None of them is given out again, not even to a pod of the same name.
  void Release(const std::string& uid) { pods_.erase(uid); }
  /// Asks for those that are missing or old. False: one that is missing is waited for.
  bool Refresh(const std::string& uid);
  Values Of(const std::string& uid) const;
  /// It is asked for, and there is no good one until the answer comes.
  bool IsAwaited(const std::string& uid, const TokenWish& wish) const;

 private:
  struct Token {
    uint64_t number = 0;  // of the request that counts
    std::string value;    // empty: none yet
    Clock::Time refresh_at, expires_at;
    bool asking = false;
    Status trouble;  // of the last request
    int failures = 0;
    int refusals = 0;  // that were not taken for an answer
    Clock::Time retry_at;
  };
  struct Pod {
    TokenOwner owner;
    std::map<TokenWish, Token> tokens;
  };
  void Ask(const TokenOwner& owner, const TokenWish& wish, Token& token);
  /// A refusal of the first requests may be early: it is waited for another answer.
  bool AsksSoon(const std::string& uid, const TokenWish& wish, Token& token, const Status& status);
  Token* Find(const std::string& uid, const TokenWish& wish, uint64_t number);
  void OnToken(Token& token, const std::string& value, std::chrono::seconds life);
  void OnTrouble(Token& token, const Status& status);
  StatusOr<std::string> ValueOf(const Pod& pod, const TokenWish& wish, const Token& token) const;

  const Deps deps_;
  std::map<std::string, Pod> pods_;  // by UID
  uint64_t last_number_ = 0;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace splitlet::pod_worker
