#pragma once

/// Decides whether a user may make a request: every authenticated user may, or the API server
/// decides.
/// In:    users and their requests.
/// Owns:  the API server's answers, for a few minutes.
/// Out:   SubjectAccessReviews.
/// Killed at any line: the next start asks the API server again.
/// Threads: loop thread only.
/// Errors: PERMISSION_DENIED and INTERNAL in a kubelet's words; RESOURCE_EXHAUSTED when too many
/// wait.
/// Source: docs/behaviour/node-api.md, "Authorization".

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libs/base/status.h"
#include "services/node-api/auth/identity.h"
#include "services/node-api/auth/review_calls.h"

namespace splitlet::node_api {

class Authorizer {
 public:
  struct Options {
    bool always = false;  // allows everything for every authenticated user
    std::string node;
    Duration allowed_ttl = std::chrono::minutes{5}, denied_ttl = std::chrono::seconds{30};
  };
  struct Deps {
    const Clock& clock;
    ReviewCalls& calls;
  };
  static constexpr size_t kMaxKept = 8192, kMaxKeyBytes = 10000;

  Authorizer(Deps deps, Options options) : deps_(deps), options_(std::move(options)) {}
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  /// `path`: decoded. Calls `done` with OK if the user has a right to one of the subresources.
  using Done = std::function<void(Status may)>;
  void Authorize(const User& user, std::string_view method, std::string_view path, Done done);

 private:
  struct Question {
    User user;
    std::string verb;
    std::vector<std::string> subresources;
    size_t next = 0;
    Done done;
  };
  struct Kept {
    bool allowed = false;
    Clock::Time until;
    std::list<std::string>::iterator place;
  };
  void AskNext(Question question);
  void OnAnswer(Question question, const std::string& key, const StatusOr<bool>& answer);
  void Keep(const std::string& key, bool allowed);

  Deps deps_;
  const Options options_;
  std::unordered_map<std::string, Kept> kept_;
  std::list<std::string> order_;  // keys of kept_, the least recently used first
};

}  // namespace splitlet::node_api
