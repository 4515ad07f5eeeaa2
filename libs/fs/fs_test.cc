#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/base/mutate.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/fd.h"
#include "libs/fs/gzip.h"
#include "libs/fs/real_file_system.h"
#include "libs/fs/record_store.h"
#include "libs/fs/reserve.h"
#include "libs/fs/state_id.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

using harness::TempDir;

/// Contract of every FileSystem, real or fake.
class FileSystemContract : public testing::TestWithParam<bool> {
 protected:
  FileSystemContract() {
    if (GetParam()) {
      files_ = std::make_unique<RealFileSystem>();
    } else {
      files_ = std::make_unique<FakeFileSystem>(clock_);
      EXPECT_TRUE(files_->MakeDirs(dir_.path(), 0750).ok());
    }
  }
  std::string At(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string Content(const std::string& name) const {
    const auto read = files_->Read(At(name), 1000);
    return read.ok() ? *read : "error: " + ToString(read.status());
  }
  std::vector<std::string> Names(const std::string& name) const {
    std::vector<std::string> names;
    const auto entries = files_->List(At(name));
    if (!entries.ok()) return {ToString(entries.status())};
    for (const auto& e : *entries) names.push_back(e.name);
    return names;
  }
  StatusCode ReadCode(const std::string& name) const {
    return files_->Read(At(name), 1000).status().code();
  }

  FakeClock clock_;
  TempDir dir_;
  std::unique_ptr<FileSystem> files_;
};

TEST_P(FileSystemContract, ReplaceMakesFoldersAndLeavesNothingBeside) {
  EXPECT_TRUE(files_->Replace(At("a/b/c"), "one", {}).ok());
  EXPECT_TRUE(files_->Replace(At("a/b/c"), "two", {.fsync = true}).ok());
  EXPECT_EQ(Content("a/b/c"), "two");
  EXPECT_EQ(Names("a/b"), std::vector<std::string>{"c"});
  EXPECT_EQ(files_->Stat(At("a/b/c"), true)->size, 3u);
}

TEST_P(FileSystemContract, ReplaceGivesANewInode) {
  EXPECT_TRUE(files_->Replace(At("f"), "one", {}).ok());
  const auto before = files_->Stat(At("f"), true)->inode;
  EXPECT_TRUE(files_->Replace(At("f"), "two", {}).ok());
  EXPECT_NE(files_->Stat(At("f"), true)->inode, before);
}

TEST_P(FileSystemContract, ReadsAreBoundedAndTellWhatIsWrong) {
  EXPECT_TRUE(files_->Replace(At("f"), std::string(1001, 'x'), {}).ok());
  EXPECT_EQ(ReadCode("f"), StatusCode::kResourceExhausted);
  EXPECT_TRUE(files_->Replace(At("f"), std::string(1000, 'x'), {}).ok());
  EXPECT_EQ(ReadCode("f"), StatusCode::kOk);
  EXPECT_EQ(ReadCode("missing"), StatusCode::kNotFound);
  EXPECT_EQ(ReadCode("f/below"), StatusCode::kNotFound);
  EXPECT_EQ(ReadCode(""), StatusCode::kFailedPrecondition);
}

TEST_P(FileSystemContract, AFileComesWithItsOwnerAndItsMode) {
  EXPECT_TRUE(files_->Replace(At("f"), "one", {.mode = 0640}).ok());
  EXPECT_TRUE(files_->MakeSymlink("f", At("link")).ok());
  for (const char* name : {"f", "link"}) {
    const auto owned = files_->ReadOwned(At(name), 100);
    ASSERT_TRUE(owned.ok()) << owned.status();
    EXPECT_EQ(owned->text, "one");
    EXPECT_EQ(owned->owner, ::geteuid());
    EXPECT_EQ(owned->mode, 0640u);
  }
  EXPECT_EQ(files_->ReadOwned(At("f"), 2).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(files_->ReadOwned(At("missing"), 2).status().code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContract, ListsSortedWithKinds) {
  EXPECT_TRUE(files_->Replace(At("b"), "", {}).ok());
  EXPECT_TRUE(files_->MakeDirs(At("a.d/deep"), 0750).ok());
  EXPECT_TRUE(files_->MakeSymlink("b", At("c")).ok());
  const auto entries = files_->List(dir_.path());
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "a.d");
  EXPECT_EQ((*entries)[0].kind, FileInfo::Kind::kDirectory);
  EXPECT_EQ((*entries)[1].kind, FileInfo::Kind::kFile);
  EXPECT_EQ((*entries)[2].kind, FileInfo::Kind::kSymlink);
  EXPECT_EQ(files_->List(At("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(files_->List(At("b")).status().code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContract, SymlinksAreFollowedAndLoopsFound) {
  EXPECT_TRUE(files_->Replace(At("v1/f"), "one", {}).ok());
  EXPECT_TRUE(files_->MakeSymlink("v1", At("now")).ok());
  EXPECT_EQ(Content("now/f"), "one");
  EXPECT_EQ(*files_->ReadSymlink(At("now")), "v1");
  EXPECT_EQ(files_->Stat(At("now"), true)->kind, FileInfo::Kind::kDirectory);
  EXPECT_EQ(files_->Stat(At("now"), false)->kind, FileInfo::Kind::kSymlink);
  EXPECT_TRUE(files_->MakeSymlink("v2", At("next")).ok());
  EXPECT_TRUE(files_->Replace(At("v2/f"), "two", {}).ok());
  EXPECT_TRUE(files_->Rename(At("next"), At("now")).ok());
  EXPECT_EQ(Content("now/f"), "two");
  EXPECT_TRUE(files_->MakeSymlink("x", At("y")).ok());
  EXPECT_TRUE(files_->MakeSymlink("y", At("x")).ok());
  EXPECT_EQ(ReadCode("x"), StatusCode::kInvalidArgument);
  EXPECT_EQ(files_->MakeSymlink("z", At("x")).code(), StatusCode::kAlreadyExists);
}

TEST_P(FileSystemContract, FoldersBelowARootAreMadeWithoutALinkOnTheirWay) {
  EXPECT_TRUE(files_->MakeDirsBelow(At("root"), "/a/b", 0755).ok()) << "with the root";
  EXPECT_TRUE(files_->MakeDirsBelow(At("root"), "a/b", 0755).ok()) << "again";
  EXPECT_EQ(files_->Stat(At("root/a/b"), false)->kind, FileInfo::Kind::kDirectory);
  EXPECT_TRUE(files_->MakeDirs(At("outside"), 0755).ok());
  EXPECT_TRUE(files_->MakeSymlink(At("outside"), At("root/link")).ok());
  EXPECT_TRUE(files_->MakeSymlink(At("nothing"), At("root/dangling")).ok());
  EXPECT_TRUE(files_->Replace(At("root/file"), "", {}).ok());
  for (const char* below : {"link", "link/c", "dangling", "dangling/c", "file", "file/c"})
    EXPECT_EQ(files_->MakeDirsBelow(At("root"), below, 0755).code(), StatusCode::kAlreadyExists)
        << below;
  EXPECT_FALSE(files_->MakeDirsBelow(At("root"), "a/../../out", 0755).ok());
  EXPECT_EQ(Names("outside"), std::vector<std::string>{});
  EXPECT_EQ(Names(""), (std::vector<std::string>{"outside", "root"}));
  EXPECT_TRUE(files_->MakeSymlink("root", At("alias")).ok());
  EXPECT_TRUE(files_->MakeDirsBelow(At("alias"), "c", 0755).ok()) << "the root may be a link";
  EXPECT_EQ(files_->Stat(At("root/c"), false)->kind, FileInfo::Kind::kDirectory);
}

TEST_P(FileSystemContract, RemovingWhatIsGoneIsOk) {
  EXPECT_TRUE(files_->Replace(At("d/f"), "x", {}).ok());
  EXPECT_FALSE(files_->Remove(At("d")).ok()) << "not empty";
  EXPECT_TRUE(files_->Remove(At("d/f")).ok());
  EXPECT_TRUE(files_->Remove(At("d/f")).ok());
  EXPECT_TRUE(files_->Remove(At("d")).ok());
  EXPECT_EQ(files_->Stat(At("d"), true).status().code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContract, RemoveTreeDoesNotFollowSymlinks) {
  EXPECT_TRUE(files_->Replace(At("keep/f"), "x", {}).ok());
  EXPECT_TRUE(files_->Replace(At("go/a/b/f"), "x", {}).ok());
  EXPECT_TRUE(files_->MakeSymlink(At("keep"), At("go/a/link")).ok());
  EXPECT_TRUE(files_->RemoveTree(At("go")).ok());
  EXPECT_TRUE(files_->RemoveTree(At("go")).ok());
  EXPECT_EQ(Content("keep/f"), "x");
  EXPECT_EQ(Names(""), std::vector<std::string>{"keep"});
}

TEST_P(FileSystemContract, ARemovalThatIsStoppedGoesOnWithTheNextCall) {
  for (const char* name : {"go/a/1", "go/a/2", "go/b/3", "stay"})
    ASSERT_TRUE(files_->Replace(At(name), "x", {}).ok());
  const auto count = [this] {
    size_t files = 0;
    for (const char* name : {"go/a/1", "go/a/2", "go/b/3"})
      files += files_->Stat(At(name), false).ok() ? 1 : 0;
    return files;
  };
  int left = 0;
  const auto go_on = [&left] { return left-- > 0; };
  EXPECT_EQ(files_->RemoveTreeWhile(At("go"), go_on).code(), StatusCode::kAborted);
  EXPECT_EQ(count(), 3u) << "asked before the first";
  for (int calls = 0; files_->Stat(At("go"), false).ok(); ++calls) {
    ASSERT_LT(calls, 10);
    left = 2;
    const Status removed = files_->RemoveTreeWhile(At("go"), go_on);
    EXPECT_TRUE(removed.ok() || removed.code() == StatusCode::kAborted) << removed;
  }
  EXPECT_TRUE(files_->Stat(At("stay"), false).ok());
}

TEST_P(FileSystemContract, AFileIsEmptiedAndNoLinkIsFollowed) {
  ASSERT_TRUE(files_->Replace(At("a"), "text", {}).ok());
  ASSERT_TRUE(files_->Replace(At("b"), "text", {}).ok());
  ASSERT_TRUE(files_->MakeSymlink(At("b"), At("link")).ok());
  EXPECT_TRUE(files_->Truncate(At("a")).ok());
  EXPECT_EQ(Content("a"), "");
  EXPECT_FALSE(files_->Truncate(At("link")).ok());
  EXPECT_EQ(Content("b"), "text");
  EXPECT_EQ(files_->Truncate(At("none")).code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContract, AFileIsOverwrittenInItsPlaceAndNoLinkIsFollowed) {
  ASSERT_TRUE(files_->Replace(At("a"), "some text", {}).ok());
  ASSERT_TRUE(files_->MakeSymlink(At("a"), At("link")).ok());
  const auto inode = files_->Stat(At("a"), false)->inode;
  for (const std::string content : {"short", "a longer text than before", "", "end"}) {
    const Status written = files_->Overwrite(At("a"), content);
    EXPECT_TRUE(written.ok()) << written;
    EXPECT_EQ(Content("a"), content);
    EXPECT_EQ(files_->Stat(At("a"), false)->inode, inode);
  }
  EXPECT_EQ(files_->Overwrite(At("link"), "x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Content("a"), "end");
  EXPECT_EQ(files_->Overwrite(At("none"), "x").code(), StatusCode::kNotFound);
  EXPECT_EQ(files_->Stat(At("none"), false).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(files_->Overwrite(dir_.path(), "x").ok());
}

TEST_P(FileSystemContract, AFileReplacesAnotherInTheRoomThatWasKept) {
  ASSERT_TRUE(files_->Replace(At("facts/a"), "old", {}).ok());
  ASSERT_TRUE(files_->Allocate(At("spare/00"), 4096).ok());
  EXPECT_EQ(files_->Stat(At("spare/00"), false)->size, 4096u);
  EXPECT_TRUE(files_->ReplaceFrom(At("spare/00"), At("facts/a"), "new", {.fsync = true}).ok());
  EXPECT_EQ(Content("facts/a"), "new");
  EXPECT_EQ(files_->Stat(At("facts/a"), false)->size, 3u);
  EXPECT_TRUE(Names("spare").empty());
  EXPECT_EQ(files_->ReplaceFrom(At("spare/00"), At("facts/a"), "x", {}).code(),
            StatusCode::kNotFound);
}

TEST_P(FileSystemContract, RenameMovesAFolderWhole) {
  EXPECT_TRUE(files_->Replace(At("a/b/f"), "x", {}).ok());
  EXPECT_TRUE(files_->Rename(At("a"), At("z")).ok());
  EXPECT_EQ(Content("z/b/f"), "x");
  EXPECT_EQ(files_->Rename(At("a"), At("y")).code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContract, UsageTellsRoomAndInodes) {
  const auto usage = files_->Usage(dir_.path());
  ASSERT_TRUE(usage.ok());
  EXPECT_GT(usage->capacity_bytes, 0u);
  EXPECT_GE(usage->capacity_bytes, usage->available_bytes);
  EXPECT_EQ(files_->Usage(At("none")).status().code(), StatusCode::kNotFound);
}

TEST_P(FileSystemContract, FactsComeBackAndBrokenOnesAreKept) {
  RecordStore store(*files_, clock_, {.directory = At("facts"), .schema = 2});
  EXPECT_TRUE(store.ReadAll()->records.empty()) << "no directory yet";
  EXPECT_TRUE(store.Save("uid-1", std::string("a\n\0b", 4), true).ok());
  EXPECT_TRUE(store.Save("uid-2", "", false).ok());
  RecordStore later(*files_, clock_, {.directory = At("facts"), .schema = 3});
  EXPECT_TRUE(later.Save("from-later", "x", false).ok());
  EXPECT_TRUE(files_->Replace(At("facts/broken"), "splitlet-fact 2 1 0\nx", {}).ok());
  EXPECT_TRUE(files_->Replace(At("facts/.uid-9.new"), "half", {}).ok());
  const auto all = store.ReadAll();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->records.size(), 2u);
  EXPECT_EQ(all->records[0].key, "uid-1");
  EXPECT_EQ(all->records[0].bytes, std::string("a\n\0b", 4));
  EXPECT_EQ(all->records[0].boot, clock_.Now().boot);
  ASSERT_EQ(all->unreadable.size(), 2u);
  EXPECT_EQ(all->unreadable[0].key, "broken");
  EXPECT_EQ(all->unreadable[0].reason, "checksum does not match");
  EXPECT_THAT(Names("facts"), testing::Not(testing::Contains(".uid-9.new")));
  EXPECT_EQ(all->unreadable[1].reason, "schema level 3 is above 2");
  EXPECT_TRUE(all->unreadable[1].newer);
  EXPECT_FALSE(all->unreadable[0].newer);
  EXPECT_TRUE(store.Forget("uid-1").ok());
  EXPECT_TRUE(store.Forget("uid-1").ok());
  EXPECT_EQ(store.ReadAll()->records.size(), 1u);
  EXPECT_EQ(store.PutAside("uid-1").status().code(), StatusCode::kNotFound);
  for (const char* name : {"broken", "broken.2"}) {
    EXPECT_EQ(store.PutAside("broken").value(), At("facts-discarded/") + name);
    ASSERT_TRUE(files_->Replace(At("facts/broken"), "again", {}).ok());
  }
}

TEST(RecordStore, AFactThatCannotBeReadNowIsAnErrorAndNeverAbsent) {
  const struct {
    const char* name;
    int error;
  } kCases[] = {
      {"too many open files", EMFILE}, {"too many open files of all", ENFILE},
      {"interrupted", EINTR},          {"an error of the disk", EIO},
      {"no permission", EACCES},       {"no memory", ENOMEM},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    FakeFileSystem files(clock);
    const RecordStore store(files, clock, {.directory = "/facts"});
    ASSERT_TRUE(store.Save("a", "1", false).ok());
    ASSERT_TRUE(store.Save("b", "2", false).ok());
    files.SetHook([&](std::string_view operation, const std::string& path) {
      return operation == "read" && path == "/facts/b" ? ErrnoStatus(c.error) : OkStatus();
    });
    const auto failed = store.ReadAll();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.status().code(), ErrnoStatus(c.error).code());
    EXPECT_NE(Message(failed.status()).find("/facts/b"), std::string::npos) << failed.status();
    files.SetHook(nullptr);
    const auto all = store.ReadAll();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->records.size(), 2u);
  }
}

TEST(RecordStore, WhatIsNoFactIsListedAndHoldsUpNoOther) {
  FakeClock clock;
  FakeFileSystem files(clock);
  const RecordStore store(files, clock, {.directory = "/facts"});
  ASSERT_TRUE(store.Save("a", "1", false).ok());
  ASSERT_TRUE(store.Save("gone", "2", false).ok());
  ASSERT_TRUE(files.MakeDirs("/facts/folder", 0750).ok());
  ASSERT_TRUE(files.MakeSymlink("/facts/loop", "/facts/loop").ok());
  ASSERT_TRUE(files.Replace("/facts/long", std::string((32u << 20) + 1, 'x'), {}).ok());
  files.SetHook([&](std::string_view operation, const std::string& path) {
    const bool forgotten = operation == "read" && path == "/facts/gone";
    return forgotten ? ErrnoStatus(ENOENT) : OkStatus();
  });
  const auto all = store.ReadAll();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->records.size(), 1u);
  std::vector<std::string> unreadable;
  for (const auto& bad : all->unreadable) {
    unreadable.push_back(bad.key);
    EXPECT_FALSE(bad.newer);
  }
  EXPECT_EQ(unreadable, (std::vector<std::string>{"folder", "long", "loop"}));
}

TEST(FactFuzz, AMutatedFactIsWhatItWasOrUnreadable) {
  FakeClock clock;
  FakeFileSystem files(clock);
  const RecordStore store(files, clock, {.directory = "/facts"});
  ASSERT_TRUE(store.Save("a", "the record of a pod", false).ok());
  const std::vector<std::string> corpus = {*files.Read("/facts/a", 1000)};
  Random random(20260109);
  size_t same = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string text =
        Mutate(corpus[0], corpus, {" ", "\n", "0", "f", "splitlet-fact"}, random);
    ASSERT_TRUE(files.Replace("/facts/a", text, {}).ok());
    const auto all = store.ReadAll();
    ASSERT_TRUE(all.ok()) << text;
    ASSERT_EQ(all->records.size() + all->unreadable.size(), text.empty() ? 0u : 1u) << text;
    if (all->records.empty()) continue;
    ++same;
    ASSERT_EQ(all->records[0].bytes, "the record of a pod") << text;
  }
  EXPECT_GT(same, 0u);
}

TEST_P(FileSystemContract, AFactThatAPowerCutHasEmptiedIsNone) {
  for (const bool this_boot : {false, true}) {
    const RecordStore store(*files_, clock_,
                            {.directory = At("facts"), .this_boot_only = this_boot});
    EXPECT_TRUE(store.Save("a", "1", false).ok());
    EXPECT_TRUE(files_->Replace(At("facts") + "/emptied", "", {}).ok());
    const auto all = store.ReadAll();
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->records.size(), 1u);
    EXPECT_TRUE(all->unreadable.empty());
    EXPECT_EQ(Names("facts"), std::vector<std::string>{"a"});
    EXPECT_TRUE(store.Save("emptied", "2", false).ok()) << "it can be written again";
    EXPECT_EQ(store.ReadAll()->records.size(), 2u);
    EXPECT_TRUE(store.Forget("emptied").ok());
  }
}

TEST_P(FileSystemContract, FactsOfAnotherBootAreVoidWhereTheOwnerSaysSo) {
  const RecordStore boot(*files_, clock_, {.directory = At("run"), .this_boot_only = true});
  const RecordStore ever(*files_, clock_, {.directory = At("state")});
  EXPECT_TRUE(boot.Save("a", "1", false).ok());
  EXPECT_TRUE(ever.Save("a", "1", false).ok());
  EXPECT_EQ(boot.ReadAll()->records.size(), 1u);
  clock_.SetBoot(77);
  EXPECT_TRUE(boot.ReadAll()->records.empty());
  EXPECT_EQ(Names("run"), std::vector<std::string>{});
  ASSERT_EQ(ever.ReadAll()->records.size(), 1u);
  EXPECT_NE(ever.ReadAll()->records[0].boot, 77u);
}

TEST_P(FileSystemContract, TheReserveIsMadeOnceAndComesBackAsFarAsItWasSpent) {
  const Reserve reserve(*files_, At("reserve"));
  ASSERT_TRUE(files_->Replace(At("facts/a"), "old", {}).ok());
  ASSERT_TRUE(reserve.Keep().ok());
  EXPECT_EQ(Names("reserve").size(), Reserve::kFiles);
  EXPECT_EQ(files_->Stat(At("reserve/00"), false)->size, Reserve::kFileBytes);
  EXPECT_TRUE(reserve.Write(At("facts/a"), "new", {.fsync = true}).ok());
  EXPECT_EQ(Content("facts/a"), "new");
  EXPECT_EQ(Names("reserve").size(), Reserve::kFiles - 1);
  ASSERT_TRUE(reserve.Keep().ok());
  EXPECT_EQ(Names("reserve").size(), Reserve::kFiles);
  // A record that is too long for one reserve file uses all of them.
  const std::string all(Reserve::kFileBytes + 1, 'x');
  EXPECT_TRUE(reserve.Write(At("facts/a"), all, {}).ok());
  EXPECT_EQ(files_->Stat(At("facts/a"), false)->size, all.size());
  EXPECT_TRUE(Names("reserve").empty());
  EXPECT_EQ(reserve.Write(At("facts/a"), "x", {}).code(), StatusCode::kResourceExhausted);
}

TEST(RecordStore, WhatIsBeingSavedStaysWhenTheOthersAreRead) {
  FakeClock clock;
  FakeFileSystem files(clock);
  const RecordStore store(files, clock, {.directory = "/facts"});
  const auto beside = [&files](const char* key) {
    return files.Stat(fmt::format("/facts/.{}.new", key), false).ok();
  };
  files.SetHook([&](std::string_view operation, const std::string& path) {
    if (operation != "replace" || path != "/facts/a") return OkStatus();
    for (const char* key : {"a", "b"})
      EXPECT_TRUE(files.Replace(fmt::format("/facts/.{}.new", key), "half", {}).ok());
    EXPECT_TRUE(store.ReadAll().ok());
    EXPECT_TRUE(beside("a")) << "its writer renames it next";
    EXPECT_FALSE(beside("b")) << "no writer is left";
    return OkStatus();
  });
  ASSERT_TRUE(store.Save("a", "1", false).ok());
  files.SetHook(nullptr);
  ASSERT_TRUE(store.ReadAll().ok());
  EXPECT_FALSE(beside("a"));
}

TEST_P(FileSystemContract, AFailPointBeforeTheWriteLeavesTheOldFact) {
  const RecordStore store(*files_, clock_, {.directory = At("facts")});
  EXPECT_TRUE(store.Save("a", "old", false).ok());
  FailPoints points;
  FailPoints::SetCurrent(&points);
  EXPECT_TRUE(points.Set("fs.save-fact.before", "return(unavailable,planned)").ok());
  EXPECT_EQ(store.Save("a", "new", false).code(), StatusCode::kUnavailable);
  FailPoints::SetCurrent(nullptr);
  EXPECT_EQ(store.ReadAll()->records.at(0).bytes, "old");
}

TEST_P(FileSystemContract, AStateDirectoryHasOneId) {
  EXPECT_EQ(*EnsureStateId(*files_, At("state"), "first"), "first");
  EXPECT_EQ(*EnsureStateId(*files_, At("state"), "second"), "first");
  EXPECT_EQ(NodeAnnotationValue("first", "n1"), "first/n1");
}

TEST(RealFiles, OneThatWasOverwrittenInPartIsWholeAfterTheNextTry) {
  const TempDir dir;
  RealFileSystem files;
  ASSERT_TRUE(files.Replace(dir / "a", "old and long", {}).ok());
  FailPoints points;
  FailPoints::SetCurrent(&points);
  EXPECT_TRUE(points.Set("fs.overwrite.before-cut", "return(unavailable,planned)").ok());
  EXPECT_FALSE(files.Overwrite(dir / "a", "new").ok());
  FailPoints::SetCurrent(nullptr);
  EXPECT_EQ(*files.Read(dir / "a", 100), "new and long");
  EXPECT_TRUE(files.Overwrite(dir / "a", "new").ok());
  EXPECT_EQ(*files.Read(dir / "a", 100), "new");
}

TEST(RealFiles, APipeIsNotOverwritten) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(RealFileSystem().Overwrite(dir / "pipe", "x").ok()) << "nor waited for";
}

INSTANTIATE_TEST_SUITE_P(Real, FileSystemContract, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Fake, FileSystemContract, testing::Values(false));

/// Takes from this thread the capability to read files of other users.
class WithoutRights {
 public:
  WithoutRights() : before_(::setfsuid(65534)) {}
  ~WithoutRights() { ::setfsuid(static_cast<uid_t>(before_)); }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  const int before_;
};

TEST(RealFiles, AListAsksNothingOfItsEntries) {
  const TempDir dir;
  RealFileSystem files;
  const std::string folder = dir.path() + "/d";
  ASSERT_TRUE(files.MakeDirs(folder + "/below", 0750).ok());
  ASSERT_TRUE(files.Replace(folder + "/file", "", {}).ok());
  ASSERT_TRUE(files.MakeSymlink("x", folder + "/link").ok());
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0444), 0);
  {
    const WithoutRights limited;
    EXPECT_FALSE(files.Stat(folder + "/below", false).ok()) << "as if it hung";
    const auto entries = files.List(folder);
    EXPECT_TRUE(entries.ok()) << entries.status();
    std::vector<FileInfo::Kind> kinds;
    for (const auto& entry : entries.value_or(std::vector<DirEntry>())) kinds.push_back(entry.kind);
    using Kind = FileInfo::Kind;
    EXPECT_EQ(kinds, (std::vector{Kind::kDirectory, Kind::kFile, Kind::kSymlink}));
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0750), 0);
}

/// Trees that pods may leave behind: very deep, very wide, unreadable, or full of links to others'
/// files.
class RemoveTree : public testing::Test {
 protected:
  RemoveTree() { EXPECT_EQ(::mkdir(tree().c_str(), 0755), 0); }
  std::string tree() const { return dir_.path() + "/tree"; }
  /// A chain of folders below the tree, with a file in each. Names are short, but the path is far
  /// longer than the kernel allows.
  void MakeChain(int depth) const {
    Fd at(::open(tree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < depth; ++i) {
      ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0);
      const Fd file(::openat(at.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
      ASSERT_TRUE(file.ok());
      at = Fd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSERT_TRUE(at.ok());
    }
  }
  void MakeFiles(int count) const {
    const Fd at(::open(tree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(::mknodat(at.get(), fmt::format("file-{}", i).c_str(), S_IFREG | 0644, 0), 0);
  }
  bool TreeIsThere() const { return std::filesystem::exists(tree()); }

  TempDir dir_;
  RealFileSystem files_;
};

/// Leaves few free descriptors for the rest of a test.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit low = before_;
    low.rlim_cur = limit;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(RemoveTree, ADeepOneGoesWithFewDescriptors) {
  MakeChain(1000);
  const DescriptorLimit limit(64);
  const Status removed = files_.RemoveTree(tree());
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_FALSE(TreeIsThere());
}

TEST_F(RemoveTree, ADeepOneGoesAlsoWhenItHoldsTheNamesThatItsDepthIsMovedTo) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(::mkdir(fmt::format("{}/.lifted-{}", tree(), i).c_str(), 0755), 0);
    ASSERT_EQ(::mkdir(fmt::format("{}/.lifted-{}/full", tree(), i).c_str(), 0755), 0);
  }
  MakeChain(40);
  EXPECT_TRUE(files_.RemoveTree(tree()).ok());
  EXPECT_FALSE(TreeIsThere());
}

TEST_F(RemoveTree, AWideOneGoes) {
  MakeFiles(5000);
  EXPECT_TRUE(files_.RemoveTree(tree()).ok());
  EXPECT_FALSE(TreeIsThere());
}

TEST_F(RemoveTree, LinksAtEveryDepthGoAndWhatTheyPointToStays) {
  ASSERT_TRUE(files_.Replace(dir_.path() + "/outside/file", "mine", {}).ok());
  MakeChain(30);
  std::string at = tree();
  for (int i = 0; i < 30; ++i, at += "/d")
    ASSERT_EQ(::symlink((dir_.path() + "/outside").c_str(), (at + "/link").c_str()), 0);
  EXPECT_TRUE(files_.RemoveTree(tree()).ok());
  EXPECT_FALSE(TreeIsThere());
  EXPECT_EQ(*files_.Read(dir_.path() + "/outside/file", 100), "mine");
}

TEST_F(RemoveTree, AFolderIsMadeInWhatWasThereAndNotInALinkThatTookItsPlace) {
  ASSERT_EQ(::mkdir((dir_.path() + "/victim").c_str(), 0700), 0);
  ASSERT_EQ(::symlink((dir_.path() + "/victim").c_str(), (tree() + "/link").c_str()), 0);
  ASSERT_TRUE(files_.MakeDirs(tree() + "/new/deeper", 0777).ok());
  struct stat info {};
  ASSERT_EQ(::stat((tree() + "/new/deeper").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0777u);
  // An existing folder keeps its mode, also through a link.
  EXPECT_TRUE(files_.MakeDirs(tree() + "/link", 0777).ok());
  ASSERT_EQ(::stat((dir_.path() + "/victim").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0700u);
  // A dangling link is no folder, and no folder is created at its target.
  ASSERT_EQ(::symlink((dir_.path() + "/nothing").c_str(), (tree() + "/dangling").c_str()), 0);
  EXPECT_FALSE(files_.MakeDirs(tree() + "/dangling", 0777).ok());
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/nothing"));
}

TEST_F(RemoveTree, AFolderThatIsMadePassesTheGroupOnLikeTheOneItIsIn) {
  ASSERT_EQ(::chmod(tree().c_str(), 02755), 0);
  for (const mode_t umask_of_us : {022, 0}) {
    const std::string top = fmt::format("{}/{}", tree(), umask_of_us);
    const mode_t before = ::umask(umask_of_us);
    const Status made = files_.MakeDirs(top + "/deeper", 0775);
    ::umask(before);
    ASSERT_EQ(made, OkStatus());
    struct stat info {};
    ASSERT_EQ(::stat((top + "/deeper").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777u, 02775u);
  }
}

TEST(Gzip, AFileIsCompressedWithItsModeAndReadsBack) {
  const TempDir dir;
  RealFileSystem files;
  std::string text;
  for (int i = 0; i < 100000; ++i) text += fmt::format("line {}\n", i);
  ASSERT_TRUE(files.Replace(dir.path() + "/log", text, {.mode = 0640}).ok());
  ASSERT_TRUE(files.Replace(dir.path() + "/log.gz", std::string(text.size(), 'x'), {}).ok());
  ASSERT_TRUE(GzipFile(dir.path() + "/log", dir.path() + "/log.gz").ok());
  struct stat info {};
  ASSERT_EQ(::stat((dir.path() + "/log.gz").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0640u);
  EXPECT_LT(static_cast<size_t>(info.st_size), text.size() / 3);
  std::string back(text.size() + 1, '\0');
  const gzFile file = ::gzopen((dir.path() + "/log.gz").c_str(), "rb");
  const int length = ::gzread(file, back.data(), static_cast<unsigned>(back.size()));
  ::gzclose(file);
  back.resize(static_cast<size_t>(std::max(length, 0)));
  EXPECT_EQ(back, text);
}

TEST(Gzip, WhatCannotBeWrittenLeavesNothing) {
  const TempDir dir;
  RealFileSystem files;
  // A pseudo-random text does not compress, so that zlib's output reaches the limit below.
  std::string noise(1 << 20, '\0');
  std::generate(noise.begin(), noise.end(), [x = 1u]() mutable {
    x = x * 1664525u + 1013904223u;
    return static_cast<char>(x >> 24);
  });
  ASSERT_TRUE(files.Replace(dir.path() + "/log", noise, {}).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64 << 10;
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const Status done = GzipFile(dir.path() + "/log", dir.path() + "/log.gz");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);
  EXPECT_FALSE(done.ok());
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/log.gz"));
  EXPECT_EQ(GzipFile(dir.path() + "/none", dir.path() + "/log.gz").code(), StatusCode::kNotFound);
}

TEST(FakeFileSystem, FaultsHitTheirPrefixOnly) {
  FakeClock clock;
  FakeFileSystem files(clock);
  files.Fail("/state", Unavailable("planned"));
  EXPECT_EQ(files.Replace("/state/a", "x", {}).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(files.Replace("/stateful", "x", {}).ok());
  files.Fail("/state", OkStatus());
  files.SetFull("/state", true);
  EXPECT_EQ(files.Replace("/state/a", "x", {}).code(), StatusCode::kResourceExhausted);
  files.SetFull("/state", false);
  std::vector<std::string> seen;
  files.SetHook([&](std::string_view operation, const std::string& path) {
    seen.push_back(std::string(operation) + " " + path);
    return path == "/dead" ? Cancelled("crashed") : OkStatus();
  });
  EXPECT_TRUE(files.Replace("/state/a", "x", {}).ok());
  EXPECT_EQ(files.Remove("/dead").code(), StatusCode::kCancelled);
  EXPECT_EQ(seen, (std::vector<std::string>{"replace /state/a", "remove /dead"}));
  files.SetMountPoint("/state/a");
  EXPECT_EQ(files.RemoveTree("/state").code(), StatusCode::kFailedPrecondition);
}

TEST(FakeFileSystem, APowerCutLosesWhatWasNotSynced) {
  FakeClock clock;
  FakeFileSystem files(clock);
  EXPECT_TRUE(files.Replace("/d/synced", "old", {.fsync = true}).ok());
  EXPECT_TRUE(files.Replace("/d/synced", "new", {}).ok());
  EXPECT_TRUE(files.Replace("/d/never", "x", {}).ok());
  files.PowerCut();
  EXPECT_EQ(*files.Read("/d/synced", 10), "old");
  EXPECT_EQ(files.Read("/d/never", 10).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace splitlet::fs
