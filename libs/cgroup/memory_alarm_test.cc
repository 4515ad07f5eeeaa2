#include "libs/cgroup/memory_alarm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <semaphore>
#include <string>

#include "libs/cgroup/layout.h"

namespace splitlet::cgroup {
namespace {

using namespace std::chrono_literals;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The alarm writes to plain files, which show the kernel's input.
class Told : public testing::Test {
 protected:
  Told() {
    std::string path = testing::TempDir() + "/alarm-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
    SetUsage(5000);
    std::ofstream(directory_ + "/cgroup.event_control").flush();
  }
  ~Told() override { std::filesystem::remove_all(directory_); }
  void SetUsage(uint64_t bytes) {
    std::ofstream(directory_ + "/memory.usage_in_bytes") << bytes << "\n";
  }
  /// "<event> <file> <bytes>"
  std::array<uint64_t, 3> Order() {
    std::ifstream in(directory_ + "/cgroup.event_control");
    std::array<uint64_t, 3> order{};
    in >> order[0] >> order[1] >> order[2];
    return order;
  }
  /// As the kernel does when usage reaches the line.
  void Reach(uint64_t event) {
    const uint64_t one = 1;
    ASSERT_EQ(::write(static_cast<int>(event), &one, sizeof(one)), ssize_t{sizeof(one)});
  }

  std::string directory_;
  std::counting_semaphore<> rings_{0};
  const std::function<void()> ring_ = [this] { rings_.release(); };
  std::unique_ptr<MemoryAlarm> alarm_ = MakeMemoryAlarm();
};

TEST_F(Told, TheLineInWholePagesAndRingsOnce) {
  ASSERT_TRUE(alarm_->Set({{directory_, 9000}}, ring_).ok());
  const auto order = Order();
  EXPECT_EQ(order[2] % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)), 0u);
  EXPECT_GE(order[2], 9000u);
  EXPECT_FALSE(rings_.try_acquire());
  Reach(order[0]);
  rings_.acquire();
  alarm_.reset();
  EXPECT_FALSE(rings_.try_acquire());
}

TEST_F(Told, AtOnceWhenItIsReachedAlready) {
  SetUsage(1 << 20);
  ASSERT_TRUE(alarm_->Set({{directory_, 9000}}, ring_).ok());
  EXPECT_TRUE(rings_.try_acquire());
}

TEST_F(Told, NothingMoreOfWhatWasSetBefore) {
  ASSERT_TRUE(alarm_->Set({{directory_, 9000}}, [] { ADD_FAILURE() << "it is replaced"; }).ok());
  ASSERT_TRUE(alarm_->Set({{directory_, 20000}}, ring_).ok());
  Reach(Order()[0]);
  rings_.acquire();
  ASSERT_TRUE(alarm_->Set({{directory_, 9000}}, [] { ADD_FAILURE() << "it is taken back"; }).ok());
  ASSERT_TRUE(alarm_->Set({}, ring_).ok());
  EXPECT_FALSE(rings_.try_acquire());
}

TEST_F(Told, WhyItCannot) {
  const Status none = alarm_->Set({{directory_ + "/none", 9000}}, ring_);
  EXPECT_EQ(none.code(), StatusCode::kNotFound) << none;
  std::filesystem::remove(directory_ + "/cgroup.event_control");
  const Status v2 = alarm_->Set({{directory_, 9000}}, ring_);
  EXPECT_THAT(Message(v2), testing::HasSubstr("cgroup.event_control")) << v2;
  EXPECT_FALSE(rings_.try_acquire());
}

/// A cgroup of the kernel, with one process that allocates memory on demand.
class InKernel : public testing::Test {
 protected:
  static constexpr size_t kTaken = 16 << 20;

  void SetUp() override {
    const auto layout = ParseLayout(ReadAll("/proc/self/mountinfo"));
    if (!layout.ok() || layout->version != Version::kV1) GTEST_SKIP() << "needs version 1";
    if (::access((layout->mounts.at("memory") + "/cgroup.event_control").c_str(), W_OK) != 0)
      GTEST_SKIP() << "needs root";
    directory_ = fmt::format("{}/splitlet-alarm-{}", layout->mounts.at("memory"), ::getpid());
    ASSERT_TRUE(std::filesystem::create_directory(directory_));
    ASSERT_EQ(::pipe(go_.data()), 0);
    ASSERT_EQ(::pipe(told_.data()), 0);
    child_ = ::fork();
    if (child_ == 0) Child();
    ASSERT_GT(child_, 0);
    std::ofstream(directory_ + "/cgroup.procs") << child_ << std::flush;
  }
  void TearDown() override {
    for (int fd : {go_[0], go_[1], told_[0], told_[1]})
      if (fd >= 0) ::close(fd);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    if (!directory_.empty()) {
      EXPECT_EQ(::rmdir(directory_.c_str()), 0) << std::strerror(errno);
    }
  }
  [[noreturn]] void Child() const {
    char byte = 0;
    ::close(go_[1]);
    if (::read(go_[0], &byte, 1) == 1) {
      void* taken = ::mmap(nullptr, kTaken, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      static_cast<void>(taken != MAP_FAILED && ::write(told_[1], &byte, 1) == 1);
      static_cast<void>(::read(go_[0], &byte, 1));  // until the test has ended
    }
    ::_exit(0);
  }

  std::string directory_;
  std::array<int, 2> go_{-1, -1}, told_{-1, -1};
  pid_t child_ = -1;
};

TEST_F(InKernel, ItRingsWhenMemoryIsTaken) {
  std::counting_semaphore<> rings{0};
  const auto alarm = MakeMemoryAlarm();
  const Status set =
      alarm->Set({{directory_, kTaken / 2}, {directory_, 100 * kTaken}}, [&] { rings.release(); });
  ASSERT_TRUE(set.ok()) << set;
  EXPECT_FALSE(rings.try_acquire());
  ASSERT_EQ(::write(go_[1], "x", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(told_[0], &byte, 1), 1);
  rings.acquire();
}

}  // namespace
}  // namespace splitlet::cgroup
