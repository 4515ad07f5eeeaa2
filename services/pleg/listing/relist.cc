#include "services/pleg/listing/relist.h"

#include <algorithm>
#include <set>
#include <utility>

#include "libs/base/status.h"
#include "libs/cri/container_end.h"
#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

ObjectState StateIn(const States& states, const std::string& id) {
  const auto found = states.find(id);
  return found == states.end() ? ObjectState::kAbsent : found->second;
}

ObjectState ToObjectState(cri::ContainerState state) {
  switch (state) {
    case cri::ContainerState::kRunning: return ObjectState::kRunning;
    case cri::ContainerState::kExited: return ObjectState::kExited;
    case cri::ContainerState::kCreated:
    case cri::ContainerState::kUnknown: return ObjectState::kUnknown;
  }
  UNREACHABLE();
}

ObjectState ToObjectState(cri::SandboxState state) {
  return state == cri::SandboxState::kReady ? ObjectState::kRunning : ObjectState::kExited;
}

std::vector<EventType> DiffOne(ObjectState before, ObjectState after) {
  using enum EventType;
  if (before == after) return {};
  switch (after) {
    case ObjectState::kRunning: return {kContainerStarted};
    case ObjectState::kExited: return {kContainerDied};
    case ObjectState::kUnknown: return {kContainerChanged};
    case ObjectState::kAbsent:
      if (before == ObjectState::kExited) return {kContainerRemoved};
      return {kContainerDied, kContainerRemoved};
  }
  UNREACHABLE();
}

}  // namespace

const char* NameOf(EventType type) {
  switch (type) {
    case EventType::kContainerStarted: return "ContainerStarted";
    case EventType::kContainerDied: return "ContainerDied";
    case EventType::kContainerRemoved: return "ContainerRemoved";
    case EventType::kContainerChanged: return "ContainerChanged";
  }
  UNREACHABLE();
}

std::vector<Event> Diff(const States& before, const States& after) {
  std::set<std::string> ids;
  for (const auto& [id, state] : before) ids.insert(id);
  for (const auto& [id, state] : after) ids.insert(id);
  std::vector<Event> events;
  for (const auto& id : ids) {
    for (const EventType type : DiffOne(StateIn(before, id), StateIn(after, id))) {
      events.push_back({type, id});
    }
  }
  return events;
}

bool AnyEnded(const States& before, const States& after) {
  return std::any_of(before.begin(), before.end(), [&after](const auto& entry) {
    if (entry.second != ObjectState::kRunning) return false;
    const ObjectState now = StateIn(after, entry.first);
    return now == ObjectState::kExited || now == ObjectState::kAbsent;
  });
}

bool AnyKilled(const States& before, const v1::ObservedPod& after) {
  constexpr int32_t kKilled = 128 + 9;
  const auto& containers = after.containers();
  return std::any_of(
      containers.begin(), containers.end(), [&before](const v1::ContainerRecord& record) {
        return record.state() == v1::ContainerRecord::EXITED && record.exit_code() == kKilled &&
               !cri::EndedForMemory(record) && StateIn(before, record.id()) != ObjectState::kExited;
      });
}

Listing MakeListing(Clock::Time began, std::vector<cri::Sandbox> sandboxes,
                    std::vector<cri::Container> containers) {
  Listing listing;
  listing.began = began;
  for (auto& sandbox : sandboxes) {
    const std::string uid = cri::LabelOf(sandbox.labels, kube::kPodUidLabel);
    if (uid.empty()) {
      listing.unmanaged.insert(sandbox.id.str());
      continue;
    }
    ListedPod& pod = listing.pods[uid];
    if (pod.name.empty()) {
      pod.name = sandbox.pod_name;
      pod.name_space = sandbox.pod_namespace;
    }
    pod.running = pod.running || sandbox.state == cri::SandboxState::kReady;
    pod.states[sandbox.id.str()] = ToObjectState(sandbox.state);
    pod.shown.sandboxes.push_back(std::move(sandbox));
  }
  for (auto& container : containers) {
    ++listing.containers[container.state];
    const std::string uid = cri::LabelOf(container.labels, kube::kPodUidLabel);
    if (uid.empty()) {
      listing.unmanaged.insert(container.id.str());
      continue;
    }
    ListedPod& pod = listing.pods[uid];
    if (pod.name.empty()) {
      pod.name = cri::LabelOf(container.labels, kube::kPodNameLabel);
      pod.name_space = cri::LabelOf(container.labels, kube::kPodNamespaceLabel);
    }
    pod.states[container.id.str()] = ToObjectState(container.state);
    pod.shown.containers.push_back(std::move(container));
  }
  for (auto& [uid, pod] : listing.pods) pod.shown.listed_at = began;
  return listing;
}

