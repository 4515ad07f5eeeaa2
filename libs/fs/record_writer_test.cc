#include "libs/fs/record_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"

namespace splitlet::fs {
namespace {

using ::testing::ElementsAre;

class RecordWriterTest : public testing::Test {
 protected:
  void Save(const std::string& key, const std::string& bytes) {
    writer->Save(key, bytes, [this, bytes] { saved.push_back(bytes); });
  }
  /// "" if there is no record.
  std::string OnDisk(const std::string& key) {
    const auto all = store.ReadAll();
    for (const auto& record : all->records)
      if (record.key == key) return record.bytes;
    return "";
  }

  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  FakeLogSink sink;
  const Log log{sink};
  prometheus::Registry registry;
  FakeFileSystem files{clock};
  RecordStore store{files, clock, {.directory = "/records"}};
  Status failing = OkStatus();
  std::vector<std::string> written, saved;
  std::vector<RecordWriter::Failure> failures;
  std::unique_ptr<RecordWriter> writer = std::make_unique<RecordWriter>(
      exec::Env{clock, loop, strands, log, registry},
      RecordWriter::Files{.save =
                              [this](const std::string& key, const std::string& bytes) {
                                if (!failing.ok()) return failing;
                                written.push_back(bytes);
                                return store.Save(key, bytes, false);
                              },
                          .forget = RecordWriter::FilesOf(store, false).forget},
      RecordWriter::Options{.strand = "records/", .backoff = {.initial = 1s, .max = 4s}},
      [this](const std::string& /*key*/, const RecordWriter::Failure& failure) {
        failures.push_back(failure);
      });
};

TEST_F(RecordWriterTest, ASavedRecordIsReportedAfterItIsOnDisk) {
  Save("a", "1");
  EXPECT_TRUE(writer->IsSaving("a"));
  EXPECT_THAT(saved, ElementsAre());
  loop.RunUntilIdle();
  EXPECT_THAT(saved, ElementsAre("1"));
  EXPECT_FALSE(writer->IsSaving("a"));
  EXPECT_EQ(OnDisk("a"), "1");
}

TEST_F(RecordWriterTest, TheNewestValueWinsAndReportsTheReplacedOnes) {
  Save("a", "1");
  Save("a", "2");
  Save("a", "3");
  Save("b", "other");
  loop.RunUntilIdle();
  EXPECT_THAT(written, testing::UnorderedElementsAre("1", "3", "other"));
  EXPECT_THAT(saved, testing::IsSupersetOf({"1", "2", "3"}));
  EXPECT_EQ(OnDisk("a"), "3");
  EXPECT_EQ(OnDisk("b"), "other");
}

TEST_F(RecordWriterTest, AFailedWriteIsRepeatedWithTheNewestValue) {
  failing = ResourceExhausted("disk full");
  Save("a", "1");
  loop.RunUntilIdle();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].retry_in, Duration{1s});
  EXPECT_FALSE(failures[0].repeated);
  Save("a", "2");
  loop.RunUntilIdle();
  EXPECT_EQ(failures.size(), 1u) << "the new value waits for the next attempt";
  loop.Advance(1s);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_TRUE(failures[1].repeated);
  EXPECT_EQ(failures[1].retry_in, Duration{2s});
  EXPECT_THAT(saved, ElementsAre());
  failing = OkStatus();
  loop.Advance(2s);
  EXPECT_THAT(written, ElementsAre("2"));
  EXPECT_THAT(saved, ElementsAre("1", "2"));
  EXPECT_FALSE(writer->IsSaving("a"));
}

TEST_F(RecordWriterTest, AForgottenRecordIsGoneAndReportsNothing) {
  Save("a", "1");
  Save("a", "2");
  writer->Forget("a");
  EXPECT_FALSE(writer->IsSaving("a"));
  loop.RunUntilIdle();
  EXPECT_THAT(saved, ElementsAre());
  EXPECT_EQ(OnDisk("a"), "");
}

TEST_F(RecordWriterTest, ASaveAfterForgetIsKept) {
  Save("a", "1");
  writer->Forget("a");
  Save("a", "2");
  loop.RunUntilIdle();
  EXPECT_THAT(saved, ElementsAre("2"));
  EXPECT_EQ(OnDisk("a"), "2");
}

TEST_F(RecordWriterTest, ForgetStopsAttempts) {
  failing = Unavailable("no disk");
  Save("a", "1");
  loop.RunUntilIdle();
  writer->Forget("a");
  failing = OkStatus();
  loop.Advance(10s);
  EXPECT_THAT(written, ElementsAre());
  EXPECT_EQ(failures.size(), 1u);
}

TEST_F(RecordWriterTest, ACallbackMaySaveAgainOrDestroyTheWriter) {
  int calls = 0;
  writer->Save("a", "1", [&] {
    ++calls;
    writer->Save("a", "2", [&] {
      ++calls;
      writer.reset();
    });
    writer->Save("a", "3", [&] { ++calls; });
  });
  loop.RunUntilIdle();
  EXPECT_EQ(calls, 2) << "nothing is called after the end of the writer";
  EXPECT_EQ(OnDisk("a"), "3") << "its last write is not lost";
}

}  // namespace
}  // namespace splitlet::fs
