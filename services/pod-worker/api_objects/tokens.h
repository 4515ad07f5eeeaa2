#pragma once

/// Tokens of service accounts for projected volumes and plugins. Each is bound to its pod, kept
/// while the pod needs it, and renewed before it expires.
/// In:      the tokens that pods need; answers of the API server.
/// Owns:    the tokens, in memory only, by UID of the pod.
/// Out:     one TokenRequest at a time for each token; on_answer for its pod.
/// Killed:  the next start requests other tokens; tokens in volumes are valid until they expire.
/// Threads: the loop's.
/// Errors:  "failed to fetch token: ..." while there is no token; "token ... expired and refresh
///          failed: ..." (UNAVAILABLE). A failed renewal is no error while the token is valid.
/// Source:  docs/behaviour/volumes.md, "Tokens"; kubelet token.Manager.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "services/pod-worker/api_objects/referenced_objects.h"
#include "services/pod-worker/objects/account_source.h"

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

  /// Replaces the tokens that the pod needs.
  void Hold(const TokenOwner& owner, const std::set<TokenWish>& wishes);
  /// Drops the pod's tokens: another pod of the same name gets its own.
  void Release(const std::string& uid) { pods_.erase(uid); }
  /// Requests the tokens that are missing or old. False: the answer for a missing one is awaited.
  bool Refresh(const std::string& uid);
  Values Of(const std::string& uid) const;
  /// The token is requested, and there is no valid one before the answer.
  bool IsAwaited(const std::string& uid, const TokenWish& wish) const;

 private:
  struct Token {
    uint64_t number = 0;  // of the last request
    std::string value;    // empty: none yet
    Clock::Time refresh_at, expires_at;
    bool asking = false;
    Status trouble;  // of the last request
    int failures = 0;
    int refusals = 0;  // that were retried as too early
    Clock::Time retry_at;
  };
  struct Pod {
    TokenOwner owner;
    std::map<TokenWish, Token> tokens;
  };
  void Ask(const TokenOwner& owner, const TokenWish& wish, Token& token);
  /// True: the refusal may be too early, so the request is repeated soon.
  bool AsksSoonAgain(const std::string& uid, const TokenWish& wish, Token& token,
                     const Status& status);
  Token* Find(const std::string& uid, const TokenWish& wish, uint64_t number);
  void OnToken(Token& token, const std::string& value, std::chrono::seconds lifetime);
  void OnTrouble(Token& token, const Status& status);
  StatusOr<std::string> ValueOf(const Pod& pod, const TokenWish& wish, const Token& token) const;

  const Deps deps_;
  std::map<std::string, Pod> pods_;  // by UID
  uint64_t last_number_ = 0;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace splitlet::pod_worker
