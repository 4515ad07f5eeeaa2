#include "services/pod-worker/objects/object_set.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "libs/base/one_line.h"
#include "libs/kube/codec.h"
#include "libs/kube/names.h"

namespace splitlet::pod_worker {
namespace {

constexpr std::string_view kDefaultNamespace = "default";

const std::vector<kube::KnownKind>& ObjectKinds() {
  static const std::vector<kube::KnownKind> kinds = {
      {"v1", "ConfigMap", &ConfigMap::default_instance()},
      {"v1", "Secret", &Secret::default_instance()},
      {"v1", "Service", &Service::default_instance()},
      {"v1", "PersistentVolume", &PersistentVolume::default_instance()},
      {"v1", "PersistentVolumeClaim", &Claim::default_instance()},
      {"node.k8s.io/v1", "RuntimeClass", &RuntimeClass::default_instance()},
  };
  return kinds;
}

/// A line "---" begins the next document. Inside a value it cannot stand at the begin of a line.
std::vector<std::string_view> Documents(std::string_view text) {
  std::vector<std::string_view> documents;
  size_t begin = 0, line = 0;
  while (line < text.size()) {
    const size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view here = text.substr(line, end - line);
    if (here == "---" || here.starts_with("--- ") || here == "---\r") {
      documents.push_back(text.substr(begin, line - begin));
      begin = std::min(line + 3, text.size());
    }
    line = end + 1;
  }
  documents.push_back(text.substr(begin));
  return documents;
}

bool IsBlank(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

/// Hides the decoder's message for a file with secrets, because it may quote a value.
Status Undecodable(const Status& why, std::string_view text, const std::string& path) {
  if (text.find("Secret") == std::string_view::npos)
    return InvalidArgument("{}", OneLine(Message(why)));
  return InvalidArgument(
      "{}: a secret cannot be read (what is wrong is not shown: it may quote it)", path);
}

template <class T>
StatusOr<std::string> KeyOf(T& object, bool namespaced) {
  auto& meta = *object.mutable_metadata();
  if (const std::string problem = kube::CheckDnsSubdomain(meta.name()); !problem.empty())
    return InvalidArgument("metadata.name: Invalid value: \"{}\": {}", meta.name(), problem);
  if (!namespaced) return meta.name();
  if (meta.namespace_().empty()) meta.set_namespace_(std::string(kDefaultNamespace));
  if (const std::string problem = kube::CheckDnsLabel(meta.namespace_()); !problem.empty())
    return InvalidArgument("metadata.namespace: Invalid value: \"{}\": {}", meta.namespace_(),
                           problem);
  return meta.namespace_() + "/" + meta.name();
}

template <class T>
Status Put(std::shared_ptr<T> object, bool namespaced, std::map<std::string, ObjectPtr<T>>& into) {
  ASSIGN_OR_RETURN(const std::string key, KeyOf(*object, namespaced), "name");
  if (!into.emplace(key, std::move(object)).second)
    return InvalidArgument("{} is in the file twice", key);
  return OkStatus();
}

/// As the API server does: `stringData` is write-only.
void MergeStrings(Secret& secret) {
  for (const auto& [key, value] : secret.string_data()) (*secret.mutable_data())[key] = value;
  secret.clear_string_data();
}

Status AddDocument(const kube::Decoded& decoded, ObjectSet& set) {
  if (auto config_map = decoded.As<ConfigMap>())
    return Put(std::move(config_map), true, set.config_maps);
  if (auto service = decoded.As<Service>()) return Put(std::move(service), true, set.services);
  if (auto handler = decoded.As<RuntimeClass>())
    return Put(std::move(handler), false, set.runtime_classes);
  if (auto claim = decoded.As<Claim>()) return Put(std::move(claim), true, set.claims);
  if (auto volume = decoded.As<PersistentVolume>())
    return Put(std::move(volume), false, set.persistent_volumes);
  auto secret = decoded.As<Secret>();
  MergeStrings(*secret);
  return Put(std::move(secret), true, set.secrets);
}

template <class T>
void Take(const std::map<std::string, ObjectPtr<T>>& from, std::string_view kind,
          std::map<std::string, ObjectPtr<T>>& to, std::vector<std::string>& twice) {
  for (const auto& [key, object] : from)
    if (!to.emplace(key, object).second) twice.push_back(fmt::format("{} {}", kind, key));
}

/// The volume that names the claim or that the claim names; null: none.
ObjectPtr<PersistentVolume> VolumeOf(const ObjectSet& set, const Claim& claim) {
  const std::string& wanted = claim.spec().volume_name();
  for (const auto& [name, volume] : set.persistent_volumes) {
    const auto& of = volume->spec().claim_ref();
    const bool named =
        of.namespace_() == claim.metadata().namespace_() && of.name() == claim.metadata().name();
    if (wanted.empty() ? named : wanted == name && (named || !volume->spec().has_claim_ref()))
      return volume;
  }
  return nullptr;
}

template <class T>
StatusOr<ObjectPtr<T>> FindByName(const std::map<std::string, ObjectPtr<T>>& objects,
                                  const std::string& name, std::string_view kind) {
  const auto found = objects.find(name);
  if (found == objects.end()) return NotFound("{} \"{}\" not found", kind, name);
  return found->second;
}

template <class T>
StatusOr<ObjectPtr<T>> Find(const std::map<std::string, ObjectPtr<T>>& objects,
                            const ObjectName& name, std::string_view kind) {
  const auto found = objects.find(name.name_space + "/" + name.name);
  if (found == objects.end()) return NotFound("{} \"{}\" not found", kind, name.name);
  return found->second;
}

}  // namespace

std::vector<std::string> ObjectSet::Add(const ObjectSet& other, const std::string& from) {
  std::vector<std::string> lines;
  Take(other.config_maps, "ConfigMap", config_maps, lines);
  Take(other.secrets, "Secret", secrets, lines);
  Take(other.services, "Service", services, lines);
  Take(other.runtime_classes, "RuntimeClass", runtime_classes, lines);
  Take(other.claims, "PersistentVolumeClaim", claims, lines);
  Take(other.persistent_volumes, "PersistentVolume", persistent_volumes, lines);
  for (std::string& line : lines)
    line = fmt::format("{}: {} is ignored, an earlier file has it", from, line);
  return lines;
}

void ObjectSet::BindClaims() {
  for (auto& [key, claim] : claims) {
    const auto volume = VolumeOf(*this, *claim);
    if (!volume) continue;
    auto bound_volume = std::make_shared<PersistentVolume>(*volume);
    auto& of = *bound_volume->mutable_spec()->mutable_claim_ref();
    of.set_namespace_(claim->metadata().namespace_());
    of.set_name(claim->metadata().name());
    of.set_uid(claim->metadata().uid());
    auto bound = std::make_shared<Claim>(*claim);
    bound->mutable_spec()->set_volume_name(volume->metadata().name());
    bound->mutable_status()->set_phase("Bound");
    persistent_volumes[volume->metadata().name()] = std::move(bound_volume);
    claim = std::move(bound);
  }
}

StatusOr<ObjectSet> ReadObjects(std::string_view text, const std::string& path) {
  ObjectSet set;
  for (const std::string_view document : Documents(text)) {
    if (IsBlank(document)) continue;
    const auto decoded = kube::Decode(document, path, kube::Strictness::kStrict, ObjectKinds());
    if (!decoded.ok()) return Undecodable(decoded.status(), document, path);
    const Status added = AddDocument(*decoded, set);
    if (!added.ok())
      return InvalidArgument("{}: {}: {}", path, decoded->kind, OneLine(Message(added)));
  }
  return set;
}

StatusOr<ObjectPtr<ConfigMap>> ObjectSet::GetConfigMap(const ObjectName& name) const {
  return Find(config_maps, name, "configmap");
}

StatusOr<ObjectPtr<Secret>> ObjectSet::GetSecret(const ObjectName& name) const {
  return Find(secrets, name, "secret");
}

StatusOr<ObjectPtr<RuntimeClass>> ObjectSet::GetRuntimeClass(const std::string& name) const {
  return FindByName(runtime_classes, name, "runtimeclass.node.k8s.io");
}

StatusOr<ObjectPtr<Claim>> ObjectSet::GetClaim(const ObjectName& name) const {
  return Find(claims, name, "persistentvolumeclaim");
}

StatusOr<ObjectPtr<PersistentVolume>> ObjectSet::GetPersistentVolume(
    const std::string& name) const {
  return FindByName(persistent_volumes, name, "persistentvolume");
}

StatusOr<std::vector<ObjectPtr<Service>>> ObjectSet::Services(const std::string& name_space) const {
  const std::string prefix = name_space + "/";
  std::vector<ObjectPtr<Service>> found;
  for (auto at = services.lower_bound(prefix);
       at != services.end() && at->first.starts_with(prefix); ++at)
    found.push_back(at->second);
  return found;
}

}  // namespace splitlet::pod_worker
