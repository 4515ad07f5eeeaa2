// Tests the reserve for a full disk.

#include "libs/fs/reserve.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/record_store.h"

namespace splitlet::fs {
namespace {

TEST(RecordStore, WhatEndsAPodIsSavedOnAFullDiskAndNothingElse) {
  FakeClock clock;
  FakeFileSystem files(clock);
  const RecordStore store(files, clock,
                          {.directory = "/s/facts", .reserve_directory = "/s/reserve"});
  ASSERT_TRUE(store.KeepRoom().ok());
  files.SetFull("/s", true);
  files.SetUsage("/s", {.capacity_bytes = 1 << 30});
  EXPECT_EQ(store.Save("a", "grant", false).code(), StatusCode::kResourceExhausted);
  for (uint64_t i = 0; i < Reserve::kFiles; ++i)
    ASSERT_TRUE(store.SaveForEnd("a", fmt::format("end {}", i), true).ok());
  EXPECT_EQ(store.ReadAll()->records.at(0).bytes, "end 31");
  EXPECT_EQ(store.SaveForEnd("a", "more", true).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(store.ReadAll()->records.at(0).bytes, "end 31");
  // Makes no reserve if that would use up the disk.
  files.SetFull("/s", false);
  files.SetUsage("/s", {.capacity_bytes = 1 << 30, .available_bytes = (2 << 20) - 1});
  ASSERT_TRUE(store.KeepRoom().ok());
  EXPECT_TRUE(files.List("/s/reserve")->empty());
  files.SetUsage("/s", {.capacity_bytes = 1 << 30, .available_bytes = 2 << 20});
  ASSERT_TRUE(store.KeepRoom().ok());
  EXPECT_EQ(files.List("/s/reserve")->size(), Reserve::kFiles);
}

TEST(RecordStore, HalfOfTheReserveIsGivenToOthersOnAFullDiskAlone) {
  FakeClock clock;
  FakeFileSystem files(clock);
  const RecordStore store(files, clock,
                          {.directory = "/s/facts", .reserve_directory = "/s/reserve"});
  ASSERT_TRUE(store.KeepRoom().ok());
  ASSERT_TRUE(store.GiveRoom().ok());
  EXPECT_EQ(files.List("/s/reserve")->size(), Reserve::kFiles);
  files.SetFull("/s", true);
  files.SetUsage("/s", {.capacity_bytes = 1 << 30});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store.GiveRoom().ok());
    EXPECT_EQ(files.List("/s/reserve")->size(), Reserve::kFiles / 2);
  }
  EXPECT_TRUE(store.SaveForEnd("a", "end", true).ok());
}

}  // namespace
}  // namespace splitlet::fs
