#include "tests/bench/raw.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "libs/rpc/rpc.h"
#include "libs/rpc/unary.h"
#include "runtime/v1/api.grpc.pb.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

namespace pb = google::protobuf;
namespace v1 = runtime::v1;
using namespace std::chrono_literals;

constexpr auto kCall = 120s;
constexpr int kClearing = 8;

/// Repeats idempotent calls: containerd sometimes refuses what it does a moment later. A repetition
/// is printed, because it makes the measured value too large.
void Insist(const std::string& what, const std::function<Status()>& call) {
  constexpr int kTries = 5;
  constexpr int kPauseMs = 500;
  for (int tries = 1;; ++tries) {
    const Status done = call();
    if (done.ok()) return;
    CHECK(tries < kTries, "raw {} failed {} times: {}", what, kTries, done);
    std::fprintf(stderr, "raw %s failed and is asked again: %s\n", what.c_str(),
                 Message(done).c_str());
    poll(nullptr, 0, kPauseMs);
  }
}

template <class T>
T Must(StatusOr<T> value) {
  CHECK(value.ok(), "{}", value.status());
  return *std::move(value);
}

/// containerd answers a verbose status call with JSON that includes the configuration, with field
/// names as in the .proto file.
template <class M>
M ConfigIn(const pb::Map<std::string, std::string>& info) {
  const auto text = info.find("info");
  CHECK(text != info.end(), "the runtime does not tell what it was told");
  pb::Struct all;
  CHECK(pb::util::JsonStringToMessage(text->second, &all).ok());
  const auto config = all.fields().find("config");
  CHECK(config != all.fields().end());
  std::string json;
  CHECK(pb::util::MessageToJsonString(config->second, &json).ok());
  M message;
  const auto parsed = pb::util::JsonStringToMessage(json, &message);
  CHECK(parsed.ok(), "{}", parsed.ToString());
  return message;
}

/// Reads the configuration of an existing object by a verbose status call.
template <class Config, class Request, class Response>
Config ConfigBy(v1::RuntimeService::Stub& stub,
                grpc::Status (v1::RuntimeService::Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                Request request) {
  const RealClock clock;
  request.set_verbose(true);
  rpc::ClientCall call(clock, After(clock, kCall));
  return ConfigIn<Config>(Must(rpc::Unary(call, stub, method, request)).info());
}

}  // namespace

RawConfig ConfigOf(const std::string& endpoint, const cri::Container& container,
                   const std::string& folder) {
  const auto stub = v1::RuntimeService::NewStub(rpc::ConnectEndpoint(endpoint));
  v1::PodSandboxStatusRequest of_sandbox;
  of_sandbox.set_pod_sandbox_id(container.sandbox_id.str());
  v1::ContainerStatusRequest of_container;
  of_container.set_container_id(container.id.str());
  RawConfig config;
  config.sandbox = ConfigBy<v1::PodSandboxConfig>(
      *stub, &v1::RuntimeService::Stub::PodSandboxStatus, of_sandbox);
  config.container = ConfigBy<v1::ContainerConfig>(
      *stub, &v1::RuntimeService::Stub::ContainerStatus, of_container);
  std::filesystem::create_directories(folder);
  int number = 0;
  for (auto& mount : *config.container.mutable_mounts()) {
    const std::string copy = fmt::format("{}/{}", folder, number++);
    std::filesystem::copy(mount.host_path(), copy, std::filesystem::copy_options::recursive);
    mount.set_host_path(copy);
  }
  for (auto* labels : {config.sandbox.mutable_labels(), config.sandbox.mutable_annotations(),
                       config.container.mutable_labels(), config.container.mutable_annotations()})
    labels->clear();
  return config;
}

std::string ExecUrl(const std::string& endpoint, const cri::ContainerId& container,
                    const std::string& command) {
  const auto stub = v1::RuntimeService::NewStub(rpc::ConnectEndpoint(endpoint));
  const RealClock clock;
  v1::ExecRequest request;
  request.set_container_id(container.str());
  request.add_cmd(command);
  request.set_stdin(true);
  request.set_stdout(true);
  rpc::ClientCall call(clock, After(clock, kCall));
  return Must(rpc::Unary(call, *stub, &v1::RuntimeService::Stub::Exec, request)).url();
}

