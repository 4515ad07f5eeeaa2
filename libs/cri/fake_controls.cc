#include "libs/cri/fake_controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libs/cri/fake_world.h"

namespace splitlet::cri {

FakeControls::FakeControls(const Clock& clock, Options options)
    : clock_(clock),
      options_(std::move(options)),
      world_(std::make_unique<World>(clock_, options_)) {}
FakeControls::~FakeControls() = default;

void FakeControls::Deliver() {
  std::deque<World::Outgoing> outbox;
  {
    const std::lock_guard lock(mutex_);
    outbox.swap(world_->outbox);
  }
  for (const auto& out : outbox) {
    if (out.event) {
      out.to.on_event(*out.event);
    } else if (out.to.on_end) {
      out.to.on_end(out.end);
    }
  }
}

void FakeControls::SetBehaviour(const std::string& pod_uid, const std::string& container,
                                std::vector<ContainerBehaviour> behaviours) {
  const std::lock_guard lock(mutex_);
  world_->behaviours[{pod_uid, container}] = std::move(behaviours);
}

void FakeControls::SetExec(const std::string& pod_uid, const std::string& container,
                           StatusOr<ExecResult> result) {
  const std::lock_guard lock(mutex_);
  world_->execs.insert_or_assign({pod_uid, container}, std::move(result));
}

void FakeControls::SetPull(const std::string& image, PullBehaviour behaviour) {
  const std::lock_guard lock(mutex_);
  world_->pulls[NormalImageName(image)] = std::move(behaviour);
}

void FakeControls::AddImage(const std::string& image, uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  world_->StoreImage(image, size_bytes);
}

void FakeControls::SetImageFs(FsUsage usage) {
  const std::lock_guard lock(mutex_);
  world_->image_fs.images = {std::move(usage)};
}

void FakeControls::SetContainerFs(FsUsage usage) {
  const std::lock_guard lock(mutex_);
  world_->image_fs.containers = {std::move(usage)};
}

void FakeControls::SetSandboxImage(const std::string& image) {
  const std::lock_guard lock(mutex_);
  world_->sandbox_image = image;
}

void FakeControls::PinImage(const std::string& image) {
  const std::lock_guard lock(mutex_);
  const Image* found = world_->FindImage(image);
  CHECK(found != nullptr, "no image {}", image);
  world_->images.at(found->id).pinned = true;
}

void FakeControls::SetStats(const ContainerId& id, ContainerStats stats) {
  const std::lock_guard lock(mutex_);
  world_->stats[id] = std::move(stats);
}

int FakeControls::AddFault(Fault fault) {
  const std::lock_guard lock(mutex_);
  world_->faults[++world_->last_fault] = {std::move(fault), 0};
  return world_->last_fault;
}

void FakeControls::RemoveFault(int id) {
  const std::lock_guard lock(mutex_);
  world_->faults.erase(id);
}

void FakeControls::ClearFaults() {
  const std::lock_guard lock(mutex_);
  world_->faults.clear();
}

size_t FakeControls::Hanging() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [id, entry] : world_->faults) count += static_cast<size_t>(entry.hanging);
  return count;
}

void FakeControls::SetDown(bool down) {
  {
    const std::lock_guard lock(mutex_);
    if (down && !world_->down) ++world_->downs;
    world_->down = down;
    if (down) world_->EndStreams(Unavailable("the runtime is down"));
  }
  Deliver();
}

void FakeControls::SetConditions(std::vector<RuntimeCondition> conditions) {
  const std::lock_guard lock(mutex_);
  world_->report.conditions = std::move(conditions);
}

void FakeControls::SetFeatures(RuntimeReport features) {
  const std::lock_guard lock(mutex_);
  features.conditions = std::move(world_->report.conditions);
  world_->report = std::move(features);
}

void FakeControls::SetEvents(bool available) {
  {
    const std::lock_guard lock(mutex_);
    world_->events_available = available;
    if (!available) world_->EndStreams(Unavailable("the event stream ended"));
  }
  Deliver();
}

