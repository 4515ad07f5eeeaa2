// Well-known numbers and JSON names of the wire types, because an error here would make every API
// server and runtime misunderstand splitlet.

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "containerd/events.pb.h"
#include "csi/v1/csi.pb.h"
#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/apimachinery/pkg/util/intstr/intstr.pb.h"
#include "pluginregistration/v1/api.pb.h"
#include "runtime/v1/api.pb.h"
#include "splitlet/v1/options.pb.h"

namespace {

namespace core = k8s::io::api::core::v1;
namespace meta = k8s::io::apimachinery::pkg::apis::meta::v1;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

struct FieldFact {
  const Descriptor* message;
  const char* field;
  int number;
  const char* json;
};

TEST(ProtoRecords, FieldsHaveTheirPublishedNumbersAndJsonNames) {
  const FieldFact facts[] = {
      {core::Pod::descriptor(), "status", 3, "status"},
      {core::PodSpec::descriptor(), "containers", 2, "containers"},
      {core::PodSpec::descriptor(), "host_network", 11, "hostNetwork"},
      {core::PodSpec::descriptor(), "host_pid", 12, "hostPID"},
      {core::PodSpec::descriptor(), "init_containers", 20, "initContainers"},
      {core::PodSpec::descriptor(), "set_hostname_as_fqdn", 35, "setHostnameAsFQDN"},
      {core::PodStatus::descriptor(), "host_ip", 5, "hostIP"},
      {core::PodStatus::descriptor(), "pod_ips", 12, "podIPs"},
      {core::Container::descriptor(), "image", 2, "image"},
      {core::SecurityContext::descriptor(), "se_linux_options", 3, "seLinuxOptions"},
      {core::DaemonEndpoint::descriptor(), "port", 1, "Port"},
      {meta::ObjectMeta::descriptor(), "uid", 5, "uid"},
      {meta::FieldsV1::descriptor(), "raw", 1, "Raw"},
      {k8s::io::api::coordination::v1::LeaseSpec::descriptor(), "renew_time", 4, "renewTime"},
      {k8s::io::apimachinery::pkg::util::intstr::IntOrString::descriptor(), "str_val", 3, "strVal"},
      {runtime::v1::PodSandboxConfig::descriptor(), "linux", 8, "linux"},
      {runtime::v1::LinuxContainerSecurityContext::descriptor(), "run_as_user", 5, "runAsUser"},
      {runtime::v1::ContainerConfig::descriptor(), "cdi_devices", 17, "CDIDevices"},
      {runtime::v1::Mount::descriptor(), "uid_mappings", 6, "uidMappings"},
      {containerd::events::TaskExit::descriptor(), "exit_status", 4, "exitStatus"},
      {pluginregistration::PluginInfo::descriptor(), "type", 1, "type"},
      {pluginregistration::PluginInfo::descriptor(), "name", 2, "name"},
      {pluginregistration::PluginInfo::descriptor(), "endpoint", 3, "endpoint"},
      {pluginregistration::PluginInfo::descriptor(), "supported_versions", 4, "supportedVersions"},
      {pluginregistration::RegistrationStatus::descriptor(), "plugin_registered", 1,
       "pluginRegistered"},
      {pluginregistration::RegistrationStatus::descriptor(), "error", 2, "error"},
      {csi::v1::NodeStageVolumeRequest::descriptor(), "publish_context", 2, "publishContext"},
      {csi::v1::NodeStageVolumeRequest::descriptor(), "staging_target_path", 3,
       "stagingTargetPath"},
      {csi::v1::NodeStageVolumeRequest::descriptor(), "secrets", 5, "secrets"},
      {csi::v1::NodePublishVolumeRequest::descriptor(), "target_path", 4, "targetPath"},
      {csi::v1::NodePublishVolumeRequest::descriptor(), "readonly", 6, "readonly"},
      {csi::v1::NodePublishVolumeRequest::descriptor(), "volume_context", 8, "volumeContext"},
      {csi::v1::NodeUnpublishVolumeRequest::descriptor(), "target_path", 2, "targetPath"},
      {csi::v1::NodeExpandVolumeRequest::descriptor(), "capacity_range", 3, "capacityRange"},
      {csi::v1::NodeExpandVolumeRequest::descriptor(), "secrets", 6, "secrets"},
      {csi::v1::NodeGetInfoResponse::descriptor(), "accessible_topology", 3, "accessibleTopology"},
      {csi::v1::NodeGetVolumeStatsResponse::descriptor(), "volume_condition", 2, "volumeCondition"},
      {csi::v1::VolumeUsage::descriptor(), "unit", 4, "unit"},
      {csi::v1::VolumeCapability::descriptor(), "access_mode", 3, "accessMode"},
      {csi::v1::VolumeCapability::MountVolume::descriptor(), "volume_mount_group", 3,
       "volumeMountGroup"},
  };
  for (const auto& fact : facts) {
    SCOPED_TRACE(fact.message->full_name() + "." + fact.field);
    const FieldDescriptor* field = fact.message->FindFieldByName(fact.field);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->number(), fact.number);
    EXPECT_EQ(field->json_name(), fact.json);
  }
}

