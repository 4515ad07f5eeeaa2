#pragma once

/// Objects that nearly every part of a process needs, in one value instead of five fields of each
/// Deps. All of them outlive the parts. daemon::ServiceContext makes an Env; tests make it of
/// fakes.
/// Threads: clock, loop, strands and log from any; metrics when a part is made.

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/exec/exec.h"

namespace prometheus {
class Registry;
}

namespace splitlet::exec {

struct Env {
  const Clock& clock;
  EventLoop& loop;
  Strands& strands;
  const Log& log;
  prometheus::Registry& metrics;
};

}  // namespace splitlet::exec