void FakeControls::DropEvents(int count) {
  const std::lock_guard lock(mutex_);
  world_->drop_events = count;
}

void FakeControls::DoubleEvents(int count) {
  const std::lock_guard lock(mutex_);
  world_->double_events = count;
}

void FakeControls::SetExitLag(Duration lag) {
  const std::lock_guard lock(mutex_);
  world_->exit_lag = lag;
}

void FakeControls::EndStreams(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    world_->EndStreams(status);
  }
  Deliver();
}

size_t FakeControls::Streams() const {
  const std::lock_guard lock(mutex_);
  return world_->streams.size();
}

Status FakeControls::ExitContainer(const std::string& pod, const std::string& name, int32_t code,
                                   const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    world_->Tick();
    World::ContainerEntry* newest = nullptr;
    for (auto& [id, entry] : world_->containers) {
      if (!world_->IsRunning(id) || entry.record.name != name) continue;
      if (!world_->IsAbout(pod, world_->PodUidOf(entry.record), nullptr)) continue;
      if (newest == nullptr || IsNewer(entry.record, newest->record)) newest = &entry;
    }
    if (newest == nullptr) return NotFound("no running container {} in pod {}", name, pod);
    world_->Exit(*newest, clock_.Now(), code, reason);
  }
  Deliver();
  return OkStatus();
}

Status FakeControls::ExitContainer(const ContainerId& id, int32_t code, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    world_->Tick();
    if (!world_->IsRunning(id)) return NotFound("no running container {}", id);
    world_->Exit(world_->containers.at(id), clock_.Now(), code, reason);
  }
  Deliver();
  return OkStatus();
}

void FakeControls::BreakSandbox(const std::string& pod_uid) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, entry] : world_->sandboxes) {
      if (entry.record.pod_uid == pod_uid) world_->StopSandbox(entry);
    }
  }
  Deliver();
}

Status FakeControls::SetReason(const ContainerId& id, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = world_->containers.find(id);
  if (found == world_->containers.end()) return NotFound("no container {}", id);
  found->second.record.reason = reason;
  return OkStatus();
}

Status FakeControls::SetUnknown(const ContainerId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = world_->containers.find(id);
  if (found == world_->containers.end()) return NotFound("no container {}", id);
  found->second.record.state = ContainerState::kUnknown;
  return OkStatus();
}

void FakeControls::SetIps(const SandboxId& id, std::vector<std::string> ips) {
  const std::lock_guard lock(mutex_);
  const auto found = world_->sandboxes.find(id);
  if (found != world_->sandboxes.end()) found->second.record.ips = std::move(ips);
}

void FakeControls::AddUnmanagedPod(const UnmanagedPod& pod) {
  {
    const std::lock_guard lock(mutex_);
    Sandbox sandbox;
    sandbox.pod_name = pod.name;
    sandbox.pod_namespace = pod.name_space;
    sandbox.pod_uid = pod.uid;
    sandbox.annotations = pod.annotations;
    sandbox.labels = {{"io.kubernetes.pod.name", pod.name},
                      {"io.kubernetes.pod.namespace", pod.name_space},
                      {"io.kubernetes.pod.uid", pod.uid}};
    const auto made = world_->AddSandbox(sandbox, "/var/log/pods/" + pod.uid);
    if (!made.ok()) return;  // error: the pod exists already
    for (const auto& name : pod.containers) {
      Container container;
      container.name = name;
      container.image = world_->StoreImage("unmanaged/" + name, 1 << 20).id;
      container.labels = sandbox.labels;
      container.labels["io.kubernetes.container.name"] = name;
      const auto id = world_->AddContainer(*made, container, {});
      CHECK(id.ok() && world_->Start(*id).ok(), "an unmanaged container");
    }
  }
  Deliver();
}

