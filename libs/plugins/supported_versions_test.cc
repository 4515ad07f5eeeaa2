#include "libs/plugins/supported_versions.h"

#include <gtest/gtest.h>

namespace splitlet::plugins {
namespace {

using Versions = std::vector<std::string>;

TEST(HighestCsiVersion, IsTheHighestWithMajorOne) {
  const struct {
    const char* name;
    Versions versions;
    const char* want;  // the version, or the error
  } kCases[] = {
      {"one", {"1.0.0"}, "1.0.0"},
      {"the highest, by number", {"1.9.0", "1.10.0", "1.2.0"}, "1.10.0"},
      {"one above 0.x", {"0.3.0", "1.0.0"}, "1.0.0"},
      {"with a letter and more than numbers", {" v1.2.3-rc1"}, "1.2.3"},
      {"higher majors are ignored", {"2.0.0", "1.1.0"}, "1.1.0"},
      {"what is none is ignored", {"latest", "1.1.0"}, "1.1.0"},
      {"only 0.x", {"0.3.0"}, "highest supported version reported is 0.3.0, must be v1.x"},
      {"only higher majors",
       {"2.0.0"},
       "could not find a highest supported version from versions ([2.0.0]) reported: <nil>"},
      {"only what is none",
       {"latest", "1"},
       "could not find a highest supported version from versions ([latest 1]) reported: could not "
       "parse \"latest\" as version"},
      {"a single number",
       {"1"},
       "could not find a highest supported version from versions ([1]) reported: illegal version "
       "string \"1\""},
      {"a major with a zero before it",
       {"01.2"},
       "could not find a highest supported version from versions ([01.2]) reported: illegal "
       "version string \"01.2\""},
      {"a number that no integer holds",
       {"1.99999999999999999999"},
       "could not find a highest supported version from versions ([1.99999999999999999999]) "
       "reported: illegal version string \"1.99999999999999999999\""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto version = HighestCsiVersion(c.versions);
    EXPECT_EQ(version.ok() ? version->ToText() : Message(version.status()), c.want);
  }
}

TEST(DriverVersion, AMissingNumberIsZero) {
  EXPECT_EQ(*DriverVersion::Parse("1.2"), *DriverVersion::Parse("1.2.0"));
  EXPECT_LT(*DriverVersion::Parse("1.2"), *DriverVersion::Parse("1.2.1"));
  EXPECT_GT(*DriverVersion::Parse("1.10.0"), *DriverVersion::Parse("1.9.9"));
}

TEST(CheckDevicePluginVersions, NeedsV1beta1) {
  EXPECT_TRUE(CheckDevicePluginVersions({"v1alpha", "v1beta1"}).ok());
  EXPECT_EQ(Message(CheckDevicePluginVersions({"v1alpha", "v2"})),
            "manager version, v1beta1, is not among plugin supported versions [v1alpha v2]");
}

TEST(ChooseDraService, TakesTheFirstThatThisNodeCalls) {
  EXPECT_EQ(*ChooseDraService({"v1alpha1.DRAResourceHealth", "v1.DRAPlugin", "v1beta1.DRAPlugin"}),
            "v1.DRAPlugin");
  EXPECT_EQ(*ChooseDraService({"v1beta1.DRAPlugin", "v1.DRAPlugin"}), "v1beta1.DRAPlugin");
  EXPECT_EQ(Message(ChooseDraService({}).status()),
            "empty list of supported gRPC services (aka supported versions)");
  EXPECT_EQ(Message(ChooseDraService({"1.0.0", "x"}).status()),
            "none of services supported by the plugin ([\"1.0.0\" \"x\"]) are supported by the "
            "kubelet ([\"v1.DRAPlugin\" \"v1beta1.DRAPlugin\"])");
}

}  // namespace
}  // namespace splitlet::plugins
