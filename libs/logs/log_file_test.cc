#include "libs/logs/log_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "libs/logs/log_watch.h"

namespace splitlet::logs {
namespace {

class LogFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = (std::filesystem::temp_directory_path() / "splitlet-logs-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    path = folder + "/0.log";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void Append(const std::string& text) { std::ofstream(path, std::ios::app) << text; }
  std::unique_ptr<LogFile> Open() {
    auto file = MakeLogFiles()->Open(path);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  std::string folder, path;
};

TEST_F(LogFileTest, TheTailIsFoundFromTheEnd) {
  const std::string line = std::string(99, 'x') + "\n";
  for (int i = 0; i < 3000; ++i) Append(line);
  const auto file = Open();
  const uint64_t size = 3000 * line.size();
  for (const uint64_t lines : {0u, 1u, 5u, 700u, 2999u, 3000u, 9999u}) {
    SCOPED_TRACE(lines);
    const auto begin = FindTail(*file, lines);
    ASSERT_TRUE(begin.ok()) << begin.status();
    EXPECT_EQ(*begin, lines > 3000 ? 0 : size - lines * line.size());
  }
  Append("without an end");
  EXPECT_EQ(FindTail(*file, 1).value_or(0), size - line.size());
}

TEST_F(LogFileTest, AnEmptyFileHasNoTail) {
  Append("");
  EXPECT_EQ(FindTail(*Open(), 3).value_or(7), 0u);
}

TEST_F(LogFileTest, KnowsThatItsNameWentToAnotherFile) {
  Append("one\n");
  const auto file = Open();
  EXPECT_FALSE(file->IsReplacedAt(path));
  std::filesystem::rename(path, path + ".1");
  EXPECT_FALSE(file->IsReplacedAt(path)) << "it names none";
  Append("two\n");
  EXPECT_TRUE(file->IsReplacedAt(path));
  std::string bytes = "of an earlier read";
  ASSERT_TRUE(file->ReadAt(0, 100, bytes).ok());
  EXPECT_EQ(bytes, "one\n");
  ASSERT_TRUE(file->ReadAt(4, 100, bytes).ok());
  EXPECT_EQ(bytes, "");
}

TEST_F(LogFileTest, APipeIsNotRead) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(MakeLogFiles()->Open(path).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeLogFiles()->Open(folder + "/none").status().code(), StatusCode::kNotFound);
}

TEST_F(LogFileTest, WhatIsWrittenEndsAWait) {
  Append("one\n");
  const auto watch = MakeLogWatch(path);
  Append("two\n");
  EXPECT_TRUE(watch->Wait());
  std::filesystem::rename(path, path + ".1");
  EXPECT_TRUE(watch->Wait());
}

TEST_F(LogFileTest, WhereNothingCanBeWatchedTheFileIsLookedAtNowAndThen) {
  const auto watch = MakeLogWatch(folder + "/none/0.log");
  EXPECT_TRUE(watch->Wait());
}

}  // namespace
}  // namespace splitlet::logs
