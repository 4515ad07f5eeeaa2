#include "services/pod-worker/worker/grant_check.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <optional>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
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

/// Of an API pod the status follows what the node tells, in no new generation.
std::optional<std::string> WithoutResources(const std::string& bytes) {
  kube::Pod pod;
  if (!pod.ParseFromString(bytes)) return std::nullopt;
  pod.clear_status();
  auto& spec = *pod.mutable_spec();
  spec.clear_resources();
  for (auto& container : *spec.mutable_containers()) container.clear_resources();
  for (auto& container : *spec.mutable_init_containers()) container.clear_resources();
  return InOneOrder(pod);
}

GrantAnswer Foreign(Status why) { return {GrantAnswer::Kind::kForeign, std::move(why)}; }

GrantAnswer CheckPod(const v1::UpdatePodRequest& request) {
  kube::Pod pod;
  if (!pod.ParseFromString(request.pod())) return Foreign(InvalidArgument("not a pod"));
  const auto stage = kube::IsStatic(pod) ? kube::PodStage::kNew : kube::PodStage::kRunning;
  const auto errors = kube::ValidatePod(pod, stage);
  if (errors.empty()) return {};
  return Foreign(InvalidArgument("invalid pod: {}", errors.front().ToString()));
}

}  // namespace

bool SameButResources(const std::string& pod, const std::string& other) {
  if (pod == other) return true;
  const auto one = WithoutResources(pod);
  return one && one == WithoutResources(other);
}

GrantAnswer CheckGrant(const v1::UpdatePodRequest& request, const v1::DesiredRecord* record) {
  using enum GrantAnswer::Kind;
  if (record == nullptr) return {kAsk, FailedPrecondition("no source wants the pod")};
  const std::pair asked{request.incarnation(), request.generation()};
  const std::pair wanted{record->incarnation(), record->generation()};
  const Status other =
      FailedPrecondition("the grant is of life {} generation {}, wanted is life {} generation {}",
                         asked.first, asked.second, wanted.first, wanted.second);
  if (wanted < asked) return {kAsk, other};
  if (record->state() != v1::DesiredRecord::WANTED)
    return {kRefuse, FailedPrecondition("the pod is not wanted: {}",
                                        v1::DesiredRecord::State_Name(record->state()))};
  if (wanted.first != asked.first) return {kRefuse, other};
  if (SameButResources(request.pod(), record->pod())) return CheckPod(request);
  if (wanted != asked) return {kRefuse, other};
  return Foreign(PermissionDenied("the pod is not the one that config-source wants"));
}

}  // namespace splitlet::pod_worker
