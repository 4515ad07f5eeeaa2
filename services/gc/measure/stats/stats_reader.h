#pragma once

/// Figures of this node for whoever asks: the tables say which pods there are, the rest is read.
/// In:    the view `runtime`, figures of volumes.
/// Owns:  nothing.
/// Out:   answers.
/// Killed at any line: who asked asks again.
/// Threads: loop thread; what blocks on the strand "stats".
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

  /// `details`: see NodeStatsRequest. `done` on the strand.
  void Read(bool details, Done done);

 private:
  const Deps deps_;
};

}  // namespace splitlet::gc
