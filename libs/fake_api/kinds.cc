#include "libs/fake_api/kinds.h"

#include <algorithm>
#include <charconv>

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "k8s.io/api/authorization/v1/authorization.pb.h"
#include "k8s.io/api/certificates/v1/certificates.pb.h"
#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/event.pb.h"
#include "k8s.io/api/core/v1/namespace.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/quota.pb.h"
#include "k8s.io/api/core/v1/replication_controller.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "k8s.io/api/policy/v1/policy.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/base/status.h"

namespace splitlet::fake_api {
namespace {

namespace core = k8s::io::api::core::v1;
namespace storage = k8s::io::api::storage::v1;
namespace authorization = k8s::io::api::authorization::v1;
namespace authentication = k8s::io::api::authentication::v1;

template <class Item, class List>
Kind Make(std::string resource, std::string kind, bool namespaced) {
  Kind made{.version = "v1",
            .resource = std::move(resource),
            .singular = kind,
            .kind = std::move(kind),
            .namespaced = namespaced,
            .item = &Item::default_instance(),
            .list = &List::default_instance()};
  std::transform(made.singular.begin(), made.singular.end(), made.singular.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

template <class Item>
Kind MakeReview(std::string group, std::string resource, std::string kind) {
  Kind made = Make<Item, Item>(std::move(resource), std::move(kind), false);
  made.group = std::move(group);
  made.list = nullptr;
  made.subresources = {};
  return made;
}

void WithStatus(Kind& kind) {
  kind.has_status = true;
  kind.subresources.insert(kind.subresources.begin(), "status");
}

void AddPods(std::vector<Kind>& kinds) {
  Kind pods = Make<core::Pod, core::PodList>("pods", "Pod", true);
  pods.has_generation = true;
  pods.fields = {
      "spec.nodeName",    "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase",       "status.podIP",       "status.nominatedNodeName"};
  pods.subresources = {"binding", "ephemeralcontainers", "eviction", "resize"};
  pods.short_names = {"po"};
  WithStatus(pods);
  kinds.push_back(pods);
}

void AddCore(std::vector<Kind>& kinds) {
  AddPods(kinds);
  Kind nodes = Make<core::Node, core::NodeList>("nodes", "Node", false);
  nodes.fields = {"spec.unschedulable"};
  nodes.short_names = {"no"};
  WithStatus(nodes);
  kinds.push_back(nodes);
  Kind events = Make<core::Event, core::EventList>("events", "Event", true);
  events.create_on_update = true;
  events.fields = {"involvedObject.kind",
                   "involvedObject.namespace",
                   "involvedObject.name",
                   "involvedObject.uid",
                   "involvedObject.apiVersion",
                   "involvedObject.resourceVersion",
                   "involvedObject.fieldPath",
                   "reason",
                   "reportingComponent",
                   "source.component",
                   "type"};
  events.short_names = {"ev"};
  kinds.push_back(events);
  kinds.push_back(Make<core::ConfigMap, core::ConfigMapList>("configmaps", "ConfigMap", true));
  kinds.back().short_names = {"cm"};
  kinds.push_back(Make<core::Secret, core::SecretList>("secrets", "Secret", true));
  kinds.back().fields = {"type"};
  kinds.push_back(Make<core::Service, core::ServiceList>("services", "Service", true));
  kinds.back().fields = {"spec.clusterIP", "spec.type"};
  kinds.back().short_names = {"svc"};
  WithStatus(kinds.back());
  kinds.push_back(Make<core::Endpoints, core::EndpointsList>("endpoints", "Endpoints", true));
  kinds.back().short_names = {"ep"};
  kinds.push_back(Make<core::ServiceAccount, core::ServiceAccountList>("serviceaccounts",
                                                                       "ServiceAccount", true));
  kinds.back().unconditional_update = false;
  kinds.back().subresources = {"token"};
  kinds.back().short_names = {"sa"};
  kinds.push_back(Make<core::Namespace, core::NamespaceList>("namespaces", "Namespace", false));
  kinds.back().fields = {"status.phase"};
  kinds.back().subresources = {"finalize"};
  kinds.back().short_names = {"ns"};
  WithStatus(kinds.back());
}

void AddCoreVolumes(std::vector<Kind>& kinds) {
  kinds.push_back(Make<core::PersistentVolume, core::PersistentVolumeList>(
      "persistentvolumes", "PersistentVolume", false));
  kinds.back().short_names = {"pv"};
  WithStatus(kinds.back());
  kinds.push_back(Make<core::PersistentVolumeClaim, core::PersistentVolumeClaimList>(
      "persistentvolumeclaims", "PersistentVolumeClaim", true));
  kinds.back().short_names = {"pvc"};
  WithStatus(kinds.back());
  kinds.push_back(Make<core::LimitRange, core::LimitRangeList>("limitranges", "LimitRange", true));
  kinds.back().short_names = {"limits"};
  kinds.push_back(
      Make<core::ResourceQuota, core::ResourceQuotaList>("resourcequotas", "ResourceQuota", true));
  kinds.back().short_names = {"quota"};
  WithStatus(kinds.back());
  kinds.push_back(Make<core::ReplicationController, core::ReplicationControllerList>(
      "replicationcontrollers", "ReplicationController", true));
  kinds.back().has_generation = true;
  kinds.back().short_names = {"rc"};
  WithStatus(kinds.back());
}

void AddStorage(std::vector<Kind>& kinds) {
  const size_t first = kinds.size();
  kinds.push_back(
      Make<storage::CSIDriver, storage::CSIDriverList>("csidrivers", "CSIDriver", false));
  kinds.push_back(Make<storage::CSINode, storage::CSINodeList>("csinodes", "CSINode", false));
  kinds.push_back(Make<storage::StorageClass, storage::StorageClassList>("storageclasses",
                                                                         "StorageClass", false));
  kinds.back().short_names = {"sc"};
  kinds.push_back(Make<storage::VolumeAttachment, storage::VolumeAttachmentList>(
      "volumeattachments", "VolumeAttachment", false));
  WithStatus(kinds.back());
  for (size_t i = first; i < kinds.size(); ++i) {
    kinds[i].group = "storage.k8s.io";
    kinds[i].unconditional_update = false;
  }
}

void AddReviews(std::vector<Kind>& kinds) {
  const std::string authn = "authentication.k8s.io", authz = "authorization.k8s.io";
  kinds.push_back(MakeReview<authentication::TokenReview>(authn, "tokenreviews", "TokenReview"));
  kinds.push_back(MakeReview<authentication::SelfSubjectReview>(authn, "selfsubjectreviews",
                                                                "SelfSubjectReview"));
  kinds.push_back(MakeReview<authorization::SubjectAccessReview>(authz, "subjectaccessreviews",
                                                                 "SubjectAccessReview"));
  kinds.push_back(MakeReview<authorization::SelfSubjectAccessReview>(
      authz, "selfsubjectaccessreviews", "SelfSubjectAccessReview"));
  kinds.push_back(MakeReview<authorization::LocalSubjectAccessReview>(
      authz, "localsubjectaccessreviews", "LocalSubjectAccessReview"));
  kinds.back().namespaced = true;
}

std::vector<Kind> MakeKinds() {
  namespace certificates = k8s::io::api::certificates::v1;
  namespace coordination = k8s::io::api::coordination::v1;
  namespace node = k8s::io::api::node::v1;
  namespace policy = k8s::io::api::policy::v1;
  std::vector<Kind> kinds;
  AddCore(kinds);
  AddCoreVolumes(kinds);
  AddReviews(kinds);
  kinds.push_back(
      Make<certificates::CertificateSigningRequest, certificates::CertificateSigningRequestList>(
          "certificatesigningrequests", "CertificateSigningRequest", false));
  kinds.back().group = "certificates.k8s.io";
  kinds.back().fields = {"spec.signerName"};
  kinds.back().subresources = {"approval"};
  kinds.back().short_names = {"csr"};
  WithStatus(kinds.back());
  kinds.push_back(Make<coordination::Lease, coordination::LeaseList>("leases", "Lease", true));
  kinds.back().group = "coordination.k8s.io";
  kinds.back().create_on_update = true;
  kinds.back().unconditional_update = false;
  kinds.push_back(
      Make<node::RuntimeClass, node::RuntimeClassList>("runtimeclasses", "RuntimeClass", false));
  kinds.back().group = "node.k8s.io";
  kinds.back().unconditional_update = false;
  kinds.push_back(Make<policy::PodDisruptionBudget, policy::PodDisruptionBudgetList>(
      "poddisruptionbudgets", "PodDisruptionBudget", true));
  kinds.back().group = "policy";
  kinds.back().has_generation = true;
  kinds.back().unconditional_update = false;
  kinds.back().short_names = {"pdb"};
  WithStatus(kinds.back());
  AddStorage(kinds);
  return kinds;
}

std::vector<std::string> Split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const size_t end = std::min(path.find('/'), path.size());
    parts.push_back(Unescaped(path.substr(0, end)));
    path.remove_prefix(end);
  }
  return parts;
}

const Kind* Find(std::string_view group, std::string_view version, std::string_view resource) {
  for (const auto& kind : Kinds()) {
    if (kind.group == group && kind.version == version && kind.resource == resource) return &kind;
  }
  return nullptr;
}

}  // namespace

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = MakeKinds();
  return kinds;
}

