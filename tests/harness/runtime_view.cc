#include "tests/harness/runtime_view.h"

#include <fmt/format.h>
#include <prometheus/registry.h>

#include "libs/cri/grpc_runtime.h"
#include "libs/rpc/rpc.h"

namespace splitlet::harness {
namespace {

constexpr auto kCallLimit = std::chrono::seconds{5};

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
  auto all = impl_->runtime.ListPodSandbox("", After(impl_->clock, kCallLimit));
  return all.ok() ? *std::move(all) : std::vector<cri::Sandbox>{};
}

std::vector<cri::Container> RuntimeView::Containers() {
  auto all = impl_->runtime.ListContainers({}, After(impl_->clock, kCallLimit));
  return all.ok() ? *std::move(all) : std::vector<cri::Container>{};
}

std::vector<cri::Container> RuntimeView::RunningOf(const std::string& pod) {
  std::vector<cri::Container> running;
  for (auto& container : Containers())
    if (container.state == cri::ContainerState::kRunning && IsPodNamed(PodNameOf(container), pod))
      running.push_back(std::move(container));
  return running;
}

std::vector<cri::Sandbox> RuntimeView::ReadySandboxesOf(const std::string& pod) {
  std::vector<cri::Sandbox> ready;
  for (auto& sandbox : Sandboxes())
    if (sandbox.state == cri::SandboxState::kReady && IsPodNamed(sandbox.pod_name, pod))
      ready.push_back(std::move(sandbox));
  return ready;
}

size_t RuntimeView::ReadySandboxCount() {
  size_t count = 0;
  for (const auto& sandbox : Sandboxes())
    count += sandbox.state == cri::SandboxState::kReady ? 1 : 0;
  return count;
}

size_t RuntimeView::RunningCount() {
  size_t count = 0;
  for (const auto& c : Containers()) count += c.state == cri::ContainerState::kRunning ? 1 : 0;
  return count;
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