States StatesOf(const v1::ObservedPod& pod) {
  States states;
  for (const auto& sandbox : pod.sandboxes()) {
    states[sandbox.id()] =
        sandbox.state() == v1::SandboxRecord::READY ? ObjectState::kRunning : ObjectState::kExited;
  }
  for (const auto& container : pod.containers()) {
    ObjectState state = ObjectState::kUnknown;
    if (container.state() == v1::ContainerRecord::RUNNING) state = ObjectState::kRunning;
    if (container.state() == v1::ContainerRecord::EXITED) state = ObjectState::kExited;
    states[container.id()] = state;
  }
  return states;
}

bool MakesWork(const States& before, const v1::ObservedPod& after) {
  const States now = StatesOf(after);
  const bool ended = std::any_of(before.begin(), before.end(), [&now](const auto& entry) {
    return entry.second == ObjectState::kRunning && StateIn(now, entry.first) != entry.second;
  });
  const bool found_dead = std::any_of(now.begin(), now.end(), [&before](const auto& entry) {
    return entry.second == ObjectState::kExited && StateIn(before, entry.first) != entry.second;
  });
  const auto& containers = after.containers();
  return ended || found_dead ||
         std::any_of(containers.begin(), containers.end(), [](const v1::ContainerRecord& record) {
           return record.state() == v1::ContainerRecord::UNKNOWN;
         });
}

bool HasSandbox(const v1::ObservedPod& pod, const std::string& id) {
  return std::any_of(pod.sandboxes().begin(), pod.sandboxes().end(),
                     [&id](const v1::SandboxRecord& sandbox) { return sandbox.id() == id; });
}

bool Shows(const States& known, const cri::ContainerEvent& event) {
  const ObjectState state = StateIn(known, event.container_id);
  switch (event.kind) {
    case cri::ContainerEvent::Kind::kCreated: return state != ObjectState::kAbsent;
    case cri::ContainerEvent::Kind::kStarted:
      return state == ObjectState::kRunning || state == ObjectState::kExited;
    case cri::ContainerEvent::Kind::kStopping:
    case cri::ContainerEvent::Kind::kStopped: return state == ObjectState::kExited;
    case cri::ContainerEvent::Kind::kDeleted: return state == ObjectState::kAbsent;
  }
  UNREACHABLE();
}

void KeepAddresses(const v1::ObservedPod& before, v1::ObservedPod& after) {
  if (after.sandboxes().empty()) return;
  const auto ready = [](const v1::SandboxRecord& s) {
    return s.state() == v1::SandboxRecord::READY;
  };
  const auto has_ips = [](const v1::SandboxRecord& s) { return !s.ips().empty(); };
  const auto& now = after.sandboxes();
  if (std::any_of(now.begin(), now.end(), ready) || std::any_of(now.begin(), now.end(), has_ips))
    return;
  const auto& then = before.sandboxes();
  const auto last = std::find_if(then.begin(), then.end(), has_ips);
  if (last != then.end()) *after.mutable_sandboxes(0)->mutable_ips() = last->ips();
}

std::string ContentOf(const v1::ObservedPod& pod) {
  v1::ObservedPod timeless = pod;
  timeless.clear_listed_at();
  return timeless.SerializeAsString();
}

}  // namespace splitlet::pleg
