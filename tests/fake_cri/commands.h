#pragma once

/// The commands of fake-cri's control socket, carried out on a FakeRuntime. One thread at a time.
/// Errors: INVALID_ARGUMENT for a line that is no command.

#include <map>
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

  cri::FakeRuntime& runtime_;
  std::map<std::pair<std::string, std::string>, int> faults_;  // by method and pod
  std::vector<std::string> lasting_;
};

/// "250ms", "2s", "1m".
StatusOr<Duration> ParseDuration(const std::string& text);

}  // namespace splitlet::fake_cri
