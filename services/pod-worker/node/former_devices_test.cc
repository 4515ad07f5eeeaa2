#include "services/pod-worker/node/former_devices.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kCheckpoint = "/kubelet/device-plugins/kubelet_internal_checkpoint";

TEST(FormerDevices, AreTheRegisteredOnesOfTheCheckpoint) {
  using Names = std::vector<std::string>;
  const std::string wrong = std::string(kCheckpoint) + ": ";
  const struct {
    const char *name, *text;
    Names want;
    std::string error;
  } kCases[] = {
      {"registered, none of them given to a pod",
       R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["GPU-1"],)"
       R"("a.b/fpga":[]}},"Checksum":3952659280})",
       {"a.b/fpga", "nvidia.com/gpu"},
       ""},
      {"none",
       R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":null},"Checksum":1})",
       {},
       ""},
      {"no such key", R"({"Data":{}})", {}, ""},
      {"no JSON", "x", {}, wrong + "not a JSON object"},
      {"a list", "[]", {}, wrong + "not a JSON object"},
      {"no data", "{}", {}, wrong + "Data: want an object"},
      {"devices of another kind",
       R"({"Data":{"RegisteredDevices":[1]}})",
       {},
       wrong + "Data.RegisteredDevices: want an object"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    fs::FakeFileSystem files(clock);
    ASSERT_TRUE(files.MakeDirs("/kubelet/device-plugins", 0755).ok());
    ASSERT_TRUE(files.Replace(kCheckpoint, c.text, {}).ok());
    const auto names = ReadFormerDevices(files, "/kubelet");
    EXPECT_EQ(Message(names.status()), c.error);
    if (names.ok()) EXPECT_EQ(*names, c.want);
  }
}

TEST(FormerDevices, AreNoneOnANodeThatNeverHadAPlugin) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  EXPECT_TRUE(ReadFormerDevices(files, "/kubelet")->empty());
}

TEST(FormerDevices, ANameThatIsNoResourceIsNamed) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  ASSERT_TRUE(files.MakeDirs("/kubelet/device-plugins", 0755).ok());
  ASSERT_TRUE(files.Replace(kCheckpoint, R"({"Data":{"RegisteredDevices":{"a b":[]}}})", {}).ok());
  const Status status = ReadFormerDevices(files, "/kubelet").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find("Data.RegisteredDevices: \"a b\": "), std::string::npos) << status;
}

}  // namespace
}  // namespace splitlet::pod_worker
