#pragma once

/// The API server of a local stack (fake-api below runit), seen and steered by its operator, over
/// its control socket: no fault of the network or of its answers hits these calls.
/// In:      LocalNode asks for pods and puts them; LocalFaults has it answer wrongly.
/// Owns:    what it is told to answer, which one that was started anew is told again.
/// Threads: one; a call blocks for some seconds at most.
/// Errors:  UNAVAILABLE while it is down or paused: then nothing was done. NOT_FOUND,
///          ALREADY_EXISTS as an API server means them.
/// Source:  tests/fake_api/README.md.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chaos/node/node.h"

namespace splitlet::chaos {

/// Where its pods are.
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
  /// Made or replaced, with the status and the UID that it says, as a controller would have left
  /// it.
  Status Put(const std::string& path, const std::string& json);
  /// `forced`: at once, without the grace that is due to it.
  Status Delete(const std::string& path, bool forced);
  /// Of the namespace default.
  StatusOr<std::vector<ReportedPod>> ListPods();
  StatusOr<std::vector<SeenEvents>> ListEvents();
  StatusOr<bool> IsReady(const std::string& node);

  /// Until Unset each request gets this answer: "429", "drop". One that is down is told later.
  /// CANCELLED from Unset: it never was.
  Status Set(const std::string& answer);
  Status Unset(const std::string& answer);
  /// "closed": they can go on from where they were; "expired": they cannot.
  Status EndWatches(const std::string& how);
  /// Tells one that was started anew, or could not be told, what it is to answer.
  void Retry();

 private:
  StatusOr<std::string> Send(const std::string& line);
  Status Tell();

  const Deps deps_;
  std::map<std::string, bool> answers_;  // wanted -> has been in force
  bool changed_ = false;                 // since somebody was told
  pid_t told_ = 0;                       // who was
};

}  // namespace splitlet::chaos
