#include "libs/kube/validate_volumes.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/names.h"
#include "libs/kube/quantity.h"
#include "libs/kube/validate_env.h"
#include "libs/kube/validation_parts.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

void ValidateMode(bool set, int32_t mode, const std::string& path, FieldErrors& errors) {
  if (set && (mode < 0 || mode > 0777))
    errors.Invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

/// Checks a path that must stay below the volume.
void ValidateRelative(const std::string& value, const std::string& path, FieldErrors& errors) {
  if (value.empty()) {
    errors.Required(path);
  } else if (value.front() == '/') {
    errors.Invalid(path, value, "must be a relative path");
  } else if (HasParentStep(value)) {
    errors.Invalid(path, value, "must not contain '..'");
  } else if (value.substr(0, 2) == "..") {
    errors.Invalid(path, value, "must not start with '..'");
  }
}

template <class Items>
void ValidateKeys(const Items& items, const std::string& path, FieldErrors& errors) {
  for (int i = 0; i < items.size(); ++i) {
    const std::string item = At(path, i);
    if (items[i].key().empty()) errors.Required(Field(item, "key"));
    ValidateRelative(items[i].path(), Field(item, "path"), errors);
    ValidateMode(items[i].has_mode(), items[i].mode(), Field(item, "mode"), errors);
  }
}

template <class Items>
void ValidateDownward(const Items& items, const std::string& path, FieldErrors& errors) {
  for (int i = 0; i < items.size(); ++i) {
    const std::string item = At(path, i);
    ValidateRelative(items[i].path(), Field(item, "path"), errors);
    ValidateMode(items[i].has_mode(), items[i].mode(), Field(item, "mode"), errors);
    if (items[i].has_field_ref() == items[i].has_resource_field_ref())
      errors.Required(item, "exactly one of `fieldRef` and `resourceFieldRef` is needed");
    if (items[i].has_field_ref())
      ValidateVolumeFieldRef(items[i].field_ref(), Field(item, "fieldRef"), errors);
    if (items[i].has_resource_field_ref())
      ValidateResourceRef(items[i].resource_field_ref(), Field(item, "resourceFieldRef"), errors);
    if (items[i].has_resource_field_ref() && items[i].resource_field_ref().container_name().empty())
      errors.Required(Field(item, "resourceFieldRef.containerName"));
  }
}

void ValidateToken(const core::ServiceAccountTokenProjection& token, const PodSpec& spec,
                   const std::string& path, FieldErrors& errors) {
  if (spec.service_account_name().empty())
    errors.Forbidden(path, "must not be specified when serviceAccountName is not set");
  if (token.expiration_seconds() < 600)
    errors.Invalid(Field(path, "expirationSeconds"), token.expiration_seconds(),
                   "may not specify a duration less than 10 minutes");
  if (token.path().empty()) errors.Required(Field(path, "path"));
}

/// The paths of one projected volume must be unique across its parts.
void ClaimPath(const std::string& value, const std::string& path, std::set<std::string>& taken,
               FieldErrors& errors) {
  if (!value.empty() && !taken.insert(value).second) errors.Duplicate(path, value);
}

void ValidateProjected(const core::ProjectedVolumeSource& projected, const PodSpec& spec,
                       const std::string& path, FieldErrors& errors) {
  ValidateMode(projected.has_default_mode(), projected.default_mode(), Field(path, "defaultMode"),
               errors);
  std::set<std::string> taken;
  for (int i = 0; i < projected.sources_size(); ++i) {
    const auto& source = projected.sources(i);
    const std::string part = At(Field(path, "sources"), i);
    std::vector<const google::protobuf::FieldDescriptor*> kinds;
    source.GetReflection()->ListFields(source, &kinds);
    if (kinds.size() > 1) errors.Forbidden(part, "may not specify more than 1 volume type");
    if (source.has_secret()) {
      if (source.secret().local_object_reference().name().empty())
        errors.Required(Field(part, "secret.name"));
      ValidateKeys(source.secret().items(), Field(part, "secret.items"), errors);
      for (const auto& item : source.secret().items()) ClaimPath(item.path(), part, taken, errors);
    }
    if (source.has_config_map()) {
      if (source.config_map().local_object_reference().name().empty())
        errors.Required(Field(part, "configMap.name"));
      ValidateKeys(source.config_map().items(), Field(part, "configMap.items"), errors);
      for (const auto& item : source.config_map().items())
        ClaimPath(item.path(), part, taken, errors);
    }
    if (source.has_downward_api()) {
      ValidateDownward(source.downward_api().items(), Field(part, "downwardAPI.items"), errors);
      for (const auto& item : source.downward_api().items())
        ClaimPath(item.path(), part, taken, errors);
    }
    if (source.has_service_account_token()) {
      ValidateToken(source.service_account_token(), spec, Field(part, "serviceAccountToken"),
                    errors);
      ClaimPath(source.service_account_token().path(), part, taken, errors);
    }
  }
}

void ValidateHostPath(const core::HostPathVolumeSource& host, const std::string& path,
                      FieldErrors& errors) {
  if (host.path().empty()) errors.Required(Field(path, "path"));
  if (HasParentStep(host.path()))
    errors.Invalid(Field(path, "path"), host.path(), "must not contain '..'");
  static const std::vector<std::string_view> kTypes = {
      "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
      "File", "FileOrCreate", "Socket"};
  for (const auto type : kTypes)
    if (host.type() == type) return;
  errors.Unsupported(Field(path, "type"), host.type(), kTypes);
}

void ValidateEmptyDir(const core::EmptyDirVolumeSource& empty, const std::string& path,
                      FieldErrors& errors) {
  if (!empty.has_size_limit()) return;
  const auto limit = Quantity::Parse(empty.size_limit().string());
  if (!limit.ok() || limit->IsNegative())
    errors.Invalid(Field(path, "sizeLimit"), empty.size_limit().string(),
                   "must be greater than or equal to 0");
}

void ValidateIscsi(const core::ISCSIVolumeSource& iscsi, const std::string& path,
                   FieldErrors& errors) {
  if (iscsi.target_portal().empty()) errors.Required(Field(path, "targetPortal"));
  const std::string& iqn = iscsi.iqn();
  if (iqn.empty()) {
    errors.Required(Field(path, "iqn"));
  } else if (iqn.substr(0, 4) != "iqn." && iqn.substr(0, 4) != "eui." &&
             iqn.substr(0, 4) != "naa.") {
    errors.Invalid(Field(path, "iqn"), iqn, "must be valid format");
  }
  if (iscsi.lun() < 0 || iscsi.lun() > 255)
    errors.Invalid(Field(path, "lun"), iscsi.lun(), "must be in 0..255");
  if ((iscsi.chap_auth_discovery() || iscsi.chap_auth_session()) && !iscsi.has_secret_ref())
    errors.Required(Field(path, "secretRef"));
}

void ValidateNetworkVolumes(const core::VolumeSource& source, const std::string& path,
                            FieldErrors& errors) {
  if (source.has_nfs()) {
    if (source.nfs().server().empty()) errors.Required(Field(path, "nfs.server"));
    if (source.nfs().path().empty()) {
      errors.Required(Field(path, "nfs.path"));
    } else if (source.nfs().path().front() != '/') {
      errors.Invalid(Field(path, "nfs.path"), source.nfs().path(), "must be an absolute path");
    }
  }
  if (source.has_iscsi()) ValidateIscsi(source.iscsi(), Field(path, "iscsi"), errors);
  if (source.has_fc()) {
    const auto& fc = source.fc();
    if ((fc.target_wwns_size() == 0) == (fc.wwids_size() == 0))
      errors.Required(Field(path, "fc.targetWWNs"),
                      "exactly one of targetWWNs and wwids is needed");
    if (fc.target_wwns_size() > 0 && (!fc.has_lun() || fc.lun() < 0 || fc.lun() > 255))
      errors.Invalid(Field(path, "fc.lun"), fc.lun(), "must be in 0..255");
  }
  if (source.has_rbd()) {
    if (source.rbd().monitors_size() == 0) errors.Required(Field(path, "rbd.monitors"));
    if (source.rbd().image().empty()) errors.Required(Field(path, "rbd.image"));
  }
  if (source.has_cephfs() && source.cephfs().monitors_size() == 0)
    errors.Required(Field(path, "cephfs.monitors"));
  if (source.has_glusterfs()) {
    if (source.glusterfs().endpoints().empty()) errors.Required(Field(path, "glusterfs.endpoints"));
    if (source.glusterfs().path().empty()) errors.Required(Field(path, "glusterfs.path"));
  }
  if (source.has_csi()) {
    const auto& csi = source.csi();
    if (csi.driver().empty()) errors.Required(Field(path, "csi.driver"));
    if (csi.has_node_publish_secret_ref() && csi.node_publish_secret_ref().name().empty())
      errors.Required(Field(path, "csi.nodePublishSecretRef.name"));
  }
}

void ValidateSource(const core::VolumeSource& source, const PodSpec& spec, const std::string& path,
                    FieldErrors& errors) {
  if (source.has_host_path()) ValidateHostPath(source.host_path(), Field(path, "hostPath"), errors);
  if (source.has_empty_dir()) ValidateEmptyDir(source.empty_dir(), Field(path, "emptyDir"), errors);
  if (source.has_secret()) {
    if (source.secret().secret_name().empty()) errors.Required(Field(path, "secret.secretName"));
    ValidateMode(source.secret().has_default_mode(), source.secret().default_mode(),
                 Field(path, "secret.defaultMode"), errors);
    ValidateKeys(source.secret().items(), Field(path, "secret.items"), errors);
  }
  if (source.has_config_map()) {
    const auto& map = source.config_map();
    if (map.local_object_reference().name().empty()) errors.Required(Field(path, "configMap.name"));
    ValidateMode(map.has_default_mode(), map.default_mode(), Field(path, "configMap.defaultMode"),
                 errors);
    ValidateKeys(map.items(), Field(path, "configMap.items"), errors);
  }
  if (source.has_downward_api()) {
    ValidateMode(source.downward_api().has_default_mode(), source.downward_api().default_mode(),
                 Field(path, "downwardAPI.defaultMode"), errors);
    ValidateDownward(source.downward_api().items(), Field(path, "downwardAPI.items"), errors);
  }
  if (source.has_projected())
    ValidateProjected(source.projected(), spec, Field(path, "projected"), errors);
  if (source.has_persistent_volume_claim() && source.persistent_volume_claim().claim_name().empty())
    errors.Required(Field(path, "persistentVolumeClaim.claimName"));
  if (source.has_git_repo() && source.git_repo().repository().empty())
    errors.Required(Field(path, "gitRepo.repository"));
  ValidateNetworkVolumes(source, path, errors);
}

}  // namespace

void ValidateVolumes(const PodSpec& spec, FieldErrors& errors) {
  std::set<std::string> names;
  for (int i = 0; i < spec.volumes_size(); ++i) {
    const Volume& volume = spec.volumes(i);
    const std::string path = At("spec.volumes", i);
    if (volume.name().empty()) {
      errors.Required(Field(path, "name"));
    } else {
      errors.Check(Field(path, "name"), volume.name(), CheckDnsLabel(volume.name()));
    }
    if (!names.insert(volume.name()).second) errors.Duplicate(Field(path, "name"), volume.name());
    std::vector<const google::protobuf::FieldDescriptor*> kinds;
    const auto& source = volume.volume_source();
    source.GetReflection()->ListFields(source, &kinds);
    if (kinds.empty()) errors.Required(path, "must specify a volume type");
    for (size_t kind = 1; kind < kinds.size(); ++kind)
      errors.Forbidden(Field(path, kinds[kind]->json_name()),
                       "may not specify more than 1 volume type");
    ValidateSource(source, spec, path, errors);
  }
}

}  // namespace splitlet::kube
