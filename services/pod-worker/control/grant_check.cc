#include "services/pod-worker/control/grant_check.h"

#include <memory>
#include <string_view>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/runnable.h"
#include "libs/kube/same_pod.h"
#include "libs/kube/validation.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

/// Clears the fields that the API server changes without a new generation in `desired`: a grant may
/// be older there.
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

/// As config-source makes it from a manifest that names none: another version is another pod.
bool IsOfContent(std::string_view uid) {
  return uid.size() == 32 && uid.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The server counts from one on; 0 has no meaning.
bool MayHaveBeenResized(const kube::Pod& wanted) {
  const auto& meta = wanted.metadata();
  return kube::IsStatic(wanted) ? !IsOfContent(meta.uid()) : meta.generation() != 1;
}

GrantAnswer TakeWanted(const kube::ParsedPod& asked, const kube::ParsedPod& wanted) {
  using enum GrantAnswer::Kind;
  const auto errors =
      kube::IsStatic(*asked.pod) ? kube::ValidatePod(*asked.pod) : kube::CheckRunnable(*asked.pod);
  if (!errors.empty()) return {kUnsafe, InvalidArgument("{}", errors.front().ToString()), wanted};
  if (asked.bytes == wanted.bytes) return {.pod = asked};
  // The sender of the grant does not decide this.
  auto pod = std::make_shared<kube::Pod>(*asked.pod);
  ClearServersState(*pod);
  if (wanted.pod->has_status()) *pod->mutable_status() = wanted.pod->status();
  if (wanted.pod->metadata().has_resource_version())
    pod->mutable_metadata()->set_resource_version(wanted.pod->metadata().resource_version());
  return {.pod = {kube::PodBytes::Of(*pod), pod}};
}

/// The pod of the record, which is mostly the one that was asked for and parsed already.
StatusOr<kube::ParsedPod> WantedPod(const kube::ParsedPod& asked, const v1::DesiredRecord& record) {
  if (asked.bytes.bytes() == record.pod()) return asked;
  return kube::PodBytes::CheckAndParse(record.pod());
}

}  // namespace

bool IsWantedPod(const kube::Pod& asked, const kube::Pod& wanted, const kube::PodBytes& granted) {
  kube::Pod one = asked, other = wanted;
  ClearServersState(one);
  ClearServersState(other);
  if (kube::IsSamePod(one, other)) return true;
  if (!granted.empty()) {
    kube::CopyResources(granted.Parse(), other);
    return kube::IsSamePod(one, other);
  }
  if (!MayHaveBeenResized(other)) return false;
  ClearResources(one);
  ClearResources(other);
  return kube::IsSamePod(one, other);
}

GrantAnswer CheckGrant(const v1::UpdatePodRequest& request, const kube::ParsedPod& asked,
                       const v1::DesiredRecord* record, const kube::PodBytes& granted) {
  using enum GrantAnswer::Kind;
  if (record == nullptr) return {kAsk, FailedPrecondition("no source wants the pod")};
  const std::pair of_grant{request.incarnation(), request.generation()};
  const std::pair of_record{record->incarnation(), record->generation()};
  const Status other = FailedPrecondition(
      "the grant has incarnation {} generation {}, `desired` has incarnation {} generation {}",
      of_grant.first, of_grant.second, of_record.first, of_record.second);
  if (of_record < of_grant) return {kAsk, other};
  if (record->state() != v1::DesiredRecord::WANTED)
    return {kRefuse, FailedPrecondition("the pod is not wanted: {}",
                                        v1::DesiredRecord::State_Name(record->state()))};
  if (of_record.first != of_grant.first) return {kRefuse, other};
  const auto wanted = WantedPod(asked, *record);
  if (!wanted.ok())
    return {kUnmanaged,
            InvalidArgument("the record of pod {} in `desired`: {}",
                            kube::PodKey(record->namespace_(), record->name()),
                            Message(wanted.status())),
            {.bytes = {}, .pod = std::make_shared<const kube::Pod>()}};
  if (asked.bytes == wanted->bytes || IsWantedPod(*asked.pod, *wanted->pod, granted))
    return TakeWanted(asked, *wanted);
  if (of_record != of_grant) return {kRefuse, other};
  return {kUnmanaged, PermissionDenied("the pod is not the one that config-source wants"), *wanted};
}

}  // namespace splitlet::pod_worker