void FakeControls::Reboot() {
  {
    const std::lock_guard lock(mutex_);
    world_->EndStreams(Unavailable("the machine went down"));
    for (auto& [id, entry] : world_->containers) world_->Exit(entry, clock_.Now(), 255, "Unknown");
    for (auto& [id, entry] : world_->sandboxes) world_->StopSandbox(entry);
    world_->outbox.erase(
        std::remove_if(world_->outbox.begin(), world_->outbox.end(),
                       [](const World::Outgoing& out) { return out.event.has_value(); }),
        world_->outbox.end());
  }
  Deliver();
}

Status FakeControls::Vanish(const std::string& pod, const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    world_->Tick();
    World::ContainerEntry* newest = nullptr;
    for (auto& [id, entry] : world_->containers) {
      if (entry.record.name != name) continue;
      if (!world_->IsAbout(pod, world_->PodUidOf(entry.record), nullptr)) continue;
      if (newest == nullptr || IsNewer(entry.record, newest->record)) newest = &entry;
    }
    if (newest == nullptr) return NotFound("no container {} in pod {}", name, pod);
    world_->Exit(*newest, clock_.Now(), kKilled, "Error");
    world_->RemoveContainer(ContainerId(newest->record.id));
  }
  Deliver();
  return OkStatus();
}

void FakeControls::Wipe() {
  {
    const std::lock_guard lock(mutex_);
    world_->Tick();
    for (auto& [id, entry] : world_->sandboxes) world_->StopSandbox(entry);
    while (!world_->containers.empty())
      world_->RemoveContainer(ContainerId(world_->containers.begin()->first));
    while (!world_->sandboxes.empty())
      world_->RemoveSandbox(SandboxId(world_->sandboxes.begin()->first));
  }
  Deliver();
}

uint64_t FakeControls::Exits() const {
  const std::lock_guard lock(mutex_);
  return world_->exits;
}

void FakeControls::Tick() {
  {
    const std::lock_guard lock(mutex_);
    world_->Tick();
  }
  Deliver();
}

std::optional<Clock::Time> FakeControls::NextDue() const {
  const std::lock_guard lock(mutex_);
  return world_->NextDue();
}

std::vector<Sandbox> FakeControls::Sandboxes() const {
  const std::lock_guard lock(mutex_);
  std::vector<Sandbox> all;
  for (const auto& [id, entry] : world_->sandboxes) all.push_back(entry.record);
  std::sort(all.begin(), all.end(),
            [](const Sandbox& a, const Sandbox& b) { return a.created_at_ns < b.created_at_ns; });
  return all;
}

std::optional<Sandbox> FakeControls::NewestSandbox(const std::string& pod_uid) const {
  const std::lock_guard lock(mutex_);
  const Sandbox* newest = nullptr;
  for (const auto& [id, entry] : world_->sandboxes)
    if (entry.record.pod_uid == pod_uid && (newest == nullptr || IsNewer(entry.record, *newest)))
      newest = &entry.record;
  if (newest == nullptr) return std::nullopt;
  return *newest;
}

std::vector<Container> FakeControls::Containers() const {
  const std::lock_guard lock(mutex_);
  world_->Tick();
  std::vector<Container> all;
  for (const auto& [id, entry] : world_->containers) all.push_back(entry.record);
  std::sort(all.begin(), all.end(), [](const Container& a, const Container& b) {
    return a.created_at_ns < b.created_at_ns;
  });
  return all;
}

std::vector<std::string> FakeControls::Running(const std::string& pod_uid) const {
  const std::lock_guard lock(mutex_);
  world_->Tick();
  std::vector<std::string> names;
  for (const auto& [id, entry] : world_->containers) {
    if (world_->IsRunning(id) && world_->PodUidOf(entry.record) == pod_uid)
      names.push_back(entry.record.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

size_t FakeControls::Calls(std::string_view method) const {
  const std::lock_guard lock(mutex_);
  const auto found = world_->calls.find(method);
  return found == world_->calls.end() ? 0 : found->second;
}

StringMap FakeControls::ImageAnnotations() const {
  const std::lock_guard lock(mutex_);
  return world_->image_annotations;
}

std::vector<std::string> FakeControls::Violations() const {
  const std::lock_guard lock(mutex_);
  return world_->violations;
}

}  // namespace splitlet::cri
