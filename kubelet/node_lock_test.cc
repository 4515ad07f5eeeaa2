#include "kubelet/node_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "libs/fs/fd.h"
#include "tests/harness/child.h"

namespace splitlet::kubelet {
namespace {

bool IsReadable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

/// Callback that ignores the holder.
StatusOr<NodeLock> Taken(const std::string& path, bool watch) {
  return NodeLock::Take(path, watch, [](const std::string&) {});
}

bool IsFree(const std::string& path) {
  const fs::Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  return flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

TEST(NodeLock, IsHeldUntilItsEnd) {
  const harness::TempDir dir("lock");
  const std::string path = dir / "kubelet.lock";
  {
    const auto lock = Taken(path, false);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(lock->watch(), -1);
    EXPECT_FALSE(IsFree(path));
  }
  EXPECT_TRUE(IsFree(path));
  EXPECT_EQ(access(path.c_str(), F_OK), 0) << "the file stays";
}

/// A process that takes the lock, reports it and stays.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    const auto lock = Taken(path, false);
    if (!lock.ok() || write(ends_[1], "y", 1) != 1) _exit(1);
    while (true) pause();
  }
  ~Holder() {
    End();
    close(ends_[0]);
    close(ends_[1]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  bool Holds(int patience_ms) {
    pollfd taken{ends_[0], POLLIN, 0};
    return poll(&taken, 1, patience_ms) == 1;
  }
  void End() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }
  pid_t pid() const { return pid_; }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = 0;
  bool ended_ = false;
};

constexpr int kSoonMs = 60'000;

TEST(NodeLock, WaitsForWhoHoldsIt) {
  const harness::TempDir dir("lock");
  const std::string path = dir / "kubelet.lock";
  Holder first(path);
  ASSERT_TRUE(first.Holds(kSoonMs));
  Holder second(path);
  EXPECT_FALSE(second.Holds(0));
  EXPECT_FALSE(IsFree(path));
  first.End();
  EXPECT_TRUE(second.Holds(kSoonMs));
}

TEST(NodeLock, WhoOpensOrRemovesTheFileIsSeen) {
  for (const bool removes : {false, true}) {
    const harness::TempDir dir("lock");
    const std::string path = dir / "kubelet.lock";
    auto lock = Taken(path, true);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_FALSE(lock->IsContended()) << "its own opening does not count";
    EXPECT_EQ(chmod(path.c_str(), 0640), 0);
    EXPECT_FALSE(lock->IsContended());
    if (removes)
      std::filesystem::remove(path);
    else
      EXPECT_FALSE(IsFree(path));
    EXPECT_TRUE(IsReadable(lock->watch()));
    EXPECT_TRUE(lock->IsContended());
  }
}

TEST(NodeLock, SaysWhomItWaitsFor) {
  const harness::TempDir dir("lock");
  const std::string path = dir / "kubelet.lock";
  Holder first(path);
  ASSERT_TRUE(first.Holds(kSoonMs));
  std::string holder;
  const auto lock = NodeLock::Take(path, false, [&](const std::string& who) {
    holder = who;
    first.End();
  });
  EXPECT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(holder, fmt::format("process {}", first.pid()));
}

TEST(NodeLock, WhatMayBeAnothersIsNotWaitedFor) {
  const harness::TempDir dir("lock");
  const std::string path = dir / "kubelet.lock", secret = dir / "secret";
  std::ofstream(secret) << "kept";
  std::filesystem::create_symlink(secret, path);
  EXPECT_EQ(Message(Taken(path, false).status()),
            "unable to acquire file lock on " + path + ": Too many levels of symbolic links");
  std::filesystem::remove(path);
  std::filesystem::create_hard_link(secret, path);
  EXPECT_EQ(Message(Taken(path, false).status()),
            "unable to acquire file lock on " + path +
                ": it is not a regular file with one link: remove it");
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(Taken(path, false).ok());
  std::filesystem::remove(path);
  if (geteuid() != 0) return;
  std::ofstream(path) << "";
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(Taken(path, false).status().code(), StatusCode::kFailedPrecondition);
}

TEST(NodeLock, APlaceThatCannotBeIsNamed) {
  const auto lock = Taken("/no/such/folder/lock", false);
  EXPECT_EQ(Message(lock.status()),
            "unable to acquire file lock on /no/such/folder/lock: No such file or directory");
}

}  // namespace
}  // namespace splitlet::kubelet
