#include "tests/bench/pod_way.h"

#include <thread>

#include "libs/cri/grpc_runtime.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLimit = 300s;
/// The runtime records the times, so polls are few and late, because each poll disturbs the
/// measurement.
constexpr Duration kLook = 100ms;

}  // namespace

void PodWay::Put(const std::string& name, const std::string& more) {
  node_.PutManifest(name + ".yaml",
                    fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n"
                                "  containers:\n  - name: app\n    image: busybox:1\n    {}\n",
                                name, more));
}

double PodWay::StartMs(const std::string& name) {
  const int64_t began = ToNanos(view_.clock().WallNow());
  Put(name);
  std::this_thread::sleep_for(kLook);
  CHECK(WaitEvery(kLook, kLimit, [&] { return !view_.RunningOf(name).empty(); }), "{}",
        node_.LogTails());
  return Ms(view_.ReadySandboxesOf(name).at(0).created_at_ns - began);
}

double PodWay::StopMs(const std::string& name) {
  const auto id = view_.RunningOf(name).at(0).id;
  const int64_t began = ToNanos(view_.clock().WallNow());
  Remove(name);
  std::this_thread::sleep_for(kLook);
  CHECK(WaitEvery(kLook, kLimit, [&] { return view_.RunningOf(name).empty(); }), "{}",
        node_.LogTails());
  const auto ended = view_.runtime().ContainerStatus(id, After(view_.clock(), 10s));
  CHECK(ended.ok(), "{}", ToString(ended.status()));
  return Ms(ended->finished_at_ns - began);
}

}  // namespace splitlet::bench
