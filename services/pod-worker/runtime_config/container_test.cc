#include "services/pod-worker/runtime_config/container.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "k8s.io/api/core/v1/security.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/node_fixture.h"
#include "services/pod-worker/runtime_config/security.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

class ContainerConfigTest : public testing::Test {
 protected:
  Status Make() {
    out_.Clear();
    return MakeContainerConfig(
        {pod_, container(), node_, files_, AddressesOf({"10.1.2.3"}), "sha256:1", image_, 1, 2, 7},
        out_);
  }
  kube::Container& container() { return *pod_.mutable_spec()->mutable_containers(0); }

  kube::Pod pod_ = TestPod{}.Make();
  ContainerFiles files_{{{"data", "/state/data"}}, "/state/hosts", "/state/term"};
  NodeInfo node_ = kNode;
  std::optional<cri::Image> image_;
  runtime::v1::ContainerConfig out_;
};

TEST_F(ContainerConfigTest, APartOfAVolumeIsMountedFromWhereItIsBound) {
  for (const char* path : {"", "sub"}) {
    auto& mount = *container().add_volume_mounts();
    mount.set_name("data");
    mount.set_mount_path("/data");
    mount.set_sub_path(path);
  }
  EXPECT_EQ(Make().code(), StatusCode::kInternal) << "never the whole volume instead";
  files_.sub_paths[1] = "/pod/volume-subpaths/data/app/1";
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.mounts(0).host_path(), "/state/data");
  EXPECT_EQ(out_.mounts(1).host_path(), "/pod/volume-subpaths/data/app/1");
}

TEST_F(ContainerConfigTest, AnImageVolumeIsMountedByTheRuntime) {
  auto& volume = *pod_.mutable_spec()->add_volumes();
  volume.set_name("model");
  volume.mutable_volume_source()->mutable_image()->set_reference("reg.io/model:1");
  for (const char* path : {"", "weights"}) {
    auto& mount = *container().add_volume_mounts();
    mount.set_name("model");
    mount.set_mount_path("/model");
    mount.set_sub_path(path);
  }
  files_.images["model"] = "sha256:2";
  files_.sub_paths[1] = "weights";
  ASSERT_TRUE(Make().ok());
  for (int i = 0; i < 2; ++i) {
    const auto& mount = out_.mounts(i);
    EXPECT_EQ(mount.host_path(), "");
    EXPECT_TRUE(mount.readonly());
    EXPECT_EQ(mount.image().image(), "sha256:2");
    EXPECT_EQ(mount.image().user_specified_image(), "reg.io/model:1");
  }
  EXPECT_EQ(out_.mounts(0).image_sub_path(), "");
  EXPECT_EQ(out_.mounts(1).image_sub_path(), "weights");
}

TEST_F(ContainerConfigTest, ABlockDeviceIsGivenWithItsRights) {
  for (const bool read_only : {false, true}) {
    const std::string name = read_only ? "read" : "write";
    auto& volume = *pod_.mutable_spec()->add_volumes();
    volume.set_name(name);
    auto& claim = *volume.mutable_volume_source()->mutable_persistent_volume_claim();
    claim.set_claim_name(name);
    claim.set_read_only(read_only);
    auto& device = *container().add_volume_devices();
    device.set_name(name);
    device.set_device_path("/dev/" + name);
  }
  EXPECT_EQ(Message(Make()), "cannot find volume \"write\" to pass into container \"app\"");
  files_.volumes["read"] = "/pods/r";
  files_.volumes["write"] = "/pods/w";
  out_.Clear();
  ASSERT_TRUE(Make().ok());
  ASSERT_EQ(out_.devices_size(), 2);
  EXPECT_EQ(out_.devices(0).host_path(), "/pods/w");
  EXPECT_EQ(out_.devices(0).container_path(), "/dev/write");
  EXPECT_EQ(out_.devices(0).permissions(), "mrw");
  EXPECT_EQ(out_.devices(1).host_path(), "/pods/r");
  EXPECT_EQ(out_.devices(1).permissions(), "r");
}

TEST_F(ContainerConfigTest, CommandMountsAndNames) {
  auto& variable = *container().add_env();
  variable.set_name("A");
  variable.set_value("1");
  container().add_command("run");
  container().add_args("$(A)");
  auto& mount = *container().add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("data");
  mount.set_read_only(true);
  mount.set_mount_propagation("Bidirectional");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.metadata().attempt(), 2u);
  EXPECT_EQ(out_.annotations().at("io.kubernetes.container.restartCount"), "1");
  EXPECT_EQ(out_.annotations().at("splitlet.dev/incarnation"), "7");
  EXPECT_EQ(out_.image().image(), "sha256:1");
  EXPECT_EQ(out_.image().user_specified_image(), "busybox:1.36");
  EXPECT_EQ(out_.args(0), "1");
  EXPECT_EQ(out_.log_path(), "app/2.log");
  ASSERT_EQ(out_.mounts_size(), 3);
  EXPECT_EQ(out_.mounts(0).container_path(), "/data");
  EXPECT_TRUE(out_.mounts(0).readonly());
  EXPECT_EQ(out_.mounts(0).propagation(), runtime::v1::PROPAGATION_BIDIRECTIONAL);
  EXPECT_EQ(out_.mounts(1).container_path(), "/etc/hosts");
  EXPECT_EQ(out_.mounts(2).container_path(), "/dev/termination-log");
  EXPECT_TRUE(out_.image().annotations().empty()) << "those of the pod are none of the image";
}

