// The leak check at the end of each test finds planted leftovers, on the real runtime.

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <sys/mount.h>

#include <filesystem>

#include "libs/cri/grpc_runtime.h"
#include "tests/e2e/fixture.h"
#include "tests/harness/kubelet_records.h"

namespace splitlet::e2e {
namespace {

class Leaks : public E2eTest {
 protected:
  /// The current findings of the check; empty: none.
  std::string Found() {
    testing::TestPartResultArray results;
    {
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
      ExpectNoLeaks(2s);
    }
    std::string text;
    for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
    return text;
  }
  void Run(const std::string& command) const {
    const std::string output = node_->LogOf("command");
    ASSERT_EQ(
        harness::RunToEnd({.argv = {"bash", "-c", command}, .env = {}, .output = output}, 30s), 0)
        << command << ": " << harness::ReadFile(output);
  }
  /// Network and bridge of this runtime, by the names in its configuration.
  static std::string OfNetwork(const std::string& key) {
    const std::string socket = Endpoint().substr(std::string_view("unix://").size());
    return fmt::format("$(jq -r '.. | .{}? // empty' {}/cni/net.d/10-bridge.conflist | head -n 1)",
                       key, socket.substr(0, socket.rfind('/')));
  }
};

TEST_F(Leaks, OfARunningPodThereAreNoneAtItsEnd) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", kForever));
  ExpectRunning("web");
  const auto while_it_runs = leaks_->Left();
  for (const char* kind : {"sandbox ", "container ", "cgroup ", "link ", "network namespace ",
                           "address ", "iptables rule ", "result of libcni ", "shim ", "task ",
                           "mount ", "pod directory ", "log directory ", "record of pod-worker "})
    EXPECT_TRUE(std::ranges::any_of(while_it_runs,
                                    [&](const auto& each) { return each.starts_with(kind); }))
        << kind << " is not seen:\n"
        << fmt::format("{}", fmt::join(while_it_runs, "\n"));
  ExpectNoLeaks();
}

TEST_F(Leaks, ThatArePlantedAreFound) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", kForever));
  ExpectRunning("web");
  const std::string uid = node_->Pod("web")->uid;
  const std::string place = node_->dir() + "/kubelet/left";
  std::filesystem::create_directory(place);
  ASSERT_EQ(mount("tmpfs", place.c_str(), "tmpfs", 0, "size=4k"), 0);
  std::filesystem::create_directory(node_->dir() + "/pods/nobodys");
  const std::string group = "/sys/fs/cgroup/pids/splitlet-leaks-" + uid;
  std::filesystem::create_directories(group + "/pod" + uid);
  Run("ip link add spltleak0 type veth peer name spltleak1 && ip link set spltleak0 master " +
      OfNetwork("bridge"));
  Run("iptables -w 10 -t nat -N SPLTLEAK && iptables -w 10 -t nat -A SPLTLEAK -m comment "
      "--comment \"name: \\\"" +
      OfNetwork("name") + "\\\" id: \\\"x\\\"\" -j ACCEPT");
  const harness::KubeletPod stranger{.name = "stranger",
                                     .uid = "0f9e8d7c-6b5a-4433-2211-00ffeeddcc00",
                                     .log_root = node_->dir() + "/pods"};
  const auto records = harness::MakeKubeletRecords(*view_, stranger);
  ASSERT_TRUE(records.ok()) << records.status();

  const std::string found = Found();
  for (const auto& want :
       {"mount " + place, std::string("log directory nobodys"), "cgroup " + group + "/pod" + uid,
        std::string("link spltleak0"), std::string("iptables rule -A SPLTLEAK"),
        "sandbox " + records->sandbox.str(), "container " + records->running.str()})
    EXPECT_THAT(found, testing::HasSubstr(want));

  EXPECT_EQ(umount2(place.c_str(), 0), 0);
  std::filesystem::remove(node_->dir() + "/pods/nobodys");
  std::filesystem::remove(group + "/pod" + uid);
  std::filesystem::remove(group);
  Run("ip link delete spltleak0");
  Run("iptables -w 10 -t nat -F SPLTLEAK && iptables -w 10 -t nat -X SPLTLEAK");
  for (const auto& sandbox : view_->Sandboxes())
    EXPECT_TRUE(view_->runtime().RemovePodSandbox(sandbox.id, After(view_->clock(), 30s)).ok());
  std::filesystem::remove_all(stranger.LogDirectory());
}

}  // namespace
}  // namespace splitlet::e2e
