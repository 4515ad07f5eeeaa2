#include "libs/csi/translation.h"

#include <fmt/ranges.h>

#include <set>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/csi/aws_id.h"
#include "libs/csi/topology_keys.h"

namespace splitlet::csi {
namespace {

namespace core = k8s::io::api::core::v1;

constexpr InTreePlugin kAws{"kubernetes.io/aws-ebs", "ebs.csi.aws.com"};
constexpr InTreePlugin kGce{"kubernetes.io/gce-pd", "pd.csi.storage.gke.io"};
constexpr InTreePlugin kAzureDisk{"kubernetes.io/azure-disk", "disk.csi.azure.com"};
constexpr InTreePlugin kAzureFile{"kubernetes.io/azure-file", "file.csi.azure.com"};
constexpr InTreePlugin kCinder{"kubernetes.io/cinder", "cinder.csi.openstack.org"};
constexpr InTreePlugin kPortworx{"kubernetes.io/portworx-volume", "pxd.portworx.com"};
constexpr InTreePlugin kVsphere{"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"};

constexpr const char* kOnce = "ReadWriteOnce";
constexpr const char* kReadOnlyMany = "ReadOnlyMany";
constexpr const char* kMany = "ReadWriteMany";
constexpr const char* kUnspecifiedDisk = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/";

using Source = core::CSIPersistentVolumeSource;

Source Made(const InTreePlugin& plugin, std::string handle) {
  Source source;
  source.set_driver(std::string(plugin.driver));
  source.set_volume_handle(std::move(handle));
  return source;
}

void SetFsType(Source& source, const std::string& fs_type) {
  if (!fs_type.empty()) source.set_fs_type(fs_type);
}

StatusOr<Source> FromAws(const core::AWSElasticBlockStoreVolumeSource& aws) {
  auto id = EbsVolumeId(aws.volume_id());
  if (!id.ok())
    return InvalidArgument("failed to translate Kubernetes ID to EBS Volume ID {}",
                           Message(id.status()));
  Source source = Made(kAws, *std::move(id));
  source.set_read_only(aws.read_only());
  SetFsType(source, aws.fs_type());
  (*source.mutable_volume_attributes())["partition"] = std::to_string(aws.partition());
  return source;
}

/// The region that all zones have in common: "europe-west1" of "europe-west1-b".
StatusOr<std::string> RegionOf(const std::vector<std::string>& zones) {
  std::set<std::string> regions;
  for (const auto& zone : zones) {
    if (std::count(zone.begin(), zone.end(), '-') != 2)
      return InvalidArgument(
          "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {}", zone);
    regions.insert(zone.substr(0, zone.rfind('-')));
  }
  if (regions.size() == 1) return *regions.begin();
  return InvalidArgument("multiple or no regions gotten from zones, got: map[{}:{{}}]",
                         fmt::join(regions, ":{} "));
}

StatusOr<std::string> GceHandle(const core::PersistentVolume& persistent, const std::string& disk) {
  std::string label = LabelOf(persistent, kBetaZoneLabel);
  if (label.empty()) label = LabelOf(persistent, kZoneLabel);
  const auto zones = SplitZones(label);
  if (zones.size() == 1 && zones.front().empty()) return kUnspecifiedDisk + disk;
  if (zones.size() == 1)
    return fmt::format("projects/UNSPECIFIED/zones/{}/disks/{}", zones.front(), disk);
  ASSIGN_OR_RETURN(const std::string region, RegionOf(zones), "failed to get region from zones");
  return fmt::format("projects/UNSPECIFIED/regions/{}/disks/{}", region, disk);
}

Source FromGce(const core::GCEPersistentDiskVolumeSource& gce, std::string handle) {
  Source source = Made(kGce, std::move(handle));
  source.set_read_only(gce.read_only());
  SetFsType(source, gce.fs_type());
  (*source.mutable_volume_attributes())["partition"] =
      gce.partition() == 0 ? "" : std::to_string(gce.partition());
  return source;
}

/// Leaves a single mode. ReadWriteOncePod stays, so that the volume is still for one pod.
void NarrowGceModes(core::PersistentVolumeSpec& spec) {
  if (spec.access_modes().empty()) return;
  const std::set<std::string> modes(spec.access_modes().begin(), spec.access_modes().end());
  if (modes == std::set<std::string>{"ReadWriteOncePod"}) return;
  const bool only_reads =
      modes.contains(kReadOnlyMany) && !modes.contains(kOnce) && !modes.contains(kMany);
  spec.clear_access_modes();
  spec.add_access_modes(only_reads ? kReadOnlyMany : kOnce);
}

/// `empty_counts`: a caching mode that is set and empty is an attribute too.
StatusOr<Source> FromAzureDisk(const core::AzureDiskVolumeSource& azure, bool empty_counts) {
  std::string kind = azure.kind();
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (azure.has_kind() && kind != "managed")
    return InvalidArgument("kind({}) is not supported in csi migration", azure.kind());
  Source source = Made(kAzureDisk, azure.disk_uri());
  source.set_read_only(azure.read_only());
  auto& attributes = *source.mutable_volume_attributes();
  attributes["kind"] = "Managed";
  if (azure.has_caching_mode() && (empty_counts || !azure.caching_mode().empty()))
    attributes["cachingmode"] = azure.caching_mode();
  if (azure.has_fs_type()) {
    SetFsType(source, azure.fs_type());
    attributes["fstype"] = azure.fs_type();
  }
  return source;
}

/// The account in "azure-storage-account-<account>-secret", or the whole name.
std::string AzureAccount(const std::string& secret) {
  constexpr std::string_view kBefore = "azure-storage-account-", kAfter = "-secret";
  const size_t found = secret.find(kBefore);
  if (found == std::string::npos) return secret;
  const size_t begin = found + kBefore.size(), end = secret.rfind(kAfter);
  if (end == std::string::npos || end <= begin) return secret;
  return secret.substr(begin, end - begin);
}

struct AzureShare {
  std::string secret, share, group, volume, secret_namespace;
  bool read_only = false;
};

Source FromAzureFile(const AzureShare& share) {
  Source source =
      Made(kAzureFile, fmt::format("{}#{}#{}#{}#{}", share.group, AzureAccount(share.secret),
                                   share.share, share.volume, share.secret_namespace));
  source.set_read_only(share.read_only);
  (*source.mutable_volume_attributes())["sharename"] = share.share;
  source.mutable_node_stage_secret_ref()->set_name(share.secret);
  source.mutable_node_stage_secret_ref()->set_namespace_(share.secret_namespace);
  return source;
}

StatusOr<Source> FromAzureFile(const core::PersistentVolume& persistent) {
  const auto& azure = persistent.spec().persistent_volume_source().azure_file();
  const auto& annotations = persistent.metadata().annotations();
  const auto group = annotations.find("kubernetes.io/azure-file-resource-group");
  const AzureShare share{.secret = azure.secret_name(),
                         .share = azure.share_name(),
                         .group = group == annotations.end() ? "" : group->second,
                         .volume = persistent.metadata().name(),
                         .secret_namespace = azure.has_secret_namespace()
                                                 ? azure.secret_namespace()
                                                 : persistent.spec().claim_ref().namespace_(),
                         .read_only = azure.read_only()};
  if (share.secret_namespace.empty())
    return InvalidArgument(
        "could not find a secret namespace in PersistentVolumeSource or ClaimRef");
  return FromAzureFile(share);
}

/// For Cinder's two messages, which have the same fields.
template <class Cinder>
Source FromCinder(const Cinder& cinder) {
  Source source = Made(kCinder, cinder.volume_id());
  source.set_read_only(cinder.read_only());
  SetFsType(source, cinder.fs_type());
  return source;
}

Source FromPortworx(const core::PortworxVolumeSource& portworx) {
  Source source = Made(kPortworx, portworx.volume_id());
  SetFsType(source, portworx.fs_type());
  return source;
}

void AddPortworxSecrets(Source& source, const core::PersistentVolume& persistent) {
  const auto& annotations = persistent.metadata().annotations();
  const auto name = annotations.find("openstorage.io/auth-secret-name");
  const auto space = annotations.find("openstorage.io/auth-secret-namespace");
  if (name == annotations.end() || space == annotations.end()) return;
  core::SecretReference secret;
  secret.set_name(name->second);
  secret.set_namespace_(space->second);
  *source.mutable_controller_publish_secret_ref() = secret;
  *source.mutable_node_stage_secret_ref() = secret;
  *source.mutable_node_publish_secret_ref() = secret;
  *source.mutable_controller_expand_secret_ref() = secret;
  *source.mutable_node_expand_secret_ref() = secret;
}

Source FromVsphere(const core::VsphereVirtualDiskVolumeSource& vsphere) {
  Source source = Made(kVsphere, vsphere.volume_path());
  SetFsType(source, vsphere.fs_type());
  if (!vsphere.storage_policy_name().empty())
    (*source.mutable_volume_attributes())["storagepolicyname"] = vsphere.storage_policy_name();
  return source;
}

StatusOr<Source> SourceOf(const core::PersistentVolume& persistent) {
  const auto& source = persistent.spec().persistent_volume_source();
  if (source.has_aws_elastic_block_store()) return FromAws(source.aws_elastic_block_store());
  if (source.has_gce_persistent_disk()) {
    const auto& gce = source.gce_persistent_disk();
    auto handle = GceHandle(persistent, gce.pd_name());
    if (!handle.ok()) return handle.status();
    return FromGce(gce, *std::move(handle));
  }
  if (source.has_azure_disk()) return FromAzureDisk(source.azure_disk(), true);
  if (source.has_azure_file()) return FromAzureFile(persistent);
  if (source.has_cinder()) return FromCinder(source.cinder());
  if (source.has_portworx_volume()) {
    Source made = FromPortworx(source.portworx_volume());
    AddPortworxSecrets(made, persistent);
    return made;
  }
  if (source.has_vsphere_volume()) return FromVsphere(source.vsphere_volume());
  return InvalidArgument("no in-tree volume of a cloud");
}

void TranslateTopology(core::PersistentVolume& persistent) {
  const auto& source = persistent.spec().persistent_volume_source();
  if (source.has_aws_elastic_block_store()) UseZoneKey(persistent, "topology.ebs.csi.aws.com/zone");
  if (source.has_gce_persistent_disk()) UseZoneKey(persistent, "topology.gke.io/zone");
  if (source.has_cinder()) UseZoneKey(persistent, "topology.cinder.csi.openstack.org/zone");
  if (source.has_vsphere_volume())
    UseZoneAndRegionKeys(persistent, "topology.csi.vmware.com/zone",
                         "topology.csi.vmware.com/region");
}

struct InlineVolume {
  std::string name;  // of the persistent volume that is made
  std::string access_mode;
  Source source;
};

InlineVolume Named(Source source, std::string access_mode) {
  return {source.driver() + "-" + source.volume_handle(), std::move(access_mode),
          std::move(source)};
}

InlineVolume InlineAzureFile(const core::Volume& volume, const std::string& pod_namespace) {
  const auto& azure = volume.volume_source().azure_file();
  Source source =
      FromAzureFile({.secret = azure.secret_name(),
                     .share = azure.share_name(),
                     .volume = volume.name(),
                     .secret_namespace = pod_namespace.empty() ? "default" : pod_namespace,
                     .read_only = azure.read_only()});
  return {source.volume_handle(), kMany, source};
}

StatusOr<InlineVolume> InlineOf(const core::Volume& volume, const std::string& pod_namespace) {
  const auto& source = volume.volume_source();
  if (source.has_aws_elastic_block_store()) {
    auto made = FromAws(source.aws_elastic_block_store());
    if (!made.ok()) return made.status();
    return Named(*std::move(made), kOnce);
  }
  if (source.has_gce_persistent_disk()) {
    const auto& gce = source.gce_persistent_disk();
    return InlineVolume{std::string(kGce.driver) + "-" + gce.pd_name(),
                        gce.read_only() ? kReadOnlyMany : kOnce,
                        FromGce(gce, kUnspecifiedDisk + gce.pd_name())};
  }
  if (source.has_azure_disk()) {
    auto made = FromAzureDisk(source.azure_disk(), false);
    if (!made.ok()) return made.status();
    return InlineVolume{source.azure_disk().disk_uri(), kOnce, *std::move(made)};
  }
  if (source.has_azure_file()) return InlineAzureFile(volume, pod_namespace);
  if (source.has_cinder()) return Named(FromCinder(source.cinder()), kOnce);
  if (source.has_portworx_volume())
    return Named(FromPortworx(source.portworx_volume()),
                 source.portworx_volume().read_only() ? kReadOnlyMany : kOnce);
  if (source.has_vsphere_volume()) return Named(FromVsphere(source.vsphere_volume()), kOnce);
  return InvalidArgument("no in-tree volume of a cloud");
}

Status Failed(const Status& error) {
  return Annotate(error, "failed to translate in-tree pv to CSI");
}

}  // namespace

const std::vector<InTreePlugin>& InTreePlugins() {
  static const std::vector<InTreePlugin> kPlugins{kAws, kAzureDisk, kAzureFile, kCinder,
                                                  kGce, kPortworx,  kVsphere};
  return kPlugins;
}

bool IsTranslated(const core::PersistentVolumeSource& source) {
  return source.has_aws_elastic_block_store() || source.has_gce_persistent_disk() ||
         source.has_azure_disk() || source.has_azure_file() || source.has_cinder() ||
         source.has_portworx_volume() || source.has_vsphere_volume();
}

bool IsTranslated(const core::VolumeSource& source) {
  return source.has_aws_elastic_block_store() || source.has_gce_persistent_disk() ||
         source.has_azure_disk() || source.has_azure_file() || source.has_cinder() ||
         source.has_portworx_volume() || source.has_vsphere_volume();
}

StatusOr<PersistentVolumeObject> TranslatePersistentVolume(
    const PersistentVolumeObject& persistent) {
  auto source = SourceOf(persistent);
  if (!source.ok()) return Failed(source.status());
  PersistentVolumeObject made = persistent;
  TranslateTopology(made);
  if (persistent.spec().persistent_volume_source().has_gce_persistent_disk())
    NarrowGceModes(*made.mutable_spec());
  made.mutable_spec()->mutable_persistent_volume_source()->Clear();
  *made.mutable_spec()->mutable_persistent_volume_source()->mutable_csi() = *std::move(source);
  return made;
}

StatusOr<PersistentVolumeObject> TranslateInline(const core::Volume& volume,
                                                 const std::string& pod_namespace) {
  auto inline_volume = InlineOf(volume, pod_namespace);
  if (!inline_volume.ok()) return Failed(inline_volume.status());
  PersistentVolumeObject made;
  made.mutable_metadata()->set_name(inline_volume->name);
  auto& spec = *made.mutable_spec();
  spec.add_access_modes(inline_volume->access_mode);
  spec.set_volume_mode("Filesystem");
  *spec.mutable_persistent_volume_source()->mutable_csi() = std::move(inline_volume->source);
  return made;
}

}  // namespace splitlet::csi
