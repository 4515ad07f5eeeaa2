#include "libs/daemon/access.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

#include "splitlet/v1/checkpoints.pb.h"
#include "splitlet/v1/services.pb.h"
#include "splitlet/v1/stats.pb.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::daemon {
namespace {

const Access::Users kUsers = {{"config-source", 901}, {"sync-loop", 902}, {"pod-worker", 903},
                              {"pleg", 904},          {"status", 905},    {"gc", 906},
                              {"node-api", 907},      {"ctl", 908}};

std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const auto* file :
       {v1::ListRequest::descriptor()->file(), v1::OpenStreamRequest::descriptor()->file(),
        v1::NodeStatsRequest::descriptor()->file(), v1::CheckpointRequest::descriptor()->file()})
    for (int s = 0; s < file->service_count(); ++s)
      for (int m = 0; m < file->service(s)->method_count(); ++m)
        methods.push_back(file->service(s)->full_name() + "/" +
                          file->service(s)->method(m)->name());
  return methods;
}

Access At(const std::string& process) { return {process, kUsers, kUsers.at(process)}; }

/// "gc -> pod-worker: PodWorker/KillPod", without those of `ctl`.
std::set<std::string> AllRights() {
  std::set<std::string> rights;
  for (const auto& [callee, own] : kUsers)
    for (const auto& [caller, uid] : kUsers)
      for (const std::string& method : AllMethods())
        if (callee != "ctl" && caller != "ctl" && At(callee).MayCall(method, uid))
          rights.insert(caller + " -> " + callee + ": " +
                        method.substr(std::string("splitlet.v1.").size()));
  return rights;
}

TEST(Access, EachProcessMayCallWhatTheDesignSaysAndNoMore) {
  std::set<std::string> want = {
      "config-source -> pod-worker: Tables/List",
      "sync-loop -> config-source: Tables/List",
      "sync-loop -> config-source: ConfigSource/GetPod",
      "sync-loop -> pleg: Tables/List",
      "sync-loop -> pod-worker: Tables/List",
      "sync-loop -> pod-worker: PodWorker/UpdatePod",
      "sync-loop -> pod-worker: PodWorker/KillPod",
      "sync-loop -> gc: Tables/List",
      "sync-loop -> status: Tables/List",
      "pod-worker -> config-source: Tables/List",
      "pod-worker -> config-source: ConfigSource/GetPod",
      "pod-worker -> status: Tables/List",
      "status -> config-source: Tables/List",
      "status -> config-source: ConfigSource/GetPod",
      "status -> sync-loop: Tables/List",
      "status -> pod-worker: Tables/List",
      "status -> pod-worker: PodWorker/ListWorkers",
      "status -> pleg: Tables/List",
      "status -> pleg: Pleg/GetPodStatus",
      "status -> pleg: Pleg/GetHealth",
      "status -> gc: Tables/List",
      "gc -> config-source: Tables/List",
      "gc -> config-source: ConfigSource/GetPod",
      "gc -> pod-worker: Tables/List",
      "gc -> pod-worker: PodWorker/KillPod",
      "gc -> pod-worker: PodWorker/HoldForRemoval",
      "gc -> pod-worker: PodWorker/ReleaseHold",
      "gc -> pod-worker: PodWorker/TakeDownVolumes",
      "gc -> pleg: Tables/List",
      "node-api -> config-source: Tables/List",
      "node-api -> status: Tables/List",
      "node-api -> pleg: Tables/List",
      "node-api -> pod-worker: PodStreams/OpenStream",
      "node-api -> pod-worker: PodStreams/RunCommand",
      "node-api -> pod-worker: PodCheckpoints/Checkpoint",
      "node-api -> gc: NodeStats/GetNodeStats",
  };
  for (const auto& [process, uid] : kUsers) {
    if (process == "ctl") continue;
    want.insert("status -> " + process + ": Admin/GetProcess");
    want.insert("node-api -> " + process + ": Admin/GetProcess");
    want.insert("node-api -> " + process + ": Admin/SetLogLevel");
    want.insert(process + " -> status: Status/RecordEvent");
  }
  EXPECT_EQ(AllRights(), want);
}

TEST(Access, RootMayCallEverythingAndTheUserOfSplitletctlAllButOne) {
  const std::string for_root = "splitlet.v1.Admin/DiscardRecord";
  for (const std::string& method : AllMethods()) {
    EXPECT_TRUE(At("gc").MayCall(method, 0)) << method;
    EXPECT_EQ(At("gc").MayCall(method, 908), method != for_root) << method;
  }
}

TEST(Access, StrangersMayNotEvenConnect) {
  EXPECT_EQ(At("pod-worker").Callers(), (std::vector<uint32_t>{0, 901, 902, 905, 906, 907, 908}));
  EXPECT_EQ(At("node-api").Callers(), (std::vector<uint32_t>{0, 905, 907, 908}));
  for (const std::string& method : AllMethods())
    EXPECT_FALSE(At("status").MayCall(method, 1000)) << method;
}

TEST(Access, OneUserHasTheRightsOfAllItsProcesses) {
  const Access access("pod-worker", {{"sync-loop", 7}, {"gc", 7}}, 0);
  EXPECT_TRUE(access.MayCall("splitlet.v1.PodWorker/UpdatePod", 7));
  EXPECT_TRUE(access.MayCall("splitlet.v1.PodWorker/HoldForRemoval", 7));
  EXPECT_FALSE(access.MayCall("splitlet.v1.Admin/SetFault", 7));
  EXPECT_FALSE(access.MayCall("splitlet.v1.", 7)) << "no method is not any method";
}

TEST(Access, WithoutTheSettingOnlyTheOwnUserAndRootGetIn) {
  const Access access("pleg", {}, 1000);
  EXPECT_EQ(access.Callers(), (std::vector<uint32_t>{0, 1000}));
  EXPECT_TRUE(access.MayCall("splitlet.v1.Admin/SetFault", 1000));
  EXPECT_FALSE(access.MayCall("splitlet.v1.Admin/GetProcess", 1001));
  EXPECT_EQ(access.UserOf("gc"), std::nullopt);
  EXPECT_TRUE(access.Check().ok());
}

TEST(Access, AProcessThatIsNotNamedRunsAsRoot) {
  const Access access("gc", {{"pleg", 904}}, 0);
  EXPECT_TRUE(access.Check().ok());
  EXPECT_EQ(access.UserOf("pod-worker"), 0u);
  EXPECT_EQ(access.UserOf("pleg"), 904u);
  EXPECT_EQ(Message(Access("gc", {{"pleg", 904}}, 906).Check()),
            "splitlet.users[gc]: user 0 is set, but this process runs as user 906");
}

}  // namespace
}  // namespace splitlet::daemon
