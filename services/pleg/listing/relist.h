#pragma once

/// The pods in a listing, and how they differ from what was known before. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Listing".

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/cri/cri.h"
#include "libs/cri/observe.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pleg {

/// State of a container or a sandbox; created counts as unknown, as in a kubelet.
enum class ObjectState { kAbsent, kRunning, kExited, kUnknown };

/// By id, without absent objects.
using States = std::map<std::string, ObjectState>;

enum class EventType { kContainerStarted, kContainerDied, kContainerRemoved, kContainerChanged };
/// "ContainerStarted", as a kubelet logs it.
const char* NameOf(EventType type);

struct Event {
  EventType type;
  std::string id;
  bool operator==(const Event&) const = default;
};

/// In the order of ids. A running object that vanishes first dies, then is removed.
std::vector<Event> Diff(const States& before, const States& after);

/// An object ran before and does not run now. This begins a trace: no other process knows why it
/// ended.
bool AnyEnded(const States& before, const States& after);

/// A container ended by SIGKILL, and the runtime does not report that it was for memory.
bool AnyKilled(const States& before, const v1::ObservedPod& after);

struct ListedPod {
  std::string name, name_space;
  bool running = false;  // has a ready sandbox
  States states;
  cri::PodListing shown;  // the listed objects, for an inspection
};

struct Listing {
  Clock::Time began;
  std::map<std::string, ListedPod> pods;  // by UID
  std::map<cri::ContainerState, size_t> containers;
  std::set<std::string> unmanaged;  // ids of objects that no kubelet made
};

/// A sandbox or container belongs to the pod that its label names; an inspection finds it by that
/// label too. A container makes its pod even without a listed sandbox. An object without the label
/// belongs to no pod, whatever its metadata contain.
Listing MakeListing(Clock::Time began, std::vector<cri::Sandbox> sandboxes,
                    std::vector<cri::Container> containers);

States StatesOf(const v1::ObservedPod& pod);

/// An object ended, vanished or became unknown. New and started objects make no work: pod-worker
/// made and started them.
bool MakesWork(const States& before, const v1::ObservedPod& after);

bool HasSandbox(const v1::ObservedPod& pod, const std::string& id);

/// The known states show already what the event reports.
bool Shows(const States& known, const cri::ContainerEvent& event);

/// The runtime drops a pod's addresses with its network; the API keeps those of a finished pod.
void KeepAddresses(const v1::ObservedPod& before, v1::ObservedPod& after);

/// Equal bytes: nothing but the time of the inspection changed.
std::string ContentOf(const v1::ObservedPod& pod);

}  // namespace splitlet::pleg
