#include "libs/process/programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "libs/fs/real_file_system.h"
#include "tests/harness/child.h"

namespace splitlet::process {
namespace {

using namespace std::chrono_literals;

Program Script(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

class ProgramsTest : public testing::Test {
 protected:
  /// Waits until on_ended has named the owner once more.
  void WaitTold(const std::string& owner) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return owners_.contains(owner); });
    owners_.erase(owners_.find(owner));
  }
  RealPrograms::Options Options() {
    return {.clock = clock_, .mark = mark_, .on_ended = [this](const std::string& owner) {
              const std::lock_guard lock(mutex_);
              owners_.insert(owner);
              told_.notify_all();
            }};
  }
  std::unique_ptr<RealPrograms> Make() { return std::make_unique<RealPrograms>(Options()); }
  /// The state that a process killed during a run leaves behind.
  void LeaveBehind(const ProgramKey& key, const std::string& script) {
    RunMarked(key, script + " >/dev/null 2>&1 &");
  }
  std::string MarkOf(const ProgramKey& key) const {
    return "SPLITLET_PROGRAM=" + mark_ + "\n" + key.owner + "\n" + key.what;
  }
  /// The id of the process.
  std::string LeaveOne(const ProgramKey& key) {
    Program program = Script("sleep 1000 >/dev/null 2>&1 & echo $!");
    program.env["SPLITLET_PROGRAM"] = mark_ + "\n" + key.owner + "\n" + key.what;
    std::string pid = RunProgram(program).value_or("0\n");
    pid.pop_back();
    return pid;
  }
  /// Starts a daemon, which leads a session of its own when this returns.
  void LeaveDaemon(const ProgramKey& key) {
    const std::string there = testing::TempDir() + mark_ + ".leads";
    RunMarked(key, "setsid sh -c 'echo 1 >\"" + there +
                       "\"; sleep 3 & wait' >/dev/null 2>&1 & "
                       "until [ -s \"" +
                       there + "\" ]; do sleep 0.01; done; rm \"" + there + "\"");
  }

 private:
  void RunMarked(const ProgramKey& key, const std::string& script) {
    Program program = Script(script);
    program.env["SPLITLET_PROGRAM"] = mark_ + "\n" + key.owner + "\n" + key.what;
    ASSERT_TRUE(RunProgram(program).ok());
  }

 protected:
  /// Marks the programs of this test, because programs of the previous test may still be ending.
  const std::string mark_ =
      std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name();
  const RealClock clock_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::multiset<std::string> owners_;
};

TEST_F(ProgramsTest, GivesWhatItPrintedOnceItsOwnerIsTold) {
  const auto programs = Make();
  const ProgramKey key{"a", "greet"};
  EXPECT_EQ(programs->Run(key, Script("read line; echo $line")), std::nullopt)
      << "its input has ended: it goes on";
  WaitTold("a");
  EXPECT_TRUE(programs->Knows(key));
  const auto given = programs->Run(key, Script("exit 7"));
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->value_or("failed"), "\n");
  EXPECT_FALSE(programs->Knows(key)) << "it was given once";
  EXPECT_EQ(programs->Run(key, Script("echo why >&2; exit 7")), std::nullopt);
  WaitTold("a");
  EXPECT_EQ(Message(programs->Run(key, Script(""))->status()), "sh: exit code 7: why");
  EXPECT_EQ(programs->Run(key, {.argv = {"/does/not/exist"}})->status().code(),
            StatusCode::kNotFound);
}

TEST_F(ProgramsTest, OneThatHangsHoldsUpNoOther) {
  const auto programs = Make();
  Program hangs = Script("exec sleep 1000");
  hangs.limit = 5min;
  for (const char* owner : {"a", "b", "c"})
    EXPECT_EQ(programs->Run({owner, "hang"}, hangs), std::nullopt);
  EXPECT_EQ(programs->Run({"d", "go"}, Script("echo done")), std::nullopt);
  WaitTold("d");
  EXPECT_EQ(programs->Run({"d", "go"}, hangs)->value_or(""), "done\n");
  EXPECT_EQ(programs->Run({"a", "hang"}, hangs), std::nullopt);
}

