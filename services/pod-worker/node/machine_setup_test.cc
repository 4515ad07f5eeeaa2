#include "services/pod-worker/node/machine_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libs/daemon/fake_event_recorder.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"
#include "services/pod-worker/node/swap.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Files of /proc/sys.
class FakeSysctls {
 public:
  explicit FakeSysctls(const Clock& clock) : files(clock) {
    for (const char* name : {"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic",
                             "kernel/panic_on_oops", "kernel/keys/root_maxkeys"})
      Set("/proc/sys/" + std::string(name), "0");
    Set("/proc/sys/kernel/keys/root_maxbytes", "25000000");
  }
  fs::InPlaceWriter Writer() {
    return [this](const std::string& path, std::string_view value) -> Status {
      if (read_only) return ErrnoStatus(EROFS);
      Set(path, value);
      written.push_back(fmt::format("{}={}", path, value));
      return OkStatus();
    };
  }

  fs::FakeFileSystem files;
  std::vector<std::string> written;
  bool read_only = false;

 private:
  void Set(const std::string& path, std::string_view value) {
    CHECK(files.Replace(path, std::string(value) + "\n", {}).ok(), "{}", path);
  }
};

/// The tables of a machine as iptables knows them: "filter" -> chain -> its rules.
class FakeTables {
 public:
  FakeTables() { tables_["filter"] = {{"INPUT", {"-j other"}}, {"OUTPUT", {}}}; }

  StatusOr<std::string> Run(const process::Program& program) {
    ++calls;
    if (!installed.contains(program.argv[0])) return ErrnoStatus(ENOENT);
    const std::string &table = program.argv[4], &verb = program.argv[5], &chain = program.argv[6];
    if (!broken.empty() && verb == "-N") return Unavailable("exit code 4: {}", broken);
    std::string rule;
    for (size_t i = 7; i < program.argv.size(); ++i)
      rule += (rule.empty() ? "" : " ") + program.argv[i];
    auto& chains = tables_[table];
    if (verb == "-N") {
      chains[chain];
    } else if (!chains.contains(chain)) {
      return Unavailable("exit code 1: no chain by that name");
    } else if (verb == "-C") {
      const auto& rules = chains[chain];
      if (std::ranges::find(rules, rule) == rules.end())
        return Unavailable("exit code 1: bad rule");
    } else if (verb == "-A") {
      chains[chain].push_back(rule);
    } else if (verb == "-I") {
      chains[chain].insert(chains[chain].begin(), rule);
    }
    return std::string();
  }
  void Empty() {
    tables_.clear();
    tables_["filter"] = {{"INPUT", {}}, {"OUTPUT", {}}};
  }
  const std::vector<std::string>& Rules(const std::string& table, const std::string& chain) {
    return tables_.at(table).at(chain);
  }
  bool Has(const std::string& table, const std::string& chain) {
    return tables_[table].contains(chain);
  }

  std::set<std::string> installed = {"iptables"};
  std::string broken;  // why no chain can be made
  int calls = 0;

 private:
  std::map<std::string, std::map<std::string, std::vector<std::string>>> tables_;
};