Raw::Pod Raw::Start(int number, const std::string& script) {
  Pod pod;
  pod.config = config_;
  auto& metadata = *pod.config.sandbox.mutable_metadata();
  metadata.set_name(fmt::format("raw-{}", number));
  metadata.set_namespace_("bench");
  metadata.set_uid(fmt::format("raw-{}", number));
  metadata.set_attempt(0);
  pod.config.sandbox.set_log_directory(fmt::format("{}/raw-{}", logs_, number));
  std::filesystem::create_directories(pod.config.sandbox.log_directory() + "/app");
  auto& command = *pod.config.container.mutable_command();
  if (!script.empty()) *command.rbegin() = script;
  pod.began_ns = ToNanos(clock_.WallNow());
  pod.sandbox = Must(runtime_.RunPodSandbox(pod.config.sandbox, "", After(clock_, kCall)));
  CreateAndStart(pod, 0);
  return pod;
}

void Raw::CreateAndStart(Pod& pod, uint32_t attempt) {
  auto& config = pod.config.container;
  config.mutable_metadata()->set_attempt(attempt);
  config.set_log_path(fmt::format("app/{}.log", attempt));
  pod.container =
      Must(runtime_.CreateContainer(pod.sandbox, config, pod.config.sandbox, After(clock_, kCall)));
  const Status started = runtime_.StartContainer(pod.container, After(clock_, kCall));
  CHECK(started.ok(), "StartContainer: {}", started);
}

void Raw::Stop(const Pod& pod, int64_t grace) {
  Insist("StopContainer of " + pod.container.str(),
         [&] { return runtime_.StopContainer(pod.container, grace, After(clock_, kCall)); });
  Insist("StopPodSandbox of " + pod.sandbox.str(),
         [&] { return runtime_.StopPodSandbox(pod.sandbox, After(clock_, kCall)); });
}

void Raw::Remove(const Pod& pod) {
  Insist("RemovePodSandbox of " + pod.sandbox.str(),
         [&] { return runtime_.RemovePodSandbox(pod.sandbox, After(clock_, kCall)); });
}

Raw::Burst Raw::BurstOf(harness::RuntimeView& view, int pods, int width) {
  std::vector<Pod> all(static_cast<size_t>(pods));
  const auto for_all = [&](const std::function<void(size_t)>& one) {
    std::atomic<size_t> next{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < width; ++t)
      threads.emplace_back([&] {
        for (size_t i = next++; i < all.size(); i = next++) one(i);
      });
  };
  const int64_t began = ToNanos(clock_.WallNow());
  for_all([&](size_t i) { all[i] = Start(10000 + width * 1000 + static_cast<int>(i)); });
  int64_t last = began;
  for (const auto& pod : all) last = std::max(last, StartedAt(pod.container));
  const auto stopping = clock_.Now();
  for_all([&](size_t i) { Stop(all[i], 1); });
  const Burst took{.started_ms = Ms(last - began),
                   .stopped_ms = Ms((clock_.Now() - stopping).count())};
  std::fprintf(stderr, "raw burst of %d pods, %d at a time: %.0f ms, their end %.0f ms\n", pods,
               width, took.started_ms, took.stopped_ms);
  Clear(view);
  return took;
}

Raw::Burst Raw::BestBurst(harness::RuntimeView& view, int pods) {
  Burst best;
  for (const int width : {2, 4, 8, 16, pods}) {
    const Burst took = BurstOf(view, pods, width);
    const bool first = best.started_ms == 0;
    best = {.started_ms = first ? took.started_ms : std::min(best.started_ms, took.started_ms),
            .stopped_ms = first ? took.stopped_ms : std::min(best.stopped_ms, took.stopped_ms)};
  }
  return best;
}

void Raw::Clear(harness::RuntimeView& view) {
  const auto all = view.Sandboxes();
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < kClearing; ++t)
    threads.emplace_back([&] {
      for (size_t i = next++; i < all.size(); i = next++) {
        Insist("StopPodSandbox of " + all[i].pod_name,
               [&] { return runtime_.StopPodSandbox(all[i].id, After(clock_, kCall)); });
        Insist("RemovePodSandbox of " + all[i].pod_name,
               [&] { return runtime_.RemovePodSandbox(all[i].id, After(clock_, kCall)); });
      }
    });
}

cri::Container Raw::StatusOf(const cri::ContainerId& id) {
  return Must(runtime_.ContainerStatus(id, After(clock_, kCall)));
}

}  // namespace splitlet::bench
