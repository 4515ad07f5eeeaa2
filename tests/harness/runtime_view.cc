#include "tests/harness/runtime_view.h"

#include <fmt/format.h>
#include <prometheus/registry.h>

#include <algorithm>

#include "libs/cri/grpc_runtime.h"
#include "libs/rpc/rpc.h"

namespace splitlet::harness {
namespace {

constexpr auto kListLimit = std::chrono::seconds{5};

const char* NameOf(cri::ContainerState state) {
  switch (state) {
    case cri::ContainerState::kCreated: return "created";
    case cri::ContainerState::kRunning: return "running";
    case cri::ContainerState::kExited: return "exited";
    case cri::ContainerState::kUnknown: return "unknown";
  }
  UNREACHABLE();
}

std::string PodNameOf(const cri::Container& container) {
  const auto found = container.labels.find("io.kubernetes.pod.name");
  return found == container.labels.end() ? std::string() : found->second;
}

}  // namespace

bool IsPodNamed(const std::string& pod_name, const std::string& name) {
  return pod_name == name || pod_name == name + "-node-1";
}

bool AreExactly(const std::vector<std::string>& pods, const std::vector<cri::Sandbox>& ready,
                const std::vector<cri::Container>& running) {
  return ready.size() == pods.size() && running.size() == pods.size() &&
         std::ranges::all_of(pods, [&](const auto& pod) {
           const auto is_ready = [&pod](const auto& s) { return IsPodNamed(s.pod_name, pod); };
           const auto runs = [&pod](const auto& c) { return IsPodNamed(PodNameOf(c), pod); };
           return std::ranges::count_if(ready, is_ready) == 1 &&
                  std::ranges::count_if(running, runs) == 1;
         });
}

struct RuntimeView::Impl {
  RealClock clock;
  prometheus::Registry registry;
  cri::GrpcRuntime runtime;
  explicit Impl(const std::string& endpoint)
      : runtime(rpc::ConnectEndpoint(endpoint), clock, registry, {}) {}
};

RuntimeView::RuntimeView(const std::string& endpoint) : impl_(std::make_unique<Impl>(endpoint)) {}
RuntimeView::~RuntimeView() = default;

cri::GrpcRuntime& RuntimeView::runtime() { return impl_->runtime; }
const Clock& RuntimeView::clock() const { return impl_->clock; }

std::vector<cri::Sandbox> RuntimeView::Sandboxes() {
  auto all = impl_->runtime.ListPodSandbox("", After(impl_->clock, kListLimit));
  return all.ok() ? *std::move(all) : std::vector<cri::Sandbox>{};
}

std::vector<cri::Container> RuntimeView::Containers() {
  auto all = impl_->runtime.ListContainers({}, After(impl_->clock, kListLimit));
  return all.ok() ? *std::move(all) : std::vector<cri::Container>{};
}

std::vector<cri::Container> RuntimeView::Running() {
  auto running = Containers();
  std::erase_if(running, [](const auto& c) { return c.state != cri::ContainerState::kRunning; });
  return running;
}

std::vector<cri::Container> RuntimeView::RunningOf(const std::string& pod) {
  auto running = Running();
  std::erase_if(running, [&pod](const auto& c) { return !IsPodNamed(PodNameOf(c), pod); });
  return running;
}

std::vector<cri::Sandbox> RuntimeView::ReadySandboxes() {
  auto ready = Sandboxes();
  std::erase_if(ready, [](const auto& s) { return s.state != cri::SandboxState::kReady; });
  return ready;
}

std::vector<cri::Sandbox> RuntimeView::ReadySandboxesOf(const std::string& pod) {
  auto ready = ReadySandboxes();
  std::erase_if(ready, [&pod](const auto& s) { return !IsPodNamed(s.pod_name, pod); });
  return ready;
}

std::string RuntimeView::Describe() {
  std::string text = "the runtime holds:\n";
  for (const auto& s : Sandboxes())
    text += fmt::format("  sandbox {} #{} {}\n", s.pod_name, s.attempt,
                        s.state == cri::SandboxState::kReady ? "ready" : "not ready");
  for (const auto& c : Containers())
    text +=
        fmt::format("  container {}/{} #{} {}\n", PodNameOf(c), c.name, c.attempt, NameOf(c.state));
  return text;
}

}  // namespace splitlet::harness
