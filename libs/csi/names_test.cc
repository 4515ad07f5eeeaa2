#include "libs/csi/names.h"

#include <gtest/gtest.h>

#include "libs/csi/string_map.h"
#include "libs/csi/vol_data.h"

namespace splitlet::csi {
namespace {

// sha256sum of "vol-1", of "uid-1data", of "vol-1ebs.csi.aws.comnode-1".
constexpr const char* kHashOfVol1 =
    "d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49";
constexpr const char* kHashOfInline =
    "d6e418cffb6079f9b02d83af7dffbf3511ed5a26b3f106f1f3ca764ed6505c9c";
constexpr const char* kHashOfAttachment =
    "58932ddfc9a6504f794af09a26429db947138ba3d683dee3d975aa932cb39f48";

TEST(CsiNames, ADriverNameIsADnsSubdomainThatMayHaveUpperCase) {
  const struct {
    const char* name;
    std::string driver;
    bool valid;
  } kCases[] = {
      {"usual", "ebs.csi.aws.com", true},
      {"upper case", "Disk.CSI.azure.com", true},
      {"63 characters", std::string(63, 'a'), true},
      {"64 characters", std::string(64, 'a'), false},
      {"empty", "", false},
      {"a step up", "..", false},
      {"a slash", "a/b", false},
      {"a blank", "a b", false},
      {"a NUL", std::string("a\0b", 3), false},
      {"begins with a dash", "-a", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(CheckDriverName(c.driver).empty(), c.valid) << CheckDriverName(c.driver);
  }
}

TEST(CsiNames, HandlesAreBoundedText) {
  EXPECT_EQ(CheckHandle("vol-1"), "");
  EXPECT_NE(CheckHandle(""), "");
  EXPECT_NE(CheckHandle(std::string(4097, 'a')), "");
  EXPECT_NE(CheckHandle("\xff"), "");
}

TEST(CsiNames, HashesJoinTheirPartsWithoutSeparator) {
  EXPECT_EQ(EphemeralHandle("uid-1", "data"), std::string("csi-") + kHashOfInline);
  EXPECT_EQ(AttachmentName("vol-1", "ebs.csi.aws.com", "node-1"),
            std::string("csi-") + kHashOfAttachment);
  EXPECT_EQ(UniqueName("ebs.csi.aws.com", "vol-1"), "kubernetes.io/csi/ebs.csi.aws.com^vol-1");
}

TEST(CsiNames, PathsAreAKubelets) {
  const Paths paths("/var/lib/kubelet");
  const std::string plugins = "/var/lib/kubelet/plugins/kubernetes.io/csi/";
  const std::string pod = "/var/lib/kubelet/pods/uid-1/";
  const std::string staging = plugins + "d.example.com/" + kHashOfVol1;
  EXPECT_EQ(paths.StagingDir("d.example.com", "vol-1"), staging);
  EXPECT_EQ(paths.GlobalMount("d.example.com", "vol-1"), staging + "/globalmount");
  EXPECT_EQ(paths.PodVolumeDir("uid-1", "pv-1"), pod + "volumes/kubernetes.io~csi/pv-1");
  EXPECT_EQ(paths.PodMount("uid-1", "pv-1"), pod + "volumes/kubernetes.io~csi/pv-1/mount");
  EXPECT_EQ(paths.BlockDataDir("pv-1"), plugins + "volumeDevices/pv-1/data");
  EXPECT_EQ(paths.BlockStaging("pv-1"), plugins + "volumeDevices/staging/pv-1");
  EXPECT_EQ(paths.BlockPublish("pv-1", "uid-1"), plugins + "volumeDevices/publish/pv-1/uid-1");
  EXPECT_EQ(paths.BlockMapDir("pv-1"), plugins + "volumeDevices/pv-1/dev");
  EXPECT_EQ(paths.PodDevice("uid-1", "pv-1"), pod + "volumeDevices/kubernetes.io~csi/pv-1");
  EXPECT_EQ(paths.PodMount("uid-1", "/subscriptions/a"),
            pod + "volumes/kubernetes.io~csi/~subscriptions~a/mount");
}

VolumeData Whole() {
  return {.driver = "d.example.com",
          .handle = "vol-1",
          .spec = "pv-1",
          .node = "node-1",
          .attachment = "csi-abc",
          .lifecycle = Lifecycle::kEphemeral,
          .se_linux_context = "u:r:t:s0"};
}

TEST(VolumeDataFile, HasTheKeysOfItsPlaceInOrder) {
  const struct {
    DataPlace place;
    const char* want;
  } kCases[] = {
      {DataPlace::kStaging,
       R"({"driverName":"d.example.com","seLinuxMountContext":"u:r:t:s0","volumeHandle":"vol-1"})"},
      {DataPlace::kPod,
       R"({"attachmentID":"csi-abc","driverName":"d.example.com","nodeName":"node-1",)"
       R"("seLinuxMountContext":"u:r:t:s0","specVolID":"pv-1","volumeHandle":"vol-1",)"
       R"("volumeLifecycleMode":"Ephemeral"})"},
      {DataPlace::kBlock,
       R"({"attachmentID":"csi-abc","driverName":"d.example.com","nodeName":"node-1",)"
       R"("specVolID":"pv-1","volumeHandle":"vol-1"})"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.want);
    EXPECT_EQ(WriteVolumeData(Whole(), c.place), std::string(c.want) + "\n");
  }
}

TEST(VolumeDataFile, WithoutContextTheKeyIsAbsentAndSpecialCharactersAreGos) {
  VolumeData data = Whole();
  data.se_linux_context.clear();
  data.handle = "a<b>&\"\n";
  EXPECT_EQ(WriteVolumeData(data, DataPlace::kStaging),
            "{\"driverName\":\"d.example.com\",\"volumeHandle\":"
            "\"a\\u003cb\\u003e\\u0026\\\"\\n\"}\n");
  const auto read =
      ParseVolumeData(WriteVolumeData(data, DataPlace::kStaging), DataPlace::kStaging);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->handle, data.handle);
}

TEST(VolumeDataFile, IsReadBackWhole) {
  const auto read = ParseVolumeData(WriteVolumeData(Whole(), DataPlace::kPod), DataPlace::kPod);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Whole());
}

TEST(VolumeDataFile, AFileThatNamesNoVolumeIsAnError) {
  const struct {
    const char* name;
    const char* json;
    DataPlace place;
    bool valid;
  } kCases[] = {
      {"the least of a staging", R"({"driverName":"d","volumeHandle":"h"})", DataPlace::kStaging,
       true},
      {"unknown keys", R"({"driverName":"d","volumeHandle":"h","new":"x"})", DataPlace::kStaging,
       true},
      {"no lifecycle, of an old kubelet",
       R"({"driverName":"d","volumeHandle":"h","specVolID":"p"})", DataPlace::kPod, true},
      {"another lifecycle",
       R"({"driverName":"d","volumeHandle":"h","specVolID":"p","volumeLifecycleMode":"x"})",
       DataPlace::kPod, false},
      {"no handle", R"({"driverName":"d"})", DataPlace::kStaging, false},
      {"an empty handle", R"({"driverName":"d","volumeHandle":""})", DataPlace::kStaging, false},
      {"no driver", R"({"volumeHandle":"h"})", DataPlace::kStaging, false},
      {"a driver that leaves its directory", R"({"driverName":"../d","volumeHandle":"h"})",
       DataPlace::kStaging, false},
      {"no spec", R"({"driverName":"d","volumeHandle":"h"})", DataPlace::kPod, false},
      {"a number", R"({"driverName":"d","volumeHandle":7})", DataPlace::kStaging, false},
      {"a list", "[]", DataPlace::kStaging, false},
      {"cut off", R"({"driverName":"d","volumeHan)", DataPlace::kStaging, false},
      {"empty", "", DataPlace::kStaging, false},
      {"null", "null", DataPlace::kStaging, false},
      {"a NUL in the handle", R"({"driverName":"d","volumeHandle":"a\u0000"})", DataPlace::kStaging,
       false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto read = ParseVolumeData(c.json, c.place);
    EXPECT_EQ(read.ok(), c.valid) << read.status();
    if (!c.valid) EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(StringMaps, ReadAsGoReadsThem) {
  const auto read = ParseStringMap(" {\"b\":\"2\",\"a\":null,\"b\":\"3\"}\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, (StringMap{{"a", ""}, {"b", "3"}}));
  EXPECT_EQ(ParseStringMap("null")->size(), 0u);
  EXPECT_FALSE(ParseStringMap("{\"a\":{}}").ok());
  EXPECT_FALSE(ParseStringMap("{\"a\":\"" + std::string(64 << 10, 'x') + "\"}").ok());
  EXPECT_EQ(WriteStringMap({}), "{}");
}

}  // namespace
}  // namespace splitlet::csi
