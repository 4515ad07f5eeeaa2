#pragma once

/// The incarnations of one pod in what the runtime shows: a static pod moved away and put back
/// keeps its UID, and what the earlier one left is still there. Also what has begun and is gone.
/// Threads: pure functions, any; nothing fails.
/// Source: docs/safety.md, rules 2 and 3.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"

namespace google::protobuf {
template <class T>
class RepeatedPtrField;
}

namespace splitlet::v1 {
class StartedAttempt;
class ContainerRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::cri {

/// Annotation of sandboxes and containers: the incarnation that they were made for, decimal.
inline constexpr std::string_view kIncarnationAnnotation = "splitlet.dev/incarnation";

inline constexpr std::string_view kStatusUnknown = "ContainerStatusUnknown";
inline constexpr int32_t kLostExitCode = 137;

/// 0: without the annotation, or no number.
int64_t IncarnationOf(const StringMap& annotations);

/// What the pod is now: without the records of earlier incarnations. Those without an incarnation,
/// of a kubelet, belong to the present one.
v1::ObservedPod PresentIncarnation(const v1::ObservedPod& seen, int64_t incarnation);
bool IsEarlier(int64_t record_incarnation, int64_t incarnation);

/// The highest attempt of a container that was begun.
struct BegunAttempt {
  uint32_t attempt = 0;
  int32_t restart_count = 0;
  int64_t begun_at_ns = 0;  // wall
  bool operator==(const BegunAttempt&) const = default;
};
/// By container, of those that are not always started again.
using Begun = std::map<std::string, BegunAttempt>;
using BegunList = google::protobuf::RepeatedPtrField<v1::StartedAttempt>;
Begun FromProto(const BegunList& list);
void ToProto(const Begun& begun, BegunList& list);

/// Adds an end, of which nothing more is known, for each container that has begun and of which
/// `seen` (the present incarnation) shows neither that attempt nor a later one. Not for an init
/// container after which another one began: that one had succeeded.
void AddLost(const kube::Pod& pod, const Begun& begun, v1::ObservedPod& seen);
bool IsLost(const v1::ContainerRecord& record);

}  // namespace splitlet::cri