TEST_F(ContainerConfigTest, MountsAreSeenAsFarAsTheySay) {
  const struct {
    const char* mode;
    StatusOr<runtime::v1::MountPropagation> want;
  } kCases[] = {
      {"", runtime::v1::PROPAGATION_PRIVATE},
      {"None", runtime::v1::PROPAGATION_PRIVATE},
      {"HostToContainer", runtime::v1::PROPAGATION_HOST_TO_CONTAINER},
      {"Bidirectional", runtime::v1::PROPAGATION_BIDIRECTIONAL},
      {"bidirectional", InvalidArgument("invalid MountPropagation mode: \"bidirectional\"")},
  };
  auto& mount = *container().add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("/data");
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.mode);
    mount.set_mount_propagation(c.mode);
    const Status made = Make();
    EXPECT_TRUE(Message(made).ends_with(Message(c.want.status()))) << made;
    ASSERT_EQ(made.ok(), c.want.ok());
    if (c.want.ok()) {
      EXPECT_EQ(out_.mounts(0).propagation(), *c.want);
    }
  }
}

TEST_F(ContainerConfigTest, NobodyInAContainerWritesFilesThatShowObjects) {
  auto& mount = *container().add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("/data");
  auto& volume = *pod_.mutable_spec()->add_volumes();
  volume.set_name("data");
  auto& source = *volume.mutable_volume_source();
  const std::vector<std::function<void()>> kinds = {
      [&] { source.mutable_empty_dir(); }, [&] { source.mutable_config_map(); },
      [&] { source.mutable_secret(); },    [&] { source.mutable_downward_api(); },
      [&] { source.mutable_projected(); },
  };
  for (size_t i = 0; i < kinds.size(); ++i) {
    source.Clear();
    kinds[i]();
    ASSERT_TRUE(Make().ok());
    EXPECT_EQ(out_.mounts(0).readonly(), i > 0) << i;
  }
}

TEST_F(ContainerConfigTest, ARelativeTerminationMessagePathIsOneFromTheRoot) {
  container().set_termination_message_path("tmp/end");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.mounts(1).container_path(), "/tmp/end");
}

TEST_F(ContainerConfigTest, WhatWeMakeIsLabelledWhereTheHostHasLabels) {
  for (const char* name : {"data", "host"}) {
    auto& mount = *container().add_volume_mounts();
    mount.set_name(name);
    mount.set_mount_path(fmt::format("/{}", name));
    auto& volume = *pod_.mutable_spec()->add_volumes();
    volume.set_name(name);
    files_.volumes[name] = "/somewhere";
  }
  pod_.mutable_spec()->mutable_volumes(0)->mutable_volume_source()->mutable_empty_dir();
  pod_.mutable_spec()->mutable_volumes(1)->mutable_volume_source()->mutable_host_path();
  const auto labelled = [this] {
    std::string text;
    for (const auto& mount : out_.mounts())
      if (mount.selinux_relabel()) text += mount.container_path() + " ";
    return text;
  };
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(labelled(), "");
  node_.selinux = true;
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(labelled(), "/data /etc/hosts /dev/termination-log ");
}

TEST_F(ContainerConfigTest, AHostsFileOfItsOwnReplacesTheManagedOne) {
  auto& mount = *container().add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("/etc/hosts");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.mounts(0).host_path(), "/state/data");
  EXPECT_EQ(out_.mounts(1).container_path(), "/dev/termination-log");
}

TEST_F(ContainerConfigTest, TheStopSignalIsTheRuntimesWord) {
  const struct {
    const char* asked;
    runtime::v1::Signal want;
  } kCases[] = {{"", runtime::v1::RUNTIME_DEFAULT},
                {"SIGUSR1", runtime::v1::SIGNAL_SIGUSR1},
                {"SIGRTMIN+3", runtime::v1::SIGNAL_SIGRTMINPLUS3},
                {"SIGRTMAX-2", runtime::v1::SIGNAL_SIGRTMAXMINUS2}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.asked);
    container().mutable_lifecycle()->set_stop_signal(c.asked);
    ASSERT_TRUE(Make().ok());
    EXPECT_EQ(out_.stop_signal(), c.want);
  }
  container().mutable_lifecycle()->set_stop_signal("SIGNAL");
  EXPECT_EQ(Message(Make()), "lifecycle.stopSignal: \"SIGNAL\" is not a signal");
}

TEST_F(ContainerConfigTest, AMissingVolumeIsNamed) {
  auto& mount = *container().add_volume_mounts();
  mount.set_name("v");
  mount.set_mount_path("/x");
  EXPECT_EQ(Message(Make()), "cannot find volume \"v\" to mount into container \"app\"");
}