TEST_F(ProgramsTest, OneThatDoesNotEndInTimeIsKilled) {
  const auto programs = Make();
  Program hangs = Script("exec sleep 1000");
  hangs.limit = 100ms;
  const ProgramKey key{"a", "hang"};
  EXPECT_EQ(programs->Run(key, hangs), std::nullopt);
  WaitTold("a");
  const auto given = programs->Run(key, hangs);
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Message(given->status()), "sh: still running after 1 s");
  WaitTold("a");
  EXPECT_FALSE(programs->Knows(key)) << "it is gone";
}

TEST_F(ProgramsTest, OneThatIsForgottenIsKilledAndTold) {
  const auto programs = Make();
  Program hangs = Script("exec sleep 1000");
  hangs.limit = 5min;
  const ProgramKey key{"a", "hang"};
  EXPECT_TRUE(programs->Forget(key)) << "there is none";
  EXPECT_EQ(programs->Run(key, hangs), std::nullopt);
  EXPECT_FALSE(programs->Forget(key)) << "it is not gone yet";
  WaitTold("a");
  EXPECT_FALSE(programs->Knows(key));
  EXPECT_TRUE(programs->Forget(key));
}

TEST_F(ProgramsTest, OneThatAnEarlierProcessLeftIsGoneOnWith) {
  const ProgramKey key{"a", "hang /some where"}, late{"b", "late"};
  LeaveBehind(key, "sleep 1000");
  LeaveBehind(late, "sleep 1000");
  LeaveDaemon({"c", "daemon"});
  const auto programs = Make();
  EXPECT_TRUE(programs->Knows(key));
  EXPECT_FALSE(programs->Knows({"c", "daemon"})) << "a daemon is no program of an owner";
  EXPECT_EQ(programs->Run(key, Script("exit 1")), std::nullopt) << "no second one is begun";
  EXPECT_FALSE(programs->Forget(key));
  WaitTold("a");
  EXPECT_FALSE(programs->Knows(key));
  Program soon = Script("exit 1");
  soon.limit = 50ms;
  EXPECT_EQ(programs->Run(late, soon), std::nullopt);
  WaitTold("b");
  EXPECT_EQ(programs->Run(late, soon)->status().code(), StatusCode::kDeadlineExceeded);
  WaitTold("b");
  EXPECT_FALSE(programs->Knows(late));
}

TEST_F(ProgramsTest, OneThatAnEarlierProcessLeftEndsNobodyKnowsHow) {
  const ProgramKey key{"a", "short"};
  LeaveBehind(key, "sleep 0.3");
  const auto programs = Make();
  if (!programs->Knows(key)) GTEST_SKIP() << "it has ended already";
  WaitTold("a");
  EXPECT_EQ(programs->Run(key, Script(""))->status().code(), StatusCode::kAborted);
}

TEST_F(ProgramsTest, OfAnotherMarkAreLeftAlone) {
  const ProgramKey key{"a", "hang"};
  LeaveBehind(key, "sleep 1000");
  const RealPrograms other({clock_, mark_ + "-other", [](const std::string&) {}});
  EXPECT_FALSE(other.Knows(key));
  const auto programs = Make();
  EXPECT_FALSE(programs->Forget(key));
  WaitTold("a");
}

/// A /proc whose contents a test sets.
class FakeProc {
 public:
  FakeProc() { Put("self", "pid:[1]"); }
  void Put(const std::string& pid, const std::string& name_space,
           const std::string& environment = {}) {
    namespace stdfs = std::filesystem;
    const stdfs::path process = dir_ / pid;
    stdfs::create_directories(process / "ns");
    stdfs::create_symlink(name_space, process / "ns/pid");
    Write(pid, "environ", environment);
  }
  void Write(const std::string& pid, const std::string& name, const std::string& text) {
    std::ofstream(dir_ / (pid + "/" + name)) << text;
  }
  const std::string& path() const { return dir_.path(); }

 private:
  harness::TempDir dir_;
};

