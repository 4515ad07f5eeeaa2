#include "libs/operate/flight_recorder.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/harness/child.h"

namespace splitlet::operate {
namespace {

BusMessage At(int64_t ns, std::string bytes) {
  return {.at = WallFromNanos(ns), .subject = "splitlet.n.runtime", .bytes = std::move(bytes)};
}

std::vector<std::string> Read(const std::string& folder, int64_t since_ns = 0) {
  std::vector<std::string> seen;
  const Status read =
      ReadRecorderFiles(folder, WallFromNanos(since_ns), [&seen](const BusMessage& message) {
        EXPECT_EQ(message.subject, "splitlet.n.runtime");
        seen.push_back(message.bytes);
        return true;
      });
  EXPECT_TRUE(read.ok()) << read;
  return seen;
}

std::vector<std::string> SegmentsOf(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

using Strings = std::vector<std::string>;

TEST(FlightRecorder, WhatWasWrittenIsReadFromAnyTimeOn) {
  const harness::TempDir dir("recorder");
  RecorderFiles files(dir / "r");
  const std::string bytes("a\0b\n", 4);
  files.Add(At(1'000'000'001, bytes));
  files.Add(At(1'000'000'002, "second"));
  EXPECT_TRUE(files.Flush().ok());
  files.Add(At(1'000'000'003, ""));
  EXPECT_TRUE(files.Flush().ok());
  EXPECT_EQ(Read(dir / "r"), (Strings{bytes, "second", ""}));
  EXPECT_EQ(Read(dir / "r", 1'000'000'002), (Strings{"second", ""}));
  EXPECT_EQ(Read(dir / "r", 1'000'000'004), Strings{});
  EXPECT_EQ(files.dropped(), 0u);
}

TEST(FlightRecorder, NoRecorderIsSaid) {
  const auto nothing = [](const BusMessage&) { return true; };
  EXPECT_EQ(ReadRecorderFiles("/none", {}, nothing), NotFound("no flight recorder in /none"));
}

TEST(FlightRecorder, TheOldestGoesBeforeThereIsTooMuch) {
  const harness::TempDir dir("recorder");
  RecorderFiles files(dir / "r", {.segment_bytes = 1000, .segments = 3});
  for (int i = 0; i < 100; ++i) {
    files.Add(At(i, std::to_string(i) + std::string(100, ' ')));
    ASSERT_TRUE(files.Flush().ok());
    uintmax_t bytes = 0;
    for (const auto& path : SegmentsOf(dir / "r")) bytes += std::filesystem::file_size(path);
    ASSERT_LE(bytes, 3000u);
  }
  const auto seen = Read(dir / "r");
  ASSERT_GE(seen.size(), 14u) << "two whole segments at least";
  EXPECT_EQ(std::stoi(seen.back()), 99);
  EXPECT_EQ(std::stoi(seen.front()), 100 - static_cast<int>(seen.size())) << "without a hole";
}

TEST(FlightRecorder, AnEntryThatWasCutIsLostAlone) {
  const harness::TempDir dir("recorder");
  {
    RecorderFiles files(dir / "r");
    files.Add(At(1, "whole"));
    files.Add(At(2, "cut"));
    ASSERT_TRUE(files.Flush().ok());
  }
  const std::string segment = SegmentsOf(dir / "r").at(0);
  std::filesystem::resize_file(segment, std::filesystem::file_size(segment) - 1);
  EXPECT_EQ(Read(dir / "r"), Strings{"whole"});
  RecorderFiles files(dir / "r");
  files.Add(At(3, "later"));
  ASSERT_TRUE(files.Flush().ok());
  EXPECT_EQ(Read(dir / "r"), (Strings{"whole", "later"}));
  EXPECT_EQ(SegmentsOf(dir / "r").size(), 1u) << "a restart costs no history";
}

TEST(FlightRecorder, BytesThatChangedEndTheirSegmentAndNoOther) {
  const harness::TempDir dir("recorder");
  {
    RecorderFiles files(dir / "r", {.segment_bytes = 60, .segments = 3});
    for (const char* bytes : {"one", "two"}) {
      files.Add(At(1, bytes));
      ASSERT_TRUE(files.Flush().ok());
    }
  }
  const auto segments = SegmentsOf(dir / "r");
  ASSERT_EQ(segments.size(), 2u);
  std::fstream(segments[0], std::ios::in | std::ios::out).seekp(-1, std::ios::end) << 'X';
  EXPECT_EQ(Read(dir / "r"), Strings{"two"});
}

TEST(FlightRecorder, AFullDiskLosesMessagesAndNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount a small disk";
  const harness::TempDir dir("recorder");
  std::filesystem::create_directory(dir / "disk");
  if (mount("none", (dir / "disk").c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "may not mount here";
  {
    RecorderFiles files(dir / "disk/r");
    files.Add(At(1, "before"));
    EXPECT_TRUE(files.Flush().ok());
    files.Add(At(2, std::string(200 << 10, 'x')));
    EXPECT_EQ(files.Flush().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(files.dropped(), 1u);
    files.Add(At(3, "after"));
    EXPECT_TRUE(files.Flush().ok()) << "what is small has room again";
    EXPECT_EQ(Read(dir / "disk/r"), (Strings{"before", "after"}));
  }
  EXPECT_EQ(umount((dir / "disk").c_str()), 0);
}

}  // namespace
}  // namespace splitlet::operate
