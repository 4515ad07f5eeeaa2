#pragma once

/// The commands of fake-cri's control socket, carried out on a FakeRuntime.
/// Threads: one at a time; streaming_url() and OnPodCidr from any.
/// Errors: INVALID_ARGUMENT for a line that is no command.

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
  /// Lines that are to be run again after a restart of the runtime: behaviours and pulls.
  const std::vector<std::string>& lasting() const { return lasting_; }
  /// The runtime makes checkpoints; read by the server's threads.
  const std::atomic<bool>& checkpoints() const { return checkpoints_; }
  /// Of the server that streams go to; empty: there is none.
  std::string streaming_url() const;
  /// The runtime is told the range of addresses of pods. An error while it is told to refuse it.
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
  std::map<std::pair<std::string, std::string>, int> faults_;  // by method and pod
  std::vector<std::string> lasting_;
  std::atomic<bool> checkpoints_{true};
  mutable std::mutex mutex_;  // guards all below
  std::string streaming_url_;
  std::vector<std::string> pod_cidrs_;  // that it was told since its start
  Status pod_cidr_error_;
};

/// "250ms", "2s", "1m".
StatusOr<Duration> ParseDuration(const std::string& text);

}  // namespace splitlet::fake_cri
