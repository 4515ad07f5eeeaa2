#include "libs/fs/tail_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "libs/fs/fd.h"
#include "libs/fs/read_within.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

namespace stdfs = std::filesystem;

/// <dir>/pods -> <dir>/disk, root's own folder; <dir>/host is a host path that a pod has mounted.
class TailReaderTest : public testing::Test {
 protected:
  TailReaderTest() {
    for (const char* folder : {"disk/u1/containers/app", "host/sub", "etc"})
      stdfs::create_directories(dir_ / folder);
    stdfs::create_directory_symlink(dir_ / "disk", dir_ / "pods");
    for (const char* file : {"disk/u1/containers/app/01", "host/sub/end", "etc/shadow"})
      std::ofstream(dir_ / file) << "0123456789";
  }
  void Link(const std::string& target, const std::string& name) const {
    stdfs::create_symlink(target, dir_ / name);
  }
  /// Returns the text, or the code.
  std::string Read(const std::string& path, uint64_t max_bytes = 100) const {
    const auto text = read_(dir_ / path, max_bytes);
    return text.ok() ? *text : std::string(CodeName(text.status().code()));
  }

  const harness::TempDir dir_;
  const TailReader read_ = MakeTailReader({dir_ / "pods/", "/no/such/folder"});
};

TEST_F(TailReaderTest, GivesTheEnd) {
  EXPECT_EQ(Read("pods/u1/containers/app/01"), "0123456789");
  EXPECT_EQ(Read("pods/u1/containers/app/01", 4), "6789");
  EXPECT_EQ(Read("pods/u1/containers/app/01", 0), "");
  EXPECT_EQ(Read("host/sub/end", 3), "789") << "of a file that is mounted from elsewhere";
}

TEST_F(TailReaderTest, NoLinkOfAPodIsFollowed) {
  Link(dir_ / "etc/shadow", "disk/u1/containers/app/02");
  Link("/proc/self/root" + (dir_ / "etc/shadow"), "disk/u1/containers/app/03");
  Link(dir_ / "etc", "disk/u2");
  Link("../etc/shadow", "host/link");
  Link(dir_ / "etc", "host/folder");
  Link("loop", "host/loop");
  const struct {
    const char *name, *path, *want;
  } kCases[] = {
      {"in its folder", "pods/u1/containers/app/02", "FAILED_PRECONDITION"},
      {"one of the kernel's", "pods/u1/containers/app/03", "FAILED_PRECONDITION"},
      {"its folder", "pods/u2/shadow", "FAILED_PRECONDITION"},
      {"in a folder of the machine", "host/link", "FAILED_PRECONDITION"},
      {"such a folder", "host/folder/shadow", "FAILED_PRECONDITION"},
      {"a loop", "host/loop", "FAILED_PRECONDITION"},
      {"a path that leads back", "pods/u1/../../etc/shadow", "INVALID_ARGUMENT"},
      {"none", "pods/u1/containers/app/04", "NOT_FOUND"},
      {"no folder", "pods/u3/containers/app/01", "NOT_FOUND"},
      {"below a file", "host/sub/end/x", "NOT_FOUND"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Read(c.path), c.want) << c.name;
  EXPECT_EQ(read_("relative", 10).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(read_("", 10).status().code(), StatusCode::kInvalidArgument);
}

/// Opening some devices has an effect. A pipe stands for them, because the kernel reports whether a
/// pipe was opened.
TEST_F(TailReaderTest, OnlyARegularFileIsOpened) {
  const std::string pipe = dir_ / "host/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  const Fd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), pipe.c_str(), IN_OPEN), 0);
  EXPECT_EQ(Read("host/pipe"), "INVALID_ARGUMENT");
  EXPECT_FALSE(ReadWithin(dir_ / "host", "pipe", 100).ok());
  EXPECT_FALSE(read_(dir_ / "host", 100).ok()) << "a folder";
  char event[sizeof(inotify_event) + 256];
  EXPECT_LT(read(watch.get(), event, sizeof event), 0) << "it was opened";
  { const Fd opened(open(pipe.c_str(), O_RDONLY | O_NONBLOCK)); }
  EXPECT_GT(read(watch.get(), event, sizeof event), 0) << "and that would have been seen";
}

}  // namespace
}  // namespace splitlet::fs