TEST_F(ContainerConfigTest, Security) {
  auto& context = *container().mutable_security_context();
  context.set_run_as_user(1000);
  context.set_allow_privilege_escalation(false);
  context.set_read_only_root_filesystem(true);
  context.mutable_capabilities()->add_drop("ALL");
  context.mutable_seccomp_profile()->set_type("Localhost");
  EXPECT_FALSE(Make().ok()) << "a local profile needs a name";
  context.mutable_seccomp_profile()->set_localhost_profile("p.json");
  pod_.mutable_spec()->mutable_security_context()->set_run_as_group(5);
  ASSERT_TRUE(Make().ok());
  const auto& out = out_.linux().security_context();
  EXPECT_EQ(out.run_as_user().value(), 1000);
  EXPECT_EQ(out.run_as_group().value(), 5);
  EXPECT_TRUE(out.no_new_privs());
  EXPECT_TRUE(out.readonly_rootfs());
  EXPECT_EQ(out.capabilities().drop_capabilities(0), "ALL");
  EXPECT_EQ(out.seccomp().localhost_ref(), "/kubelet/seccomp/p.json");
  EXPECT_EQ(out.masked_paths(0), "/proc/asound");
  context.clear_seccomp_profile();
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().seccomp().profile_type(),
            runtime::v1::SecurityProfile::Unconfined);
}

TEST_F(ContainerConfigTest, DefaultsOfTheNodeAndProfilesByAnnotation) {
  node_.seccomp_default = true;
  node_.thermal_paths = {"/sys/devices/system/cpu/cpu0/thermal_throttle"};
  (*pod_.mutable_metadata()
        ->mutable_annotations())["container.apparmor.security.beta.kubernetes.io/app"] =
      "localhost/mine";
  ASSERT_TRUE(Make().ok());
  const auto& out = out_.linux().security_context();
  EXPECT_EQ(out.seccomp().profile_type(), runtime::v1::SecurityProfile::RuntimeDefault);
  EXPECT_EQ(*out.masked_paths().rbegin(), "/sys/devices/system/cpu/cpu0/thermal_throttle");
  EXPECT_EQ(out.apparmor().localhost_ref(), "mine");
  EXPECT_EQ(out.apparmor_profile(), "localhost/mine");
  pod_.mutable_spec()->mutable_security_context()->mutable_app_armor_profile()->set_type(
      "RuntimeDefault");
  for (const char* none : {"mine", "localhost/", ""}) {
    (*pod_.mutable_metadata()
          ->mutable_annotations())["container.apparmor.security.beta.kubernetes.io/app"] = none;
    ASSERT_TRUE(Make().ok());
    EXPECT_EQ(out_.linux().security_context().apparmor_profile(), "runtime/default") << none;
  }
  container().mutable_security_context()->mutable_app_armor_profile()->set_type("Unconfined");
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().apparmor_profile(), "unconfined");
}

TEST_F(ContainerConfigTest, TheUserOfTheImageIsNamedToTheRuntime) {
  EXPECT_TRUE(NeedsImageUser(pod_, container()));
  image_ = cri::Image{.uid = 1234};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 1234);
  container().mutable_security_context()->set_run_as_user(7);
  EXPECT_FALSE(NeedsImageUser(pod_, container()));
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 7);
}

TEST_F(ContainerConfigTest, AGroupAloneGoesWithTheUserOfTheImage) {
  container().mutable_security_context()->set_run_as_group(3000);
  EXPECT_TRUE(NeedsImageUser(pod_, container()));
  image_ = cri::Image{.uid = 33};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 33);
  EXPECT_EQ(out_.linux().security_context().run_as_group().value(), 3000);
  image_ = cri::Image{.username = "app"};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_username(), "app");
  EXPECT_FALSE(out_.linux().security_context().has_run_as_user());
  image_ = cri::Image{};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(out_.linux().security_context().run_as_user().value(), 0);
}

TEST_F(ContainerConfigTest, RunAsNonRoot) {
  container().mutable_security_context()->set_run_as_non_root(true);
  EXPECT_TRUE(NeedsImageUser(pod_, container()));
  image_ = cri::Image{.username = "app"};
  EXPECT_NE(Message(Make()).find("non-numeric user (app)"), std::string::npos);
  image_ = cri::Image{.uid = 0};
  EXPECT_NE(Message(Make()).find("image will run as root"), std::string::npos);
  image_ = cri::Image{.uid = 1LL << 31};
  EXPECT_NE(Message(Make()).find("is not in 0..2147483647"), std::string::npos);
  image_ = cri::Image{.uid = 33};
  EXPECT_TRUE(Make().ok());
  container().mutable_security_context()->set_run_as_user(0);
  EXPECT_NE(Message(Make()).find("breaks non-root policy"), std::string::npos);
  image_ = cri::Image{.username = "app"};
  container().mutable_security_context()->set_run_as_user(1000);
  EXPECT_TRUE(Make().ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
