#pragma once

/// Finds the user of a request: by the connection's certificate, by a token that the API server
/// knows, or anonymous. A wrong credential never counts as anonymous.
/// In:    requests.
/// Owns:  the API server's answers about tokens, for two minutes, under a keyed hash.
/// Out:   TokenReviews; requests with the same token share one.
/// Killed at any line: the next start asks about each token again.
/// Threads: loop thread only.
/// Errors: UNAUTHENTICATED, with the reason for the log; RESOURCE_EXHAUSTED when too many wait.
/// Source: docs/behaviour/node-api.md, "Authentication".

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "libs/base/status.h"
#include "libs/https/server.h"
#include "services/node-api/auth/identity.h"
#include "services/node-api/auth/review_calls.h"

namespace splitlet::node_api {

class Authenticator {
 public:
  struct Options {
    bool webhook = true, anonymous = false;
    Duration token_ttl = std::chrono::minutes{2};
    std::string secret;           // random for each start; keys the hash of tokens
    bool certificate_uid = true;  // takes the user's uid from a client certificate
  };
  struct Deps {
    const Clock& clock;
    ReviewCalls& calls;
  };
  static constexpr size_t kMaxTokens = 4096;

  Authenticator(Deps deps, Options options) : deps_(deps), options_(std::move(options)) {}
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  using Done = std::function<void(StatusOr<User> who)>;
  void Authenticate(const https::Request& request, Done done);

 private:
  using Answer = StatusOr<std::optional<User>>;
  struct Kept {
    std::optional<User> user;
    Clock::Time until;
    std::list<std::string>::iterator place;
  };
  void AskAbout(const std::string& token, std::function<void(Answer)> done);
  void OnReviewed(const std::string& key, const Answer& answer);
  void Keep(const std::string& key, std::optional<User> user);
  std::string KeyOf(const std::string& token) const;

  Deps deps_;
  const Options options_;
  std::unordered_map<std::string, Kept> kept_;
  std::list<std::string> order_;  // keys of kept_, the oldest first
  std::map<std::string, std::vector<std::function<void(Answer)>>> asked_;
};

}  // namespace splitlet::node_api
