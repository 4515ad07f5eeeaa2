#include "services/gc/measure/tree_meter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "libs/fs/fd.h"
#include "libs/fs/remove_tree.h"

namespace splitlet::gc {
namespace {

namespace stdfs = std::filesystem;

class TreeMeterTest : public testing::Test {
 protected:
  TreeMeterTest() {
    std::string name = testing::TempDir() + "/meter-XXXXXX";
    top = ::mkdtemp(name.data());
  }
  ~TreeMeterTest() override {
    EXPECT_TRUE(fs::RemoveTreeAt(top, [] { return true; }).ok());
  }
  void Write(const std::string& path, size_t bytes) {
    std::ofstream(top + "/" + path) << std::string(bytes, 'x');
  }
  /// The answer of the kernel for one path.
  int64_t BlocksOf(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(::lstat((top + path).c_str(), &found), 0);
    return found.st_blocks * 512;
  }
  DiskStats Measure(const std::string& path = "") {
    const auto measured = meter->Measure(top + path);
    EXPECT_TRUE(measured.ok()) << measured.status();
    return measured.ok() ? *measured : DiskStats{};
  }
  std::string top;
  std::unique_ptr<TreeMeter> meter = MakeTreeMeter();
};

/// A file system mounted over a path, whose server never answers.
class HungServer {
 public:
  HungServer(std::string path, mode_t kind)
      : path_(std::move(path)), fd_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    if (!fd_.ok()) return;
    const auto options = fmt::format("fd={},rootmode={:o},user_id=0,group_id=0", fd_.get(), kind);
    mounted_ = ::mount("hung", path_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  }
  ~HungServer() {
    Die();
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  HungServer(const HungServer&) = delete;
  HungServer& operator=(const HungServer&) = delete;
  bool mounted() const { return mounted_; }
  /// Every waiting call gets an error.
  void Die() { fd_ = fs::Fd(-1); }

 private:
  std::string path_;
  fs::Fd fd_;
  bool mounted_ = false;
};

TEST_F(TreeMeterTest, WhatIsMountedIsNotAskedAndDoesNotCount) {
  const struct {
    const char* name;
    const char* path;
    mode_t kind;
    int64_t inodes;  // without the mount
  } kCases[] = {
      {"a server of a volume hangs", "/pod/volumes/nfs", S_IFDIR, 4},
      {"a server of a file that is bound hangs", "/pod/volume-subpaths/0", S_IFREG, 4},
  };
  ASSERT_TRUE(stdfs::create_directories(top + "/pod/volumes/nfs"));
  ASSERT_TRUE(stdfs::create_directories(top + "/pod/volume-subpaths"));
  Write("pod/volume-subpaths/0", 1);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    HungServer server(top + c.path, c.kind);
    if (!server.mounted()) GTEST_SKIP() << "may not mount here";
    std::promise<StatusOr<DiskStats>> promise;
    auto measured = promise.get_future();
    std::jthread walk([&] { promise.set_value(meter->Measure(top + "/pod")); });
    const bool ended = measured.wait_for(std::chrono::seconds{5}) == std::future_status::ready;
    server.Die();
    EXPECT_TRUE(ended) << "it waits for the server";
    const auto stats = measured.get();
    ASSERT_TRUE(stats.ok()) << stats.status();
    EXPECT_EQ(stats->inodes, c.inodes);
  }
}

TEST_F(TreeMeterTest, CountsBlocksAndInodesOfEverythingBelow) {
  ASSERT_TRUE(stdfs::create_directories(top + "/a/b"));
  Write("a/b/file", 1 << 20);
  Write("other", 10);
  const DiskStats sum = Measure();
  EXPECT_EQ(sum.inodes, 5);
  EXPECT_EQ(sum.bytes, BlocksOf("") + BlocksOf("/a") + BlocksOf("/a/b") + BlocksOf("/a/b/file") +
                           BlocksOf("/other"));
  EXPECT_GE(BlocksOf("/a/b/file"), 1 << 20);
}

TEST_F(TreeMeterTest, AFileWithManyNamesIsCountedOnce) {
  Write("one", 1 << 20);
  const DiskStats before = Measure();
  stdfs::create_hard_link(top + "/one", top + "/two");
  stdfs::create_hard_link(top + "/one", top + "/three");
  EXPECT_EQ(Measure().inodes, before.inodes);
  EXPECT_LT(Measure().bytes, before.bytes + (1 << 20));
}

TEST_F(TreeMeterTest, LinksAreNotFollowed) {
  ASSERT_TRUE(stdfs::create_directories(top + "/tree"));
  Write("outside", 1 << 20);
  stdfs::create_symlink(top + "/outside", top + "/tree/file");
  stdfs::create_directory_symlink(top, top + "/tree/up");
  EXPECT_EQ(Measure("/tree").inodes, 3);
  EXPECT_LT(Measure("/tree").bytes, 1 << 20);
  EXPECT_FALSE(meter->Measure(top + "/tree/up").ok()) << "nor is the top one";
}

TEST_F(TreeMeterTest, AFileWithHolesTakesWhatItTakes) {
  Write("hole", 1);
  stdfs::resize_file(top + "/hole", 1 << 30);
  EXPECT_LT(Measure().bytes, 1 << 20);
}

TEST_F(TreeMeterTest, ADeepTreeIsCountedWithFewOpenDirectories) {
  // At each level files come before and after the next one, in whatever order it is read.
  constexpr int kLevels = 30, kFiles = 40;
  std::string path;
  for (int level = 0; level < kLevels; ++level) {
    for (int file = 0; file < kFiles; ++file) Write(fmt::format("{}/f{}", path, file), 1);
    path += "/next";
    ASSERT_TRUE(stdfs::create_directories(top + path));
  }
  EXPECT_EQ(Measure().inodes, 1 + kLevels * (kFiles + 1));
  meter = MakeTreeMeter({.open = 1});
  EXPECT_EQ(Measure().inodes, 1 + kLevels * (kFiles + 1));
}

TEST_F(TreeMeterTest, WhatIsNotCountedIsSaidToBeMore) {
  ASSERT_TRUE(stdfs::create_directories(top + "/a/b"));
  Write("a/b/file", 1 << 20);
  EXPECT_FALSE(Measure().more);
  meter = MakeTreeMeter({.entries = 3});
  EXPECT_FALSE(Measure().more);
  Write("other", 1);
  EXPECT_TRUE(Measure().more);
}

/// An entry that cannot be opened is an error with its reason: it never counts as empty.
TEST_F(TreeMeterTest, WhatCannotBeOpenedIsAnErrorUnlessItIsElsewhere) {
  const struct {
    const char* name;
    int error;
    std::optional<StatusCode> want;  // none: the entry is skipped
  } kCases[] = {
      {"a kernel or a sandbox without the call", ENOSYS, StatusCode::kUnimplemented},
      {"a sandbox that refuses the call", EPERM, StatusCode::kUnimplemented},
      {"no right", EACCES, StatusCode::kPermissionDenied},
      {"a disk that fails", EIO, StatusCode::kDataLoss},
      {"too many open files", EMFILE, StatusCode::kResourceExhausted},
      {"flags that the kernel does not know", EINVAL, StatusCode::kInvalidArgument},
      {"removed", ENOENT, std::nullopt},
      {"replaced by a file", ENOTDIR, std::nullopt},
      {"replaced by a link", ELOOP, std::nullopt},
      {"something is mounted there", EXDEV, std::nullopt},
  };
  ASSERT_TRUE(stdfs::create_directories(top + "/a/b"));
  Write("a/file", 1 << 20);
  Write("file", 1);
  // The first that is opened is the top itself, then what is in it in any order.
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    for (const int failing : {1, 2, 3}) {
      SCOPED_TRACE(failing);
      int opened = 0;
      meter = MakeTreeMeter({}, [&](int at, const char* path, uint64_t flags) {
        if (++opened != failing) return OpenBelow(at, path, flags);
        errno = c.error;
        return -1;
      });
      const auto measured = meter->Measure(top);
      EXPECT_EQ(measured.ok(), !c.want.has_value());
      if (c.want) {
        EXPECT_EQ(measured.status().code(), *c.want) << measured.status();
      }
    }
  }
}

TEST_F(TreeMeterTest, WhyNothingCanBeOpenedIsTold) {
  meter = MakeTreeMeter({}, [](int, const char*, uint64_t) {
    errno = ENOSYS;
    return -1;
  });
  EXPECT_EQ(Message(meter->Measure(top).status()),
            fmt::format("measure {}: top: directory: openat2: Function not implemented: it needs "
                        "Linux 5.6, and a sandbox that lets it through",
                        top));
}

TEST_F(TreeMeterTest, WhatIsBesideATreeThatIsTooDeepCounts) {
  const std::string name(200, 'd');
  for (const char* file : {"a", "z"}) Write(file, 1 << 20);
  for (int i = 0; i < 40; ++i) Write(fmt::format("file-{}", i), 1);
  const DiskStats before = Measure();
  fs::Fd at(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int level = 1; level <= 25; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at = fs::Fd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const DiskStats after = Measure();
  EXPECT_TRUE(after.more);
  EXPECT_GE(after.bytes, before.bytes);
  EXPECT_GT(after.inodes, before.inodes + 15);
}

TEST_F(TreeMeterTest, SoIsWhatLiesDeeperThanAPathIsLong) {
  const std::string name(200, 'd');
  fs::Fd at(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int level = 1; level <= 25; ++level) {
    SCOPED_TRACE(level);
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at = fs::Fd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (level == 18) {
      EXPECT_FALSE(Measure().more);
    }
  }
  EXPECT_TRUE(Measure().more);
}

TEST_F(TreeMeterTest, FilesWithManyNamesBeyondThoseRememberedCountByShares) {
  for (int file = 0; file < 6; ++file) {
    const std::string name = fmt::format("f{}", file);
    Write(name, 1 << 20);
    for (const char* more : {"a", "b"})
      stdfs::create_hard_link(top + "/" + name, top + "/" + name + more);
  }
  const DiskStats want = Measure();
  EXPECT_EQ(want.inodes, 1 + 6);
  for (const size_t linked : {0U, 2U}) {
    SCOPED_TRACE(linked);
    meter = MakeTreeMeter({.linked = linked});
    EXPECT_EQ(Measure().inodes, want.inodes);
    EXPECT_NEAR(static_cast<double>(Measure().bytes), static_cast<double>(want.bytes), 4096);
  }
}

TEST_F(TreeMeterTest, WhatIsNotThereTakesNothing) {
  EXPECT_EQ(Measure("/missing"), DiskStats{});
  EXPECT_FALSE(meter->DeviceOf(top + "/missing").ok());
  EXPECT_TRUE(meter->DeviceOf(top).ok());
}

}  // namespace
}  // namespace splitlet::gc
