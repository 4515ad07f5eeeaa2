#include "libs/fake_api/rules.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "k8s.io/api/certificates/v1/certificates.pb.h"
#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/namespace.pb.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/kube/defaults.h"
#include "libs/kube/names.h"
#include "libs/kube/phase.h"
#include "libs/kube/resources.h"

namespace splitlet::fake_api {
namespace {

namespace core = k8s::io::api::core::v1;
namespace storage = k8s::io::api::storage::v1;
namespace certificates = k8s::io::api::certificates::v1;
using google::protobuf::Message;

void SetTime(k8s::io::apimachinery::pkg::apis::meta::v1::Time& time, WallTime wall) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wall);
  time.set_seconds(seconds.time_since_epoch().count());
  time.clear_nanos();
}

Status Conflict(const Place& place, std::string_view why) {
  return Aborted("Operation cannot be fulfilled on {} \"{}\": {}", place.kind->full_name(),
                 place.name, why);
}

Status Invalid(const Place& place, std::string_view why) {
  return FailedPrecondition("{} \"{}\" is invalid: {}", place.kind->kind, place.name, why);
}

void SetPriority(core::PodSpec& spec) {
  if (spec.has_priority()) return;
  const std::string& name = spec.priority_class_name();
  if (name == "system-node-critical") {
    spec.set_priority(kube::kSystemCriticalPriority + 1000);
  } else {
    spec.set_priority(name == "system-cluster-critical" ? kube::kSystemCriticalPriority : 0);
  }
  if (!spec.has_preemption_policy()) spec.set_preemption_policy("PreemptLowerPriority");
}

Status CreatePod(const Place& place, core::Pod& pod) {
  if (const Status done = kube::ApplyDefaults(pod); !done.ok())
    return Invalid(place, splitlet::Message(done));
  auto& spec = *pod.mutable_spec();
  if (spec.service_account_name().empty() && !kube::IsMirror(pod)) {
    spec.set_service_account_name("default");
    spec.set_service_account("default");
  }
  SetPriority(spec);
  pod.clear_status();
  pod.mutable_status()->set_phase("Pending");
  const auto qos = kube::ComputeQos(pod);
  if (!qos.ok()) return Invalid(place, splitlet::Message(qos.status()));
  pod.mutable_status()->set_qos_class(std::string(kube::Name(*qos)));
  return OkStatus();
}

void CreateService(core::Service& service, Random& random) {
  auto& spec = *service.mutable_spec();
  if (spec.type().empty()) spec.set_type("ClusterIP");
  if (spec.session_affinity().empty()) spec.set_session_affinity("None");
  if (spec.cluster_ip().empty() && spec.type() != "ExternalName") {
    spec.set_cluster_ip(fmt::format("10.96.{}.{}", random.Below(255), 1 + random.Below(254)));
    spec.add_cluster_ips(spec.cluster_ip());
  }
  for (auto& port : *spec.mutable_ports()) {
    if (port.protocol().empty()) port.set_protocol("TCP");
    if (!port.has_target_port()) port.mutable_target_port()->set_int_val(port.port());
  }
}

/// `stringData` is write-only: its entries replace those of `data`.
void TakeStringData(Message& object) {
  auto* const secret = dynamic_cast<core::Secret*>(&object);
  if (secret == nullptr) return;
  for (const auto& [key, value] : secret->string_data()) (*secret->mutable_data())[key] = value;
  secret->clear_string_data();
}

Status CreateOf(const Place& place, Message& object, Random& random) {
  TakeStringData(object);
  if (auto* pod = dynamic_cast<core::Pod*>(&object)) return CreatePod(place, *pod);
  if (auto* service = dynamic_cast<core::Service*>(&object)) CreateService(*service, random);
  if (auto* claim = dynamic_cast<core::PersistentVolumeClaim*>(&object)) {
    claim->clear_status();
    claim->mutable_status()->set_phase("Pending");
  }
  if (auto* volume = dynamic_cast<core::PersistentVolume*>(&object)) {
    volume->clear_status();
    volume->mutable_status()->set_phase("Pending");
  }
  if (auto* name_space = dynamic_cast<core::Namespace*>(&object)) {
    name_space->mutable_status()->set_phase("Active");
    (*name_space->mutable_metadata()->mutable_labels())["kubernetes.io/metadata.name"] = place.name;
  }
  if (auto* request = dynamic_cast<certificates::CertificateSigningRequest*>(&object))
    request->clear_status();
  return OkStatus();
}

// Updates.

/// Copies the fields that an update may change in the spec of an existing pod.
core::PodSpec Fixed(const core::Pod& pod) {
  core::PodSpec spec = pod.spec();
  for (auto& container : *spec.mutable_containers()) container.clear_image();
  for (auto& container : *spec.mutable_init_containers()) container.clear_image();
  spec.clear_active_deadline_seconds();
  spec.clear_termination_grace_period_seconds();
  spec.clear_tolerations();
  spec.clear_scheduling_gates();
  return spec;
}

