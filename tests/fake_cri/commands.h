#pragma once

/// Executes the commands of fake-cri's control socket on a FakeRuntime.
/// Threads: one at a time; streaming_url() and OnPodCidr from any.
/// Errors: INVALID_ARGUMENT for an invalid line.

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/cri/fake_runtime.h"

namespace splitlet::fake_cri {

class Commands {
 public:
  explicit Commands(cri::FakeRuntime& runtime) : runtime_(runtime) {}
  /// The answer without "OK ".
  StatusOr<std::string> Run(const std::string& line);
  /// Lines to repeat after a restart of the runtime: behaviours and pulls.
  const std::vector<std::string>& lasting() const { return lasting_; }
  /// True if the runtime makes checkpoints; read by the server's threads.
  const std::atomic<bool>& checkpoints() const { return checkpoints_; }
  /// URL of the streaming server; empty: there is none.
  std::string streaming_url() const;
  /// Called when the runtime receives the pods' address range. Returns an error while told to
  /// refuse it.
  Status OnPodCidr(const std::string& cidr);

 private:
  using Words = std::vector<std::string>;
  Status Exit(const Words& words);
  Status ExitId(const Words& words);
  Status SetFault(const Words& words);
  Status Behave(const Words& words);
  Status Exec(const Words& words);
  Status Pull(const Words& words);
  Status Events(const Words& words);
  Status Foreign(const Words& words);
  Status Network(const Words& words);
  Status Streaming(const Words& words);
  StatusOr<std::string> PodCidrs(const Words& words);

  cri::FakeRuntime& runtime_;
  std::map<std::pair<std::string, std::string>, int> faults_;  // counts by method and pod
  std::vector<std::string> lasting_;
  std::atomic<bool> checkpoints_{true};
  mutable std::mutex mutex_;  // guards all members below
  std::string streaming_url_;
  std::vector<std::string> pod_cidrs_;  // ranges received since its start
  Status pod_cidr_error_;
};

/// Parses "250ms", "2s", "1m".
StatusOr<Duration> ParseDuration(const std::string& text);

}  // namespace splitlet::fake_cri
