#pragma once

/// What a listing says of the pods, and what differs from what was known. Pure.
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

/// Of a container or a sandbox; created counts as unknown, as in a kubelet.
enum class ObjectState { kAbsent, kRunning, kExited, kUnknown };

/// By id, without those absent.
using States = std::map<std::string, ObjectState>;

enum class EventType { kContainerStarted, kContainerDied, kContainerRemoved, kContainerChanged };
/// "ContainerStarted", as a kubelet logs it.
const char* NameOf(EventType type);

struct Event {
  EventType type;
  std::string id;
  bool operator==(const Event&) const = default;
};

/// In the order of ids; a running one that vanishes dies first and is removed then.
std::vector<Event> Diff(const States& before, const States& after);

/// Something ran before and does not run now: what begins a trace, since nobody says who asked for
/// it.
bool AnyEnded(const States& before, const States& after);

/// A container has ended by SIGKILL since, and nothing says that it was for memory.
bool AnyKilled(const States& before, const v1::ObservedPod& after);

struct ListedPod {
  std::string name, name_space;
  bool running = false;  // has a ready sandbox
  States states;
  cri::PodListing shown;  // the same in full, for an inspection
};

struct Listing {
  Clock::Time began;
  std::map<std::string, ListedPod> pods;  // by UID
  std::map<cri::ContainerState, size_t> containers;
  std::set<std::string> strangers;  // ids of what no kubelet made
};

/// A sandbox or container belongs to the pod of its label, by which an inspection finds it too; a
/// container without a listed sandbox makes its pod all the same. One without the label belongs to
/// nobody's pod, whatever its metadata say.
Listing MakeListing(Clock::Time began, std::vector<cri::Sandbox> sandboxes,
                    std::vector<cri::Container> containers);

States StatesOf(const v1::ObservedPod& pod);

/// Something has ended, vanished or is not known any more. What was made or started was so by
/// whoever makes and starts, and is no news for them.
bool MakesWork(const States& before, const v1::ObservedPod& after);

bool HasSandbox(const v1::ObservedPod& pod, const std::string& id);

/// Whether the pod as known shows what the event says already.
bool Shows(const States& known, const cri::ContainerEvent& event);

/// After the network is gone the runtime names no addresses any more; the API goes on showing those
/// of a finished pod.
void KeepAddresses(const v1::ObservedPod& before, v1::ObservedPod& after);

/// The bytes that show whether anything but the time of the look has changed.
std::string ContentOf(const v1::ObservedPod& pod);

}  // namespace splitlet::pleg