Status CheckPodUpdate(const Place& place, const Message& before, const Message& after) {
  const auto* old_pod = dynamic_cast<const core::Pod*>(&before);
  if (old_pod == nullptr || !place.subresource.empty()) return OkStatus();
  if (SameObject(Fixed(*old_pod), Fixed(static_cast<const core::Pod&>(after)))) return OkStatus();
  return Invalid(place,
                 "spec: Forbidden: pod updates may not change fields other than "
                 "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                 "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                 "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
                 "was previously negative)");
}

/// An entry of a driver may not change, except the number of volumes.
Status CheckCsiNodeUpdate(const Place& place, const Message& before, const Message& after) {
  const auto* old_object = dynamic_cast<const storage::CSINode*>(&before);
  if (old_object == nullptr) return OkStatus();
  const auto fixed = [](storage::CSINodeDriver driver) {
    driver.clear_allocatable();
    return driver.SerializeAsString();
  };
  for (const auto& old_driver : old_object->spec().drivers())
    for (const auto& driver : static_cast<const storage::CSINode&>(after).spec().drivers())
      if (driver.name() == old_driver.name() && fixed(driver) != fixed(old_driver))
        return Invalid(place, "CSINodeDriver: Invalid value: field is immutable");
  return OkStatus();
}

Status CheckMetadata(const Place& place, const kube::ObjectMeta& before,
                     const kube::ObjectMeta& given) {
  if (!given.uid().empty() && given.uid() != before.uid())
    return Conflict(place,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: "
                                "{}",
                                given.uid(), before.uid()));
  if (given.resource_version().empty()) {
    if (place.kind->unconditional_update) return OkStatus();
    return Invalid(place,
                   "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update");
  }
  if (given.resource_version() != before.resource_version())
    return Conflict(place,
                    "the object has been modified; please apply your changes to the latest "
                    "version and try again");
  return OkStatus();
}

/// A user may change labels, annotations, owners and finalizers; the server owns the rest.
void MergeMetadata(const kube::ObjectMeta& before, bool keep_owners, kube::ObjectMeta& after) {
  kube::ObjectMeta merged = before;
  *merged.mutable_labels() = after.labels();
  *merged.mutable_annotations() = after.annotations();
  *merged.mutable_finalizers() = after.finalizers();
  if (!keep_owners) *merged.mutable_owner_references() = after.owner_references();
  *merged.mutable_managed_fields() = after.managed_fields();
  after = merged;
}

void TakeConditions(const certificates::CertificateSigningRequest& given, bool decisions,
                    certificates::CertificateSigningRequest& after) {
  auto& conditions = *after.mutable_status()->mutable_conditions();
  const auto is_decision = [](const auto& condition) {
    return condition.type() == "Approved" || condition.type() == "Denied";
  };
  for (int i = conditions.size() - 1; i >= 0; --i) {
    if (is_decision(conditions.Get(i)) == decisions) conditions.DeleteSubrange(i, 1);
  }
  for (const auto& condition : given.status().conditions()) {
    if (is_decision(condition) == decisions) *conditions.Add() = condition;
  }
}

/// Copies the changeable fields of `given` into `after`, a copy of the stored object.
void UpdateSubresource(const std::string& subresource, const Message& given, Message& after) {
  if (auto* request = dynamic_cast<certificates::CertificateSigningRequest*>(&after)) {
    const auto& from = static_cast<const certificates::CertificateSigningRequest&>(given);
    TakeConditions(from, subresource == "approval", *request);
    if (subresource == "status")
      request->mutable_status()->set_certificate(from.status().certificate());
    return;
  }
  if (subresource == "status") CopyField(given, after, "status");
  auto* pod = dynamic_cast<core::Pod*>(&after);
  if (pod == nullptr) return;
  const auto& from = static_cast<const core::Pod&>(given);
  if (subresource == "ephemeralcontainers")
    *pod->mutable_spec()->mutable_ephemeral_containers() = from.spec().ephemeral_containers();
  if (subresource != "resize") return;
  auto& spec = *pod->mutable_spec();
  for (auto& container : *spec.mutable_containers()) {
    for (const auto& wanted : from.spec().containers()) {
      if (wanted.name() == container.name()) *container.mutable_resources() = wanted.resources();
    }
  }
}

// Deletions.

Status CheckPreconditions(const Place& place, const kube::ObjectMeta& meta,
                          const DeleteRequest& request) {
  if (!request.uid.empty() && request.uid != meta.uid())
    return Conflict(place,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: "
                                "{}",
                                request.uid, meta.uid()));
  if (!request.resource_version.empty() && request.resource_version != meta.resource_version())
    return Conflict(place, fmt::format("Precondition failed: ResourceVersion in precondition: {}, "
                                       "ResourceVersion in object meta: {}",
                                       request.resource_version, meta.resource_version()));
  return OkStatus();
}

int64_t GraceOf(const Message& object, const DeleteRequest& request) {
  const auto* pod = dynamic_cast<const core::Pod*>(&object);
  if (pod == nullptr) return 0;
  if (pod->spec().node_name().empty() || kube::IsTerminalPhase(pod->status().phase())) return 0;
  const int64_t grace =
      request.grace_period_seconds.value_or(pod->spec().has_termination_grace_period_seconds()
                                                ? pod->spec().termination_grace_period_seconds()
                                                : 30);
  return grace < 0 ? 1 : grace;
}