const Kind& FindKind(std::string_view resource) {
  for (const auto& kind : Kinds()) {
    if (kind.resource == resource) return kind;
  }
  UNREACHABLE();
}

const Kind& PodKind() {
  static const Kind& pods = FindKind("pods");
  return pods;
}

std::optional<Place> ParsePath(std::string_view path) {
  const auto parts = Split(path);
  const bool core = !parts.empty() && parts[0] == "api";
  size_t at = core ? 2 : 3;
  if (parts.size() <= at || (!core && parts[0] != "apis")) return std::nullopt;
  const std::string group = core ? "" : parts[1];
  const std::string& version = core ? parts[1] : parts[2];
  Place place;
  const bool within = parts[at] == "namespaces" && parts.size() > at + 2;
  if (within) {
    place.kind = Find(group, version, parts[at + 2]);
    if (place.kind != nullptr && place.kind->namespaced) {
      place.name_space = parts[at + 1];
      at += 2;
    }
  }
  if (place.name_space.empty()) place.kind = Find(group, version, parts[at]);
  if (place.kind == nullptr || parts.size() > at + 3) return std::nullopt;
  if (parts.size() > at + 1) place.name = parts[at + 1];
  if (parts.size() > at + 2) place.subresource = parts[at + 2];
  if (place.kind->namespaced && !place.name.empty() && place.name_space.empty())
    return std::nullopt;
  return place;
}

std::string PathOf(const Place& place) {
  std::string path = place.kind->group.empty() ? "/api/" : "/apis/";
  path += place.kind->api_version();
  if (!place.name_space.empty()) path += "/namespaces/" + place.name_space;
  path += "/" + place.kind->resource;
  if (!place.name.empty()) path += "/" + place.name;
  if (!place.subresource.empty()) path += "/" + place.subresource;
  return path;
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr == &text[i + 1] + 2) {
      plain += static_cast<char>(value);
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

}  // namespace splitlet::fake_api
