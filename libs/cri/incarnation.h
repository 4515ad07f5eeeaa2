#pragma once

/// The incarnations of one pod in the runtime. A static pod that is removed and put back keeps its
/// UID, while objects of the earlier incarnation still exist. Also finds started containers that
/// are missing.
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

/// Annotation of sandboxes and containers with their incarnation, decimal.
inline constexpr std::string_view kIncarnationAnnotation = "splitlet.dev/incarnation";

inline constexpr std::string_view kStatusUnknown = "ContainerStatusUnknown";
inline constexpr int32_t kLostExitCode = 137;

/// 0: no annotation, or not a number.
int64_t IncarnationOf(const StringMap& annotations);

/// The pod without records of earlier incarnations. Records without an incarnation, made by a
/// kubelet, belong to the current one.
v1::ObservedPod PresentIncarnation(const v1::ObservedPod& seen, int64_t incarnation);
bool IsEarlier(int64_t record_incarnation, int64_t incarnation);

/// The highest started attempt of a container.
struct StartedAttempt {
  uint32_t attempt = 0;
  int32_t restart_count = 0;
  int64_t begun_at_ns = 0;  // wall
  bool operator==(const StartedAttempt&) const = default;
};
/// By container name, for containers that are not always restarted.
using StartedAttempts = std::map<std::string, StartedAttempt>;
using BegunList = google::protobuf::RepeatedPtrField<v1::StartedAttempt>;
StartedAttempts FromProto(const BegunList& list);
void ToProto(const StartedAttempts& begun, BegunList& list);

/// Adds an end without details for each started container if `seen` (the current incarnation) shows
/// neither that attempt nor a later one. Skips an init container that another one followed, because
/// it must have succeeded.
void AddLost(const kube::Pod& pod, const StartedAttempts& begun, v1::ObservedPod& seen);
bool IsLost(const v1::ContainerRecord& record);

}  // namespace splitlet::cri