TEST(ProtoRecords, OptionsSayWhichFieldsAreInlineAndHowListsMerge) {
  const struct {
    const Descriptor* message;
    const char* field;
    bool json_inline;
    const char* strategy;
    const char* key;
  } facts[] = {
      {core::Volume::descriptor(), "volume_source", true, "", ""},
      {core::Probe::descriptor(), "handler", true, "", ""},
      {core::EphemeralContainer::descriptor(), "ephemeral_container_common", true, "", ""},
      {core::PodSpec::descriptor(), "volumes", false, "merge,retainKeys", "name"},
      {core::PodStatus::descriptor(), "conditions", false, "merge", "type"},
      {core::Container::descriptor(), "ports", false, "merge", "containerPort"},
      {meta::ObjectMeta::descriptor(), "finalizers", false, "merge", ""},
      {core::PodSpec::descriptor(), "tolerations", false, "", ""},
  };
  for (const auto& fact : facts) {
    SCOPED_TRACE(fact.message->full_name() + "." + fact.field);
    const FieldDescriptor* field = fact.message->FindFieldByName(fact.field);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->options().GetExtension(splitlet::v1::json_inline), fact.json_inline);
    EXPECT_EQ(field->options().GetExtension(splitlet::v1::patch_strategy), fact.strategy);
    EXPECT_EQ(field->options().GetExtension(splitlet::v1::merge_key), fact.key);
  }
}

TEST(ProtoRecords, EphemeralContainersHaveTheFieldsOfContainersNumberForNumber) {
  const Descriptor* common = core::EphemeralContainerCommon::descriptor();
  const Descriptor* container = core::Container::descriptor();
  ASSERT_EQ(common->field_count(), container->field_count());
  for (int i = 0; i < container->field_count(); ++i) {
    const FieldDescriptor* twin = common->FindFieldByNumber(container->field(i)->number());
    ASSERT_NE(twin, nullptr) << container->field(i)->name();
    EXPECT_EQ(twin->name(), container->field(i)->name());
    EXPECT_EQ(twin->type(), container->field(i)->type());
  }
}

TEST(ProtoRecords, RegistrationOfPluginsHasItsPublishedMethods) {
  const auto* service =
      pluginregistration::PluginInfo::descriptor()->file()->FindServiceByName("Registration");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->full_name(), "pluginregistration.Registration");
  for (const char* method : {"GetInfo", "NotifyRegistrationStatus"})
    EXPECT_NE(service->FindMethodByName(method), nullptr) << method;
}

TEST(ProtoRecords, SignalsKeepTheNumbersOfCriNotOfLinux) {
  EXPECT_EQ(runtime::v1::SIGNAL_SIGKILL, 13);
  EXPECT_EQ(runtime::v1::SIGNAL_SIGTERM, 23);
  EXPECT_EQ(runtime::v1::SIGNAL_SIGRTMAX, 65);
}

TEST(ProtoRecords, EnumsOfCsiHaveTheirPublishedNumbers) {
  using Capability = csi::v1::NodeServiceCapability::RPC;
  using AccessMode = csi::v1::VolumeCapability::AccessMode;
  EXPECT_EQ(Capability::STAGE_UNSTAGE_VOLUME, 1);
  EXPECT_EQ(Capability::SINGLE_NODE_MULTI_WRITER, 5);
  EXPECT_EQ(Capability::VOLUME_MOUNT_GROUP, 6);
  EXPECT_EQ(AccessMode::SINGLE_NODE_WRITER, 1);
  EXPECT_EQ(AccessMode::MULTI_NODE_MULTI_WRITER, 5);
  EXPECT_EQ(AccessMode::SINGLE_NODE_SINGLE_WRITER, 6);
  EXPECT_EQ(AccessMode::SINGLE_NODE_MULTI_WRITER, 7);
  EXPECT_EQ(csi::v1::VolumeUsage::BYTES, 1);
  EXPECT_EQ(csi::v1::VolumeUsage::INODES, 2);
}

TEST(ProtoRecords, CsiHasTheServicesOfANode) {
  const auto* file = csi::v1::NodeStageVolumeRequest::descriptor()->file();
  ASSERT_EQ(file->service_count(), 2);
  EXPECT_EQ(file->service(0)->full_name(), "csi.v1.Identity");
  EXPECT_EQ(file->service(1)->full_name(), "csi.v1.Node");
  EXPECT_EQ(file->service(1)->method_count(), 8);
}

}  // namespace
