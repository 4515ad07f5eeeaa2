#include "services/pod-worker/control/grant_check.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/runnable.h"
#include "libs/kube/validation.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

/// Maps have an order of their own in each message, so that plain bytes do not compare.
std::string InOneOrder(const kube::Pod& pod) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  CHECK(pod.SerializeToCodedStream(&coded), "a string takes all bytes");
  coded.Trim();
  return bytes;
}

/// What the API server changes without a change of what is wanted: no generation of `desired`
/// counts it, so that a grant may be older there.
void ClearServersState(kube::Pod& pod) {
  pod.clear_status();
  pod.mutable_metadata()->clear_resource_version();
}

void ClearResources(kube::Pod& pod) {
  auto& spec = *pod.mutable_spec();
  spec.clear_resources();
  for (auto& container : *spec.mutable_containers()) container.clear_resources();
  for (auto& container : *spec.mutable_init_containers()) container.clear_resources();
}

template <class Containers>
void CopyResources(const Containers& from, Containers& to) {
  std::map<std::string, const kube::Container*> by_name;
  for (const auto& container : from) by_name[container.name()] = &container;
  for (auto& container : to) {
    const auto found = by_name.find(container.name());
    if (found != by_name.end()) *container.mutable_resources() = found->second->resources();
  }
}

/// `pod` with what it was given before. A container that was not there then keeps its own.
void KeepResources(const kube::Pod& granted, kube::Pod& pod) {
  CopyResources(granted.spec().containers(), *pod.mutable_spec()->mutable_containers());
  CopyResources(granted.spec().init_containers(), *pod.mutable_spec()->mutable_init_containers());
  if (granted.spec().has_resources())
    *pod.mutable_spec()->mutable_resources() = granted.spec().resources();
}

/// As config-source makes it from a manifest that names none: another version is another pod.
bool IsOfContent(std::string_view uid) {
  return uid.size() == 32 && uid.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The server counts from one on; 0 has no meaning.
bool MayHaveBeenResized(const kube::Pod& wanted) {
  const auto& meta = wanted.metadata();
  return kube::IsStatic(wanted) ? !IsOfContent(meta.uid()) : meta.generation() != 1;
}

GrantAnswer TakeWanted(const v1::UpdatePodRequest& request, const v1::DesiredRecord& record) {
  using enum GrantAnswer::Kind;
  kube::Pod pod, wanted;
  if (!pod.ParseFromString(request.pod()) || !wanted.ParseFromString(record.pod()))
    return {kUnmanaged, InvalidArgument("not a pod"), {}};
  const auto errors = kube::IsStatic(pod) ? kube::ValidatePod(pod) : kube::CheckRunnable(pod);
  if (!errors.empty()) return {kUnsafe, InvalidArgument("{}", errors.front().ToString()), {}};
  if (request.pod() == record.pod()) return {.pod = record.pod()};
  // The sender of the grant does not decide this.
  ClearServersState(pod);
  if (wanted.has_status()) *pod.mutable_status() = wanted.status();
  if (wanted.metadata().has_resource_version())
    pod.mutable_metadata()->set_resource_version(wanted.metadata().resource_version());
  return {.pod = pod.SerializeAsString()};
}

}  // namespace

bool IsWantedPod(const std::string& asked, const std::string& wanted, const std::string& granted) {
  if (asked == wanted) return true;
  kube::Pod one, other, before;
  if (!one.ParseFromString(asked) || !other.ParseFromString(wanted)) return false;
  ClearServersState(one);
  ClearServersState(other);
  if (InOneOrder(one) == InOneOrder(other)) return true;
  if (!granted.empty() && before.ParseFromString(granted)) {
    KeepResources(before, other);
    return InOneOrder(one) == InOneOrder(other);
  }
  if (!MayHaveBeenResized(other)) return false;
  ClearResources(one);
  ClearResources(other);
  return InOneOrder(one) == InOneOrder(other);
}

GrantAnswer CheckGrant(const v1::UpdatePodRequest& request, const v1::DesiredRecord* record,
                       const std::string& granted) {
  using enum GrantAnswer::Kind;
  if (record == nullptr) return {kAsk, FailedPrecondition("no source wants the pod"), {}};
  const std::pair asked{request.incarnation(), request.generation()};
  const std::pair wanted{record->incarnation(), record->generation()};
  const Status other = FailedPrecondition(
      "the grant is of incarnation {} generation {}, wanted is incarnation {} generation {}",
      asked.first, asked.second, wanted.first, wanted.second);
  if (wanted < asked) return {kAsk, other, {}};
  if (record->state() != v1::DesiredRecord::WANTED)
    return {kRefuse,
            FailedPrecondition("the pod is not wanted: {}",
                               v1::DesiredRecord::State_Name(record->state())),
            {}};
  if (wanted.first != asked.first) return {kRefuse, other, {}};
  if (IsWantedPod(request.pod(), record->pod(), granted)) return TakeWanted(request, *record);
  if (wanted != asked) return {kRefuse, other, {}};
  return {kUnmanaged, PermissionDenied("the pod is not the one that config-source wants"), {}};
}

}  // namespace splitlet::pod_worker
