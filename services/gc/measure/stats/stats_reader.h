#pragma once

/// Reads the stats of this node on demand: the table `runtime` names the pods, the rest comes from
/// files and the runtime.
/// In:    the view `runtime`, stats of VolumeMonitor.
/// Owns:  nothing.
/// Out:   answers.
/// Killed at any line: the caller asks again.
/// Threads: loop thread; files and the runtime on the strand "stats".
/// Errors: those of ReadNodeStats.

#include <functional>

#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "services/gc/measure/stats/node_stats.h"
#include "services/gc/measure/stats/volume_monitor.h"

namespace splitlet::gc {

class StatsReader {
 public:
  struct Deps {
    exec::EventLoop& loop;
    exec::Strands& strands;
    StatsSources sources;
    const bus::View<v1::RuntimeRecord>& runtime;
    const VolumeMonitor& volumes;
  };
  static constexpr Duration kLimit = std::chrono::seconds{10};
  using Done = std::function<void(StatusOr<v1::NodeStatsReply> reply)>;

  explicit StatsReader(Deps deps) : deps_(std::move(deps)) {}
  StatsReader(const StatsReader&) = delete;
  StatsReader& operator=(const StatsReader&) = delete;

  /// `details`: see NodeStatsRequest. `done` runs on the strand.
  void Read(bool details, Done done);

 private:
  const Deps deps_;
};

}  // namespace splitlet::gc