size_t OpenDescriptors() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(ProgramsTest, AMarkCountsInAProcessThatIsNoPodsAndOfThisUserOnly) {
  const std::string pid = LeaveOne({"a", "x"});
  const std::string self = std::to_string(getpid());
  const char *const unit = "0::/system.slice/a.service\n", *const pod = "0::/kubepods/podu/c\n";
  const struct {
    const char *name, *name_space, *cgroup, *own_cgroup;
    uid_t user;
    bool known;
  } kCases[] = {
      {"one of ours", "pid:[1]", unit, unit, geteuid(), true},
      {"of a container", "pid:[2]", unit, unit, geteuid(), false},
      {"of a pod with hostPID", "pid:[1]", pod, unit, geteuid(), false},
      {"of ours, who are in a pod", "pid:[1]", pod, pod, geteuid(), true},
      {"of another user", "pid:[1]", unit, unit, geteuid() + 1, false},
  };
  for (const auto& c : kCases) {
    if (c.user != geteuid() && geteuid() != 0) continue;  // only root can create it
    FakeProc proc;
    proc.Put(self, "pid:[1]");
    proc.Write(self, "cgroup", c.own_cgroup);
    proc.Put(pid, c.name_space, MarkOf({"a", "x"}));
    proc.Write(pid, "cgroup", c.cgroup);
    EXPECT_EQ(chown((proc.path() + "/" + pid).c_str(), c.user, getegid()), 0);
    auto options = Options();
    options.proc = proc.path();
    EXPECT_EQ(RealPrograms(options).Knows({"a", "x"}), c.known) << c.name;
  }
  kill(std::stoi(pid), SIGKILL);
}

TEST_F(ProgramsTest, MarksOfStrangersTakeNoDescriptors) {
  FakeProc proc;
  std::vector<std::string> pids;
  for (const char* what : {"1", "2", "3"}) {
    pids.push_back(LeaveOne({"a", what}));
    proc.Put(pids.back(), "pid:[1]", MarkOf({"a", what}));
  }
  proc.Put("stranger", "pid:[2]", MarkOf({"a", "x"}));
  for (int i = 0; i < 1100; ++i)  // larger than any process id
    std::filesystem::create_symlink("stranger", proc.path() + "/" + std::to_string(10'000'000 + i));
  auto options = Options();
  options.proc = proc.path();
  options.most_left = 2;
  const size_t before = OpenDescriptors();
  const RealPrograms programs(options);
  EXPECT_LE(OpenDescriptors(), before + options.most_left + 1) << "and one to wake the watcher by";
  size_t known = 0;
  for (const char* what : {"1", "2", "3"}) known += programs.Knows({"a", what});
  EXPECT_EQ(known, 2u);
  EXPECT_FALSE(programs.Knows({"a", "x"}));
  for (const auto& pid : pids) kill(std::stoi(pid), SIGKILL);
}

TEST(ProgramMarkTest, IsKeptWithTheStateAndHardToGuess) {
  fs::RealFileSystem files;
  const harness::TempDir one, two;
  const auto mark = MakeProgramMark(files, one.path());
  EXPECT_TRUE(mark.kept.ok()) << mark.kept;
  EXPECT_TRUE(mark.text.starts_with(one.path() + " ")) << mark.text;
  EXPECT_GE(mark.text.size(), one.path().size() + 32);
  EXPECT_EQ(MakeProgramMark(files, one.path()).text, mark.text);
  EXPECT_NE(MakeProgramMark(files, two.path()).text.substr(two.path().size()),
            mark.text.substr(one.path().size()));
  struct stat info {};
  ASSERT_EQ(stat((one / "program-mark").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(ProgramMarkTest, OneThatCannotBeKeptOrIsNoneIsMadeAnew) {
  fs::RealFileSystem files;
  const harness::TempDir dir;
  ASSERT_TRUE(files.Replace(dir / "program-mark", "two\nlines", {}).ok());
  const auto mark = MakeProgramMark(files, dir.path());
  EXPECT_TRUE(mark.kept.ok()) << mark.kept;
  EXPECT_EQ(mark.text.find('\n'), std::string::npos);
  const auto lost = MakeProgramMark(files, "/proc/no/such/folder");
  EXPECT_FALSE(lost.kept.ok());
  EXPECT_GE(lost.text.size(), 32u);
}

}  // namespace
}  // namespace splitlet::process
