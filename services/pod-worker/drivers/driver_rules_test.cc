#include "services/pod-worker/drivers/driver_rules.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace splitlet::pod_worker {
namespace {

plugins::Plugin Disk(std::vector<std::string> versions,
                     const std::string& endpoint = "/csi/disk.sock",
                     const std::string& name = "disk.csi") {
  return {.socket = "/reg/disk.sock",
          .type = plugins::kCsiPlugin,
          .name = name,
          .endpoint = endpoint,
          .versions = std::move(versions)};
}

const std::string kFailed =
    R"(kubernetes.io/csi: RegisterPlugin for CSI driver "disk.csi" failed. )";
const std::string kRefused = "validation failed for CSI Driver disk.csi at endpoint ";

TEST(ChooseVersion, TakesTheHighestOfVersionOneUnlessADriverHasIt) {
  const struct {
    const char* name;
    std::vector<std::string> versions;
    const char* registered;  // version; null: none
    std::string want, error;
  } kCases[] = {
      {"the highest counts", {"1.0.0", "1.9.0", "1.2.0"}, nullptr, "1.9.0", ""},
      {"an old version beside a good one", {"0.3.0", "1.0.0"}, nullptr, "1.0.0", ""},
      {"a version of the future beside a good one", {"2.0.0", "1.1.0"}, nullptr, "1.1.0", ""},
      {"a text beside a good one", {"new", "1.1.0"}, nullptr, "1.1.0", ""},
      {"no version", {}, nullptr, "", "Plugin returned an empty list for supported versions"},
      {"only an old one",
       {"0.3.0"},
       nullptr,
       "",
       R"(None of the versions specified ["0.3.0"] are supported. err=)"
       "highest supported version reported is 0.3.0, must be v1.x"},
      {"only a version of the future",
       {"2.0.0"},
       nullptr,
       "",
       R"(None of the versions specified ["2.0.0"] are supported. err=)"
       "could not find a highest supported version from versions ([2.0.0]) reported: <nil>"},
      {"a higher one than the registered", {"1.9.0"}, "1.8.9", "1.9.0", ""},
      {"an equal one",
       {"1.9.0"},
       "1.9.0",
       "",
       "Another driver with the same name is already registered with a higher supported version: "
       "\"1.9.0\""},
      {"a lower one",
       {"1.9.0"},
       "1.10.0",
       "",
       "Another driver with the same name is already registered with a higher supported version: "
       "\"1.10.0\""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    std::optional<plugins::DriverVersion> registered;
    if (c.registered != nullptr) registered = *plugins::DriverVersion::Parse(c.registered);
    const auto version =
        ChooseVersion("RegisterPlugin", Disk(c.versions), registered ? &*registered : nullptr);
    EXPECT_EQ(Message(version.status()), c.error.empty() ? "" : kFailed + c.error);
    if (version.ok()) {
      EXPECT_EQ(version->ToText(), c.want);
    }
  }
}

TEST(ChooseVersion, ALongListIsCutInTheText) {
  const auto version = ChooseVersion(
      "RegisterPlugin", Disk(std::vector<std::string>(64, std::string(256, 'x'))), nullptr);
  EXPECT_EQ(version.status().code(), StatusCode::kInvalidArgument);
  EXPECT_LT(Message(version.status()).size(), 2500u);
}

TEST(CheckDriver, NameEndpointAndVersionsAreChecked) {
  const std::string long_name(64, 'a'), long_path = "/" + std::string(5000, 'a');
  const struct {
    const char* name;
    plugins::Plugin plugin;
    std::string error;  // begins so
  } kCases[] = {
      {"a good one", Disk({"1.0.0"}), ""},
      {"with the scheme", Disk({"1.0.0"}, "unix:///csi/disk.sock"), ""},
      {"dots in a name", Disk({"1.0.0"}, "/csi/..disk../s..ock"), ""},
      {"no version", Disk({}),
       kRefused + R"(/csi/disk.sock: kubernetes.io/csi: ValidatePlugin for CSI driver "disk.csi" )"
                  "failed. Plugin returned an empty list for supported versions"},
      {"a relative endpoint", Disk({"1.0.0"}, "disk.sock"),
       kRefused + "disk.sock: the endpoint \"disk.sock\" is not an absolute path"},
      {"an endpoint of another kind", Disk({"1.0.0"}, "tcp://192.0.2.1:80"),
       kRefused +
           "tcp://192.0.2.1:80: the endpoint \"tcp://192.0.2.1:80\" is not an absolute path"},
      {"an endpoint above a folder", Disk({"1.0.0"}, "/csi/../etc/disk.sock"),
       kRefused + "/csi/../etc/disk.sock: the endpoint \"/csi/../etc/disk.sock\" contains \"..\""},
      {"an endpoint of 5001 bytes", Disk({"1.0.0"}, long_path),
       kRefused + long_path.substr(0, 1024) +
           ": the endpoint has 5001 bytes, the address of a unix socket takes 107"},
      {"a name with a path", Disk({"1.0.0"}, "/csi/disk.sock", "../disk"),
       "validation failed for CSI Driver ../disk at endpoint /csi/disk.sock: "},
      {"a name that is a parent", Disk({"1.0.0"}, "/csi/disk.sock", ".."),
       "validation failed for CSI Driver .. at endpoint /csi/disk.sock: "},
      {"a long name", Disk({"1.0.0"}, "/csi/disk.sock", long_name),
       "validation failed for CSI Driver " + long_name +
           " at endpoint /csi/disk.sock: the name of the driver is longer than 63 characters"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Status status = CheckDriver(c.plugin, nullptr);
    EXPECT_EQ(status.ok(), c.error.empty());
    EXPECT_EQ(Message(status).substr(0, c.error.size()), c.error);
  }
}

TEST(SocketOf, IsThePathOfAnEndpoint) {
  EXPECT_EQ(*SocketOf("/csi/disk.sock"), "/csi/disk.sock");
  EXPECT_EQ(*SocketOf("unix:///csi/disk.sock"), "/csi/disk.sock");
  EXPECT_FALSE(SocketOf("unix://csi/disk.sock").ok());
  EXPECT_FALSE(SocketOf("").ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
