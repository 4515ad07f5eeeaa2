#pragma once

/// Raw CRI calls: the floor of what is measured on a node, with the configuration of a node's pod,
/// so that the runtime does the same work for both. A call that makes something and
/// fails ends the program, with what failed; one that ends or removes is told and made again, five
/// times in all.
/// Threads: any.

#include <array>
#include <string>

#include "libs/cri/grpc_runtime.h"
#include "runtime/v1/api.pb.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::bench {

/// A burst is one long try, and the disk is slower or quicker from minute to minute: the best of so
/// many counts, as the best of the raw ones does.
inline constexpr int kBurstTries = 3;
/// How many raw calls at a time, where raw and own bursts are measured by turns: each was seen to
/// be the best.
inline constexpr std::array kTurnWidths = {4, 8, 16};

/// What the runtime was told to make.
struct RawConfig {
  runtime::v1::PodSandboxConfig sandbox;
  runtime::v1::ContainerConfig container;
};

/// Reads back from the runtime what a running pod with one container was made of, and copies the
/// files that it mounts into `folder`. Without labels and annotations: what is made of it belongs
/// to nobody.
RawConfig ConfigOf(const std::string& endpoint, const cri::Container& container,
                   const std::string& folder);

/// Where the runtime streams a command with its input and output: "http://127.0.0.1:4000/exec/x".
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

  /// Before the first pod.
  void Use(RawConfig config) { config_ = std::move(config); }

  /// With the script that the shell runs; none: that of the configuration.
  Pod Start(int number, const std::string& script = "");
  void CreateAndStart(Pod& pod, uint32_t attempt);
  void Stop(const Pod& pod, int64_t grace);
  void Remove(const Pod& pod);
  /// Milliseconds from the first call until the last one of many runs, or is stopped.
  struct Burst {
    double started_ms = 0, stopped_ms = 0;
  };
  /// `width` at a time. Leaves nothing of them.
  Burst BurstOf(harness::RuntimeView& view, int pods, int width);
  /// The best of some widths, each of the two by itself.
  Burst BestBurst(harness::RuntimeView& view, int pods);
  /// Removes all that is in the runtime.
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
