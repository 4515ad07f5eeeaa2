#pragma once

/// Asks config-source whether it knows a pod, before something of the pod is given up.
/// In:      WhenGone, from each class that would act on the absence of a pod.
/// Owns:    nothing; one question for a pod at a time, by its strand.
/// Out:     DesiredOwner.Knows.
/// Killed:  the class that asked finds the pod absent again.
/// Threads: the loop's; the question runs on a strand.
/// Errors:  none; no answer means no act.
/// Source:  docs/safety.md, rule 8.

#include <string>

#include "libs/base/clock.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/peers/desired_owner.h"

namespace splitlet::pod_worker {

/// How long config-source may take to answer whether it knows a pod.
inline constexpr Duration kAskOwner = std::chrono::seconds{5};

class DesiredConfirmation {
 public:
  struct Deps {
    exec::Env env;
    peers::DesiredOwner& owner;
  };
  explicit DesiredConfirmation(Deps deps)
      : deps_(deps), asker_(deps_.env.loop, deps_.env.strands) {}

  /// Runs `gone` on the loop if config-source answers that it does not know the pod, as far as
  /// `source` is concerned.
  void WhenGone(const std::string& uid, const std::string& source, exec::Task gone) const;

 private:
  const Deps deps_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
