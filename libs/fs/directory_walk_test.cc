#include "libs/fs/directory_walk.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

using testing::UnorderedElementsAre;

class DirectoryWalk : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_ / "a/b/c");
    std::filesystem::create_directories(dir_ / "d/e");
    std::ofstream(dir_ / "a/file") << "x";
    std::filesystem::create_directory_symlink("../a", dir_ / "d/link");
  }
  /// Names of the entries; each directory named in `removed` is removed while it is visited.
  std::vector<std::string> Walk(int depth, const std::string& removed = "none") {
    std::vector<std::string> names;
    ForEachEntryBelow(dir_.path(), depth, [&](const std::filesystem::directory_entry& entry) {
      names.push_back(entry.path().filename().string());
      if (names.back() == removed) std::filesystem::remove_all(entry.path());
    });
    return names;
  }

  const harness::TempDir dir_{"walk"};
};

TEST_F(DirectoryWalk, VisitsEachEntryOnceAndFollowsNoLink) {
  EXPECT_THAT(Walk(9), UnorderedElementsAre("a", "b", "c", "d", "e", "file", "link"));
}

TEST_F(DirectoryWalk, EntersDirectoriesDownToTheDepth) {
  EXPECT_THAT(Walk(0), UnorderedElementsAre("a", "d"));
  EXPECT_THAT(Walk(1), UnorderedElementsAre("a", "b", "d", "e", "file", "link"));
}

TEST_F(DirectoryWalk, GoesOnAfterADirectoryThatWasRemoved) {
  EXPECT_THAT(Walk(9, "a"), UnorderedElementsAre("a", "d", "e", "link"));
  EXPECT_THAT(Walk(9, "e"), UnorderedElementsAre("d", "e", "link"));
  EXPECT_THAT(Walk(9, "d"), UnorderedElementsAre("d"));
}

TEST_F(DirectoryWalk, OfNoDirectoryHasNoEntries) {
  int entries = 0;
  ForEachEntryBelow(dir_ / "absent", 9, [&](const auto&) { ++entries; });
  EXPECT_EQ(entries, 0);
}

}  // namespace
}  // namespace splitlet::fs
