#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "services/gc/gc_fixture.h"
#include "services/gc/protect/oom/kernel_log.h"
#include "services/gc/protect/oom/oom_kills.h"

namespace splitlet::gc {
namespace {

using Lines = std::vector<std::string>;

const Lines kSystem = {
    "stress invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, "
    "oom_score_adj=0",
    "CPU: 0 PID: 4711 Comm: stress Not tainted 6.1.0-18-amd64",
    "Tasks state (memory values in pages):",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
    "task_memcg=/kubepods/pod1/c1,task=stress,pid=4711,uid=0",
    "Out of memory: Killed process 4711 (stress) total-vm:7168000kB, anon-rss:6800000kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:13000kB oom_score_adj:0",
};

const Lines kOfALimit = {
    "memhog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=1000",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c2,mems_allowed=0,"
    "oom_memcg=/kubepods/burstable/pod2,task_memcg=/kubepods/burstable/pod2/c2,task=memhog,"
    "pid=99,uid=1000",
    "Memory cgroup out of memory: Killed process 99 (memhog) total-vm:100kB, anon-rss:90kB",
};

std::vector<OomKill> KillsIn(const Lines& lines) {
  OomKills kills;
  std::vector<OomKill> found;
  for (const auto& line : lines)
    if (const auto kill = kills.Add(line)) found.push_back(*kill);
  return found;
}

TEST(OomKills, OfTheSystemAndOfALimit) {
  EXPECT_EQ(KillsIn(kSystem), (std::vector<OomKill>{{"/", "stress", 4711}}));
  EXPECT_EQ(KillsIn(kOfALimit), (std::vector<OomKill>{{"/kubepods/burstable/pod2", "memhog", 99}}));
  Lines both = kSystem;
  both.insert(both.end(), kOfALimit.begin(), kOfALimit.end());
  EXPECT_EQ(KillsIn(both).size(), 2U);
}

TEST(OomKills, WhatIsNoKill) {
  EXPECT_TRUE(KillsIn({"Killed process 1 (init) total-vm:1kB"}).empty())
      << "no process called the OOM killer";
  EXPECT_TRUE(KillsIn({kSystem[0], "Killed process x (init)"}).empty());
  EXPECT_TRUE(KillsIn({kSystem[0], "Killed process 1 init"}).empty());
  EXPECT_TRUE(KillsIn({kSystem[0], "Killed process 1 ("}).empty());
  EXPECT_TRUE(KillsIn({"", "usb 1-1: new device"}).empty());
}

TEST(OomKills, AProcessMayNameItselfAsItLikes) {
  EXPECT_EQ(KillsIn({kSystem[0], "Killed process 7 (a) b (c)) total-vm:1kB"}),
            (std::vector<OomKill>{{"/", "a) b (c)", 7}}));
}

TEST(OomKills, ARecordHasAHeaderAndMoreLines) {
  EXPECT_EQ(TextOf("6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=net\n"),
            "NET: Registered protocol family 10");
  EXPECT_EQ(TextOf("no header"), "");
}

TEST(KernelLog, TellsWhatComesAfterItWasOpened) {
  std::string path = testing::TempDir() + "/kmsg-XXXXXX";
  ::close(::mkstemp(path.data()));
  std::ofstream(path) << "before";
  const auto log = MakeKernelLog(path);
  ASSERT_TRUE(log->ReadNew().ok());
  EXPECT_TRUE(log->ReadNew()->empty());
  std::ofstream(path, std::ios::app) << "after";
  EXPECT_EQ(*log->ReadNew(), Lines{"after"});
  ::unlink(path.c_str());
  EXPECT_FALSE(MakeKernelLog(path)->ReadNew().ok());
}

TEST(OomWatcher, OnlyTheWholeSystemIsAnEventOfTheNode) {
  TestNode node;
  node.Start();
  node.all.Advance(10s);
  for (const auto& line : kOfALimit) node.kernel_log.records.push_back("4,1,1,-;" + line + "\n");
  node.all.Advance(10s);
  EXPECT_EQ(std::ranges::count(node.events.reasons, "SystemOOM"), 0);
  // The lines of a kill may come in two reads.
  for (size_t i = 0; i + 1 < kSystem.size(); ++i)
    node.kernel_log.records.push_back("4,1,1,-;" + kSystem[i] + "\n");
  node.all.Advance(10s);
  node.kernel_log.records.push_back("3,1,1,-;" + kSystem.back() + "\n");
  node.all.Advance(10s);
  ASSERT_EQ(std::ranges::count(node.events.reasons, "SystemOOM"), 1);
  const auto event = std::ranges::find(node.events.all, "SystemOOM", &daemon::PodEvent::reason);
  EXPECT_EQ(event->message, "System OOM encountered, victim process: stress, pid: 4711");
  EXPECT_TRUE(event->about_node);
  EXPECT_TRUE(event->warning);
}

TEST(OomWatcher, ALogThatCannotBeReadIsToldOnceAndTriedAgain) {
  TestNode node;
  node.kernel_log.status = PermissionDenied("no right");
  node.Start();
  node.all.Advance(1min);
  EXPECT_EQ(std::ranges::count_if(node.sink.lines(),
                                  [](const auto& line) {
                                    return line.message.find("kernel log") != std::string::npos;
                                  }),
            1);
  node.kernel_log.status = OkStatus();
  for (const auto& line : kSystem) node.kernel_log.records.push_back("4,1,1,-;" + line);
  node.all.Advance(10s);
  EXPECT_EQ(std::ranges::count(node.events.reasons, "SystemOOM"), 1);
}

}  // namespace
}  // namespace splitlet::gc
