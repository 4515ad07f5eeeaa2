#pragma once

/// Controls the API server of a local stack (fake-api below runit) over its control socket, which
/// injected network faults and answers do not affect.
/// In:      pods from LocalNode; faulty answers from LocalFaults.
/// Owns:    the answers that are set, which it sets again in a restarted server.
/// Threads: one; a call blocks for some seconds at most.
/// Errors:  UNAVAILABLE while the server is down or paused; nothing was done. NOT_FOUND
///          and ALREADY_EXISTS as of an API server.
/// Source:  tests/fake_api/README.md.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chaos/node/node.h"

namespace splitlet::chaos {

/// Path of its pods.
inline constexpr const char* kServedPods = "/api/v1/namespaces/default/pods";
inline constexpr const char* kServedEvents = "/api/v1/namespaces/default/events";

class ApiServer {
 public:
  struct Deps {
    std::string socket;          // empty: the stack has none
    std::function<pid_t()> pid;  // 0: does not run, or is paused
  };
  explicit ApiServer(Deps deps) : deps_(std::move(deps)) {}

  bool exists() const { return !deps_.socket.empty(); }

  Status Create(const std::string& path, const std::string& json);
  /// Creates or replaces the object, with the status and UID in `json`, as a controller would.
  Status Put(const std::string& path, const std::string& json);
  /// `forced`: immediately, without a grace period.
  Status Delete(const std::string& path, bool forced);
  /// Pods of the namespace default.
  StatusOr<std::vector<ReportedPod>> ListPods();
  StatusOr<std::vector<SeenEvents>> ListEvents();
  StatusOr<bool> IsReady(const std::string& node);

  /// Until Unset each request gets this answer: "429", "drop". A server that is down gets it later.
  /// CANCELLED from Unset: the answer was never in force.
  Status Set(const std::string& answer);
  Status Unset(const std::string& answer);
  /// "closed": clients can go on from where they were; "expired": they cannot.
  Status EndWatches(const std::string& how);
  /// Sets the answers in a server that was restarted or missed them.
  void Retry();

 private:
  StatusOr<std::string> Send(const std::string& line);
  Status Apply();

  const Deps deps_;
  std::map<std::string, bool> answers_;  // answer that a fault wants -> whether it was ever in
                                         // force
  bool changed_ = false;                 // since the last Apply
  pid_t applied_to_ = 0;                 // server process with the present answers
};

}  // namespace splitlet::chaos
