#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "libs/base/processes.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

const std::map<std::string, uint32_t> kUsers = {
    {"config-source", 64901}, {"sync-loop", 64902}, {"pleg", 64904}, {"status", 64905}};

class Users : public IntegrationTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can start processes as other users";
    const int reaches =
        harness::RunToEnd({.argv = {"setpriv", "--reuid", "64901", "--clear-groups", "--regid",
                                    "64990", "test", "-x", harness::BinDir() + "/splitlet-pleg"}},
                          20s);
    if (reaches != 0) GTEST_SKIP() << "other users cannot reach " << harness::BinDir();
  }

  void StartAsUsers() {
    StartFakeCri("cri");
    ASSERT_TRUE(WaitFor(kSoon, [this] { return std::filesystem::exists(socket_); }));
    ASSERT_EQ(chmod(runtime_dir_->path().c_str(), 0755), 0);
    ASSERT_EQ(chown(socket_.c_str(), 0, harness::kGroup), 0);
    ASSERT_EQ(chmod(socket_.c_str(), 0660), 0);
    std::string config =
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "fileCheckFrequency: 2s\nsyncFrequency: 10s\nsplitlet:\n  users:\n";
    for (const auto& [process, uid] : kUsers) config += fmt::format("    {}: {}\n", process, uid);
    node_ = std::make_unique<Node>(harness::NodeOptions{
        .runtime_endpoint = "unix://" + socket_, .config = config, .users = kUsers});
    node_->Start();
  }

  /// No process was refused by another one.
  void ExpectNoRefusals() {
    for (const auto& process : ProcessNames()) {
      SCOPED_TRACE(process);
      const std::string log = harness::ReadFile(node_->LogOf(process));
      for (const char* sign : {"refused a connection", "may not call", "belongs to user"})
        EXPECT_EQ(log.find(sign), std::string::npos) << log;
    }
  }
};

TEST_F(Users, APodsWholeLifeWithEachProcessAsAUserOfItsOwn) {
  StartAsUsers();
  for (const auto& [process, uid] : kUsers) {
    struct stat owner {};
    const std::string path = fmt::format("/proc/{}", node_->keeper().PidOf(process));
    ASSERT_EQ(stat(path.c_str(), &owner), 0);
    EXPECT_EQ(owner.st_uid, uid) << process;
  }
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  EXPECT_TRUE(node_->RunGc(false).ok());
  // Polling views makes calls too.
  node_->StopNats();
  node_->PutManifest("more.yaml", PodYaml("more", "sleep 1000"));
  ExpectRunning("more");
  node_->StartNats();
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  ExpectExactly({"web", "more"});
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  ExpectNoRefusals();
}

TEST_F(Users, AProcessThatRunsAsAnotherUserThanItsOwnIsRefusedAtStart) {
  StartNode();
  const auto run =
      node_->RunWithConfig("pleg",
                           "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                           "splitlet: {users: {pleg: 64904}}\n");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.output.find("bad.yaml: splitlet.users[pleg]: user 64904 is set, but this process "
                            "runs as user 0"),
            std::string::npos)
      << run.output;
  EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
}

}  // namespace
}  // namespace splitlet::integration
