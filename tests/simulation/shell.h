#pragma once

/// The private parts of one start of a process. One thread.

#include <prometheus/registry.h>

#include <string>

#include "libs/base/fail_point.h"
#include "libs/base/log.h"
#include "libs/bus/fake_bus.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/fake_exec.h"
#include "tests/simulation/node.h"

namespace splitlet::simulation {

/// Events go to status, if it runs.
class EventsOf final : public daemon::EventRecorder {
 public:
  explicit EventsOf(SimNode& node) : node_(node) {}
  void Record(daemon::PodEvent event) override { node_.OnEvent(event); }

 private:
  SimNode& node_;
};

struct Process::Shell {
  Shell(SimNode& node, const std::string& process)
      : name(process),
        owner(node.scheduler().NewOwner(process)),
        loop(node.scheduler(), owner),
        strands(loop),
        bus(node.network(), process, loop),
        log(node.sink()),
        env{.clock = node.clock(),
            .loop = loop,
            .strands = strands,
            .log = log,
            .metrics = registry},
        events(node),
        fail_points({[] { throw exec::Scheduler::CrashedHere{}; },
                     [&node](int64_t ns) { node.scheduler().Charge(Duration{ns}); }}) {}
  std::string name;
  exec::Scheduler::Owner owner;
  exec::FakeLoop loop;
  exec::FakeStrands strands;
  bus::FakeBus bus;
  prometheus::Registry registry;
  const Log log;
  const exec::Env env;
  EventsOf events;
  FailPoints fail_points;
};

}  // namespace splitlet::simulation
