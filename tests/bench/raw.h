#pragma once

/// Raw CRI calls, the lower bound for measurements on a node. They use the configuration of a
/// node's pod, so that the runtime does the same work for both. A failed creating call ends the
/// program with its error. A failed stopping or removing call is printed and repeated, five times
/// in all.
/// Threads: any.

#include <array>
#include <string>

#include "libs/cri/grpc_runtime.h"
#include "runtime/v1/api.pb.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::bench {

/// A burst is a single long run, and the disk's speed changes from minute to minute. So the best of
/// several runs counts, for raw calls as well.
inline constexpr int kBurstTries = 3;
/// Number of raw calls at a time when raw bursts and the node's alternate; measured to be the best
/// for each.
inline constexpr std::array kTurnWidths = {4, 8, 16};

/// The configuration that the runtime received.
struct RawConfig {
  runtime::v1::PodSandboxConfig sandbox;
  runtime::v1::ContainerConfig container;
};

/// Reads from the runtime the configuration of a running pod with one container, and copies the
/// files that it mounts into `folder`. Leaves out labels and annotations, so that no agent
/// considers the copies its own.
RawConfig ConfigOf(const std::string& endpoint, const cri::Container& container,
                   const std::string& folder);

/// The runtime's URL for streaming a command's input and output: "http://127.0.0.1:4000/exec/x".
std::string ExecUrl(const std::string& endpoint, const cri::ContainerId& container,
                    const std::string& command);

class Raw {
 public:
  Raw(harness::RuntimeView& view, std::string logs)
      : clock_(view.clock()), runtime_(view.runtime()), logs_(std::move(logs)) {}

  struct Pod {
    cri::SandboxId sandbox;
    cri::ContainerId container;
    RawConfig config;
    int64_t began_ns = 0;
  };

  /// Called before the first pod.
  void Use(RawConfig config) { config_ = std::move(config); }

  /// With a script for the shell; empty: the script of the configuration.
  Pod Start(int number, const std::string& script = "");
  void CreateAndStart(Pod& pod, uint32_t attempt);
  void Stop(const Pod& pod, int64_t grace);
  void Remove(const Pod& pod);
  /// Milliseconds from the first call until the last of many pods runs, or is stopped.
  struct Burst {
    double started_ms = 0, stopped_ms = 0;
  };
  /// `width` at a time. Leaves nothing behind.
  Burst BurstOf(harness::RuntimeView& view, int pods, int width);
  /// The best of several widths, separately for both.
  Burst BestBurst(harness::RuntimeView& view, int pods);
  /// Removes everything from the runtime.
  void Clear(harness::RuntimeView& view);

  int64_t StartedAt(const cri::ContainerId& id) { return StatusOf(id).started_at_ns; }
  cri::Container StatusOf(const cri::ContainerId& id);
  const Clock& clock() const { return clock_; }

 private:
  const Clock& clock_;
  cri::GrpcRuntime& runtime_;
  std::string logs_;
  RawConfig config_;
};

}  // namespace splitlet::bench