class MachineSetupTest : public testing::Test {
 protected:
  void Start(MachineSettings settings) {
    setup_ = std::make_unique<MachineSetup>(
        MachineSetup::Deps{loop_, strands_, sysctls_.files, sysctls_.Writer(), mounts_,
                           [this](const process::Program& program) { return tables_.Run(program); },
                           events_, Log(sink_), "node-a", "/kubelet"},
        settings);
    setup_->Start();
    loop_.RunUntilIdle();
  }
  size_t Lines(const std::string& message) const {
    const auto lines = sink_.lines();
    return static_cast<size_t>(std::ranges::count(lines, message, &FakeLogSink::Line::message));
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  FakeSysctls sysctls_{clock_};
  fs::FakeMounts mounts_{sysctls_.files};
  FakeTables tables_;
  daemon::FakeEventRecorder events_;
  FakeLogSink sink_;
  std::unique_ptr<MachineSetup> setup_;
};

TEST_F(MachineSetupTest, NothingIsTouchedUnlessItIsAskedFor) {
  Start({});
  loop_.Advance(5min);
  EXPECT_TRUE(sysctls_.written.empty());
  EXPECT_EQ(tables_.calls, 0);
}

TEST_F(MachineSetupTest, WhatIsOtherwiseIsSet) {
  Start({.sysctls = true});
  EXPECT_THAT(sysctls_.written,
              ElementsAre("/proc/sys/vm/overcommit_memory=1", "/proc/sys/kernel/panic=10",
                          "/proc/sys/kernel/panic_on_oops=1",
                          "/proc/sys/kernel/keys/root_maxkeys=1000000"));
  EXPECT_EQ(events_.Count("KernelSettingsFailed"), 0u);
}

TEST_F(MachineSetupTest, WhatCannotBeSetIsToldOnce) {
  sysctls_.read_only = true;
  ASSERT_TRUE(sysctls_.files.Remove("/proc/sys/vm/panic_on_oom").ok());
  Start({.sysctls = true});
  ASSERT_EQ(events_.events().size(), 1u);
  const auto event = events_.events()[0];
  EXPECT_TRUE(event.about_node && event.warning);
  EXPECT_EQ(event.name, "node-a");
  EXPECT_THAT(event.message, HasSubstr("/proc/sys/vm/overcommit_memory: "));
  EXPECT_THAT(event.message, HasSubstr("/proc/sys/vm/panic_on_oom: "));
  EXPECT_EQ(Lines("cannot set kernel parameters, starting without them"), 1u);
}

TEST_F(MachineSetupTest, WhatPodsDoNotGetOfTheResolverFileIsTold) {
  const struct {
    const char *name, *file, *want;  // nullptr: no file; no event
  } kCases[] = {
      {"all is given", "nameserver 10.0.0.1\nsearch a b\n", nullptr},
      {"too many domains",
       "search a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7\n",
       "Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 29 "
       "domains!"},
      {"it is no such file", "nameserver\n", "/etc/resolv.conf: nameserver list is empty"},
      {"it is not there", nullptr, "read /etc/resolv.conf: "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeSysctls machine{clock_};
    daemon::FakeEventRecorder events;
    if (c.file != nullptr) {
      ASSERT_TRUE(machine.files.Replace("/etc/resolv.conf", c.file, {}).ok());
    }
    MachineSetup setup({loop_, strands_, machine.files, machine.Writer(), mounts_,
                        [this](const process::Program& program) { return tables_.Run(program); },
                        events, Log(sink_), "node-a", "/kubelet"},
                       {.resolver_config = "/etc/resolv.conf", .cluster_domain = true});
    setup.Start();
    loop_.RunUntilIdle();
    ASSERT_EQ(events.events().size(), c.want == nullptr ? 0u : 1u);
    if (c.want == nullptr) continue;
    EXPECT_TRUE(events.events()[0].about_node && events.events()[0].warning);
    EXPECT_EQ(events.events()[0].reason, "CheckLimitsForResolvConf");
    EXPECT_THAT(events.events()[0].message, HasSubstr(c.want));
  }
}

TEST_F(MachineSetupTest, ProtectedSettingsAreOnlyLookedAt) {
  const Status status = EnsureSysctls(sysctls_.files, sysctls_.Writer(), SysctlRule::kCheck);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("/proc/sys/kernel/panic: want 10, not 0"));
  EXPECT_TRUE(sysctls_.written.empty());
  ASSERT_TRUE(EnsureSysctls(sysctls_.files, sysctls_.Writer(), SysctlRule::kSet).ok());
  EXPECT_TRUE(EnsureSysctls(sysctls_.files, sysctls_.Writer(), SysctlRule::kCheck).ok());
}

TEST_F(MachineSetupTest, WhetherVolumesInMemoryMayComeToADiskIsTold) {
  const struct {
    const char *name, *release, *uid_map;
    bool mounts, swap_on;
    int told;
  } kCases[] = {
      {"without swap nothing is tried", "5.10.0", "0 0 4294967295\n", false, false, 0},
      {"a kernel that keeps it off", "6.4.0-1-amd64\n", "0 0 4294967295\n", false, true, 0},
      {"a later one", "7.0.1", "0 0 4294967295\n", false, true, 0},
      {"an older one that takes the option", "6.1.0-28-amd64", "0 0 4294967295\n", true, true, 0},
      {"one that does not", "6.1.0-28-amd64", "0 0 4294967295\n", false, true, 1},
      {"in a user namespace", "6.12.0", "0 100000 65536\n", true, true, 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const size_t before = events_.Count("PossibleMemoryBackedVolumesOnDisk");
    ASSERT_TRUE(sysctls_.files.Replace("/proc/sys/kernel/osrelease", c.release, {}).ok());
    ASSERT_TRUE(sysctls_.files.Replace("/proc/self/uid_map", c.uid_map, {}).ok());
    mounts_.FailMount(c.mounts ? OkStatus() : InvalidArgument("Invalid argument"));
    Start({.swap_on = c.swap_on});
    EXPECT_EQ(events_.Count("PossibleMemoryBackedVolumesOnDisk") - before,
              static_cast<size_t>(c.told));
    EXPECT_TRUE(mounts_.mounted().empty());
    EXPECT_FALSE(sysctls_.files.Stat("/kubelet/tmpfs-noswap-test", false).ok());
  }
}

TEST_F(MachineSetupTest, ChainsAreMadeOnceAndAgainWhenSomebodyEmptiesTheTables) {
  Start({.chains = true});
  EXPECT_TRUE(tables_.Has("mangle", "KUBE-IPTABLES-HINT"));
  for (const char* table : {"mangle", "nat", "filter"})
    EXPECT_TRUE(tables_.Has(table, "KUBE-KUBELET-CANARY")) << table;
  EXPECT_THAT(tables_.Rules("filter", "INPUT"), ElementsAre("-j KUBE-FIREWALL", "-j other"));
  EXPECT_THAT(tables_.Rules("filter", "OUTPUT"), ElementsAre("-j KUBE-FIREWALL"));
  EXPECT_THAT(tables_.Rules("filter", "KUBE-FIREWALL"),
              ElementsAre("-m comment --comment block incoming localnet connections -d 127.0.0.0/8 "
                          "! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j "
                          "DROP"));
  EXPECT_EQ(Lines("no iptables on this machine"), 1u) << "of IPv6";
  const int calls = tables_.calls;
  loop_.Advance(1min);
  EXPECT_EQ(tables_.calls, calls + 3) << "a look at each canary, and IPv6 is not tried again";
  tables_.Empty();
  loop_.Advance(1min);
  EXPECT_THAT(tables_.Rules("filter", "INPUT"), ElementsAre("-j KUBE-FIREWALL"));
  EXPECT_TRUE(tables_.Has("nat", "KUBE-KUBELET-CANARY"));
}

TEST_F(MachineSetupTest, AStartThatWasCutShortIsFinished) {
  const auto run = [this](const process::Program& program) { return tables_.Run(program); };
  Firewall firewall(run, Firewall::Family::kIpv4);
  for (const char* chain : {"KUBE-FIREWALL", "KUBE-KUBELET-CANARY"})
    ASSERT_TRUE(tables_.Run({.argv = {"iptables", "-w", "5", "-t", "filter", "-N", chain}}).ok());
  Start({.chains = true});
  EXPECT_THAT(tables_.Rules("filter", "OUTPUT"), ElementsAre("-j KUBE-FIREWALL"));
  EXPECT_EQ(tables_.Rules("filter", "KUBE-FIREWALL").size(), 1u);
  EXPECT_FALSE(firewall.WasEmptied().value_or(true));
}

TEST_F(MachineSetupTest, ChainsThatCannotBeMadeAreTriedAgain) {
  tables_.broken = "Permission denied";
  Start({.chains = true});
  loop_.Advance(1min);
  EXPECT_EQ(Lines("cannot make iptables chains"), 1u) << "while the reason is the same";
  tables_.broken.clear();
  loop_.Advance(1min);
  EXPECT_EQ(Lines("iptables chains ready"), 1u);
  EXPECT_TRUE(tables_.Has("mangle", "KUBE-IPTABLES-HINT"));
}

TEST(Swap, OfTheMachine) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  EXPECT_EQ(ReadSwapBytes(files).value_or(-1), 0) << "no file, no swap";
  ASSERT_TRUE(files.MakeDirs("/proc", 0755).ok());
  const std::string head = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
  ASSERT_TRUE(files.Replace("/proc/swaps", head, {.mode = 0444}).ok());
  EXPECT_EQ(ReadSwapBytes(files).value_or(-1), 0);
  ASSERT_TRUE(files
                  .Replace("/proc/swaps",
                           head + "/dev/sda2 partition\t1024\t0\t-2\n/a\\040b file\t2\t0\t-3\n",
                           {.mode = 0444})
                  .ok());
  EXPECT_EQ(ReadSwapBytes(files).value_or(-1), 1026 * 1024);
}

TEST(Swap, KeepsANodeFromStarting) {
  EXPECT_TRUE(CheckSwap({.fail_on_swap = true}, 0).ok());
  EXPECT_TRUE(CheckSwap({.fail_on_swap = false}, 1).ok());
  EXPECT_THAT(Message(CheckSwap({.fail_on_swap = true}, 1)),
              HasSubstr("please disable swap or set --fail-swap-on flag to false"));
  EXPECT_TRUE(CheckSwap({.behavior = "LimitedSwap", .cgroup_v2 = true}, 1).ok());
  EXPECT_EQ(Message(CheckSwap({.behavior = "LimitedSwap"}, 1)),
            "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2");
}

}  // namespace
}  // namespace splitlet::pod_worker
