#pragma once

/// The health of the runtime: its answers to Status, and the age of the last good listing.
/// In:    a timer; the runtime's answers.
/// Owns:  the last report of the runtime, and when it came.
/// Out:   nothing; PlegService reads it.
/// Killed at any line: nothing is lost; the next start asks immediately.
/// Threads: loop thread only; the calls run on a strand.
/// Errors: logged once for each code; in Errors().
/// Source: docs/behaviour/relist.md, "Health"; kubelet runtimeState.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pleg/config.h"

namespace splitlet::v1 {
class PlegHealth;
}

namespace splitlet::pleg {

class RuntimeHealth {
 public:
  struct Deps {
    exec::Env env;
    cri::Reader& reader;
    const PlegConfig& config;
  };
  explicit RuntimeHealth(const Deps& deps)
      : deps_(deps), asker_(deps_.env.loop, deps_.env.strands) {}
  ~RuntimeHealth();
  RuntimeHealth(const RuntimeHealth&) = delete;
  RuntimeHealth& operator=(const RuntimeHealth&) = delete;

  void Start();
  /// The kubelet's texts; empty when the runtime is healthy. `last_listing`: when it began; no
  /// time: there was none.
  std::vector<std::string> Errors(Clock::Time last_listing) const;
  /// Writes the runtime's part: conditions, features, name and version, and whether it is down.
  void AddTo(v1::PlegHealth& health) const;

 private:
  void Ask();
  struct Answer {
    StatusOr<cri::RuntimeInfo> info;
    StatusOr<cri::RuntimeReport> report;
  };
  void OnAnswer(const Answer& answer);

  const Deps deps_;
  Clock::Time started_;
  std::optional<Clock::Time> answered_at_;  // the last good answer
  bool was_ready_ = false;                  // once, with its network
  cri::RuntimeReport report_;
  cri::RuntimeInfo info_;
  Status error_;
  exec::TimerId timer_ = 0;
  const exec::Asker asker_;
};

}  // namespace splitlet::pleg