/// A second deletion may only shorten the grace period of an object that is already being deleted.
Deletion Shorten(const Message& before, const DeleteRequest& request) {
  const auto& meta = MetaOf(before);
  const int64_t old_grace = meta.deletion_grace_period_seconds();
  const int64_t grace =
      std::min(old_grace, std::max<int64_t>(0, request.grace_period_seconds.value_or(old_grace)));
  if (grace == 0 && meta.finalizers().empty()) return {.remove = true};
  if (grace == old_grace) return {};
  Deletion deletion{.updated = Copy(before)};
  auto& changed = MetaOf(*deletion.updated);
  auto& time = *changed.mutable_deletion_timestamp();
  time.set_seconds(time.seconds() - old_grace + grace);
  changed.set_deletion_grace_period_seconds(grace);
  return deletion;
}

}  // namespace

std::string MakeUid(Random& random) {
  const uint64_t a = random.Next(), b = random.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffff);
}

std::string MakeSuffix(Random& random) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[random.Below(kLetters.size())];
  return suffix;
}

Status PrepareCreate(const Place& place, Message& object, const RulesContext& context) {
  auto& meta = MetaOf(object);
  if (!meta.resource_version().empty())
    return InvalidArgument("resourceVersion should not be set on objects to be created");
  if (meta.name().empty()) {
    if (meta.generate_name().empty())
      return Invalid(place, "metadata.name: Required value: name or generateName is required");
    meta.set_name(meta.generate_name() + MakeSuffix(context.random));
  }
  Place named = place;
  named.name = meta.name();
  // Names of certificate requests are not validated, because kubelets use base64 in them.
  const bool free_name = place.kind->resource == "certificatesigningrequests";
  const std::string wrong = free_name ? std::string() : kube::CheckDnsSubdomain(meta.name());
  if (!wrong.empty())
    return Invalid(named,
                   fmt::format("metadata.name: Invalid value: \"{}\": {}", meta.name(), wrong));
  if (place.kind->namespaced) {
    meta.set_namespace_(place.name_space);
  } else {
    meta.clear_namespace_();
  }
  meta.set_uid(MakeUid(context.random));
  SetTime(*meta.mutable_creation_timestamp(), context.now);
  meta.clear_deletion_timestamp();
  meta.clear_deletion_grace_period_seconds();
  meta.clear_generation();
  if (place.kind->has_generation) meta.set_generation(1);
  return CreateOf(named, object, context.random);
}

StatusOr<std::unique_ptr<Message>> PrepareUpdate(const Place& place, const Message& before,
                                                 const Message& given) {
  if (Status checked = CheckMetadata(place, MetaOf(before), MetaOf(given)); !checked.ok())
    return checked;
  const bool whole = place.subresource.empty();
  auto after = Copy(whole ? given : before);
  if (whole) {
    TakeStringData(*after);
    if (place.kind->has_status) CopyField(before, *after, "status");
  } else {
    UpdateSubresource(place.subresource, given, *after);
    MetaOf(*after) = MetaOf(given);
  }
  auto* pod = dynamic_cast<core::Pod*>(after.get());
  if (pod != nullptr && (whole || place.subresource == "ephemeralcontainers")) {
    if (const Status done = kube::ApplyDefaults(*pod); !done.ok())
      return Invalid(place, splitlet::Message(done));
  }
  const bool is_pod = place.kind == &PodKind();
  MergeMetadata(MetaOf(before), is_pod && !whole, MetaOf(*after));
  if (Status checked = CheckPodUpdate(place, before, *after); !checked.ok()) return checked;
  if (Status checked = CheckCsiNodeUpdate(place, before, *after); !checked.ok()) return checked;
  if (place.kind->has_generation && !SameField(before, *after, "spec"))
    MetaOf(*after).set_generation(MetaOf(before).generation() + 1);
  return after;
}

StatusOr<Deletion> PrepareDelete(const Place& place, const Message& before,
                                 const DeleteRequest& request, WallTime now) {
  const auto& meta = MetaOf(before);
  if (Status checked = CheckPreconditions(place, meta, request); !checked.ok()) return checked;
  if (meta.has_deletion_timestamp()) return Shorten(before, request);
  const int64_t grace = GraceOf(before, request);
  if (grace == 0 && meta.finalizers().empty()) return Deletion{.remove = true};
  Deletion deletion{.updated = Copy(before)};
  auto& changed = MetaOf(*deletion.updated);
  SetTime(*changed.mutable_deletion_timestamp(), now + std::chrono::seconds{grace});
  changed.set_deletion_grace_period_seconds(grace);
  if (changed.generation() > 0) changed.set_generation(changed.generation() + 1);
  return deletion;
}

bool EndsWithUpdate(const Message& object) {
  const auto& meta = MetaOf(object);
  return meta.has_deletion_timestamp() && meta.deletion_grace_period_seconds() == 0 &&
         meta.finalizers().empty();
}

}  // namespace splitlet::fake_api
