#include "services/config-source/sources/file/catalog.h"

#include <gtest/gtest.h>

namespace splitlet::config_source {
namespace {

const WallTime kWall = WallFromNanos(1'700'000'000'000'000'000);
const Clock::Time kStart{1, 100s};

SourcePodRef PodFrom(const std::string& path, const std::string& uid, const std::string& name) {
  return std::make_shared<const SourcePod>(
      SourcePod{uid, name, "default", path, std::make_shared<const std::string>(uid + name)});
}

Listing Listed(std::vector<std::string> paths) {
  return {.outcome = Listing::Outcome::kListed, .paths = std::move(paths)};
}
Listing Missing() { return {.outcome = Listing::Outcome::kMissing}; }
Listing Unreadable() {
  return {.outcome = Listing::Outcome::kUnreadable, .status = PermissionDenied("no permission")};
}

struct Catalog {
  FileCatalog files{20s};

  void Good(const std::string& path, const std::string& uid, const std::string& name,
            uint64_t content = 1) {
    files.OnRead({path, content, PodFrom(path, uid, name), {}}, {kStart, kWall});
  }
  void Nothing(const std::string& path, Clock::Time at) {
    Inspection inspection;
    inspection.path = path;
    inspection.found = Inspection::Found::kNone;
    files.OnInspected(inspection, {at, kWall});
  }
  void Bad(const std::string& path, uint64_t content = 2) {
    BadOnce(path, content);
    BadOnce(path, content);
  }
  void BadOnce(const std::string& path, uint64_t content = 2) {
    files.OnRead({path, content, InvalidArgument("{}: spec: broken", path), {}}, {kStart, kWall});
  }
  /// "u1 u2!|complete": wanted UIDs, those with a problem marked.
  std::string Show() const {
    const SourceSet set = files.Set();
    std::string text;
    for (const WantedPod& wanted : set.pods)
      text += wanted.pod->uid + (wanted.problem.empty() ? " " : "! ");
    for (const auto& uid : set.undecided) text += "(" + uid + ") ";
    return text + (set.complete ? "complete" : "incomplete: " + set.reason);
  }
};

TEST(FileCatalog, IsIncompleteUntilEverythingWasRead) {
  Catalog c;
  EXPECT_EQ(c.Show(), "incomplete: not read yet");
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Good("/m/a", "u1", "a");
  EXPECT_EQ(c.Show(), "u1 incomplete: /m/b: not read yet");
  c.Good("/m/b", "u2", "b");
  EXPECT_EQ(c.Show(), "u1 u2 complete");
}

TEST(FileCatalog, AnEmptyDirectoryWantsNothing) {
  Catalog c;
  c.files.OnListing(Listed({}), kStart);
  EXPECT_EQ(c.Show(), "complete");
}

TEST(FileCatalog, APathThatNeverWasIsCompleteAndEmpty) {
  Catalog c;
  c.files.OnListing(Missing(), kStart);
  EXPECT_EQ(c.Show(), "complete");
}

TEST(FileCatalog, ABrokenManifestKeepsItsLastGoodPod) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.Good("/m/b", "u2", "b");
  c.Bad("/m/a");
  EXPECT_EQ(c.Show(), "u1! u2 complete");
  ASSERT_EQ(c.files.Set().problems.size(), 1u);
  EXPECT_EQ(c.files.Set().problems[0], (Problem{"/m/a", "/m/a: spec: broken", kWall}));
  c.Good("/m/a", "u3", "a", 3);
  EXPECT_EQ(c.Show(), "u3 u2 complete");
  EXPECT_TRUE(c.files.Set().problems.empty());
}

TEST(FileCatalog, AHalfWrittenManifestIsNoProblemUntilASecondLook) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.BadOnce("/m/a");
  EXPECT_EQ(c.Show(), "u1 complete");
  EXPECT_TRUE(c.files.Set().problems.empty());
  const auto version = c.files.version();
  c.BadOnce("/m/a");
  EXPECT_EQ(c.Show(), "u1! complete");
  EXPECT_GT(c.files.version(), version);
}

TEST(FileCatalog, ABrokenManifestThatWasNeverGoodMakesTheSourceIncomplete) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Bad("/m/a");
  c.Good("/m/b", "u2", "b");
  EXPECT_EQ(c.Show(), "u2 incomplete: /m/a: spec: broken");
}

TEST(FileCatalog, ARememberedPodIsUndecidedUntilItsManifestIsRead) {
  Catalog c;
  c.files.Restore(PodFrom("/m/a", "u1", "a"));
  c.files.OnListing(Listed({"/m/a"}), kStart);
  EXPECT_EQ(c.Show(), "(u1) incomplete: /m/a: not read yet");
  c.Bad("/m/a");
  EXPECT_EQ(c.Show(), "u1! complete");
}

TEST(FileCatalog, AVanishedManifestGoesWhenASecondLookMissesItToo) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.Good("/m/b", "u2", "b");
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s);
  EXPECT_EQ(c.Show(), "u1 u2 complete");
  EXPECT_EQ(c.files.NextInspection(kStart + 1s), kVanishedGap);
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s + kVanishedGap / 2);
  EXPECT_EQ(c.Show(), "u1 u2 complete");
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s + kVanishedGap);
  EXPECT_EQ(c.Show(), "u2 complete");
}

TEST(FileCatalog, AnEditorMayMoveAManifestAwayForAMoment) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.files.OnListing(Listed({}), kStart + 1s);
  c.files.OnListing(Listed({"/m/a"}), kStart + 1s + kVanishedGap * 2);
  EXPECT_EQ(c.Show(), "u1 complete");
  EXPECT_EQ(c.files.NextInspection(kStart + 2s), 20s);
}

TEST(FileCatalog, ARenamedManifestTakesOverAfterTheSecondLook) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "web");
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s);
  c.Good("/m/b", "u2", "web");
  EXPECT_EQ(c.Show(), "u1 complete");
  EXPECT_TRUE(c.files.Set().problems.empty()) << "which is not in two files";
  EXPECT_EQ(c.files.NextInspection(kStart + 1s), kVanishedGap);
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s + kVanishedGap);
  EXPECT_EQ(c.Show(), "u2 complete");
}

/// An editor moves it away and back, while a copy of it is in the directory.
TEST(FileCatalog, ACopyDoesNotTakeOverWhileAManifestIsAwayForAMoment) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/a~"}), kStart);
  c.Good("/m/a", "u1", "web");
  c.Good("/m/a~", "u2", "web");
  c.Nothing("/m/a", kStart + 1s);
  EXPECT_EQ(c.Show(), "u1 complete");
  EXPECT_EQ(c.files.Set().problems.size(), 1u) << "of the copy, as before";
  c.files.OnInspected({.path = "/m/a",
                       .found = Inspection::Found::kManifest,
                       .read = {"/m/a", 1, PodFrom("/m/a", "u1", "web"), {}}},
                      {kStart + 1s + kVanishedGap * 2, kWall});
  EXPECT_EQ(c.Show(), "u1 complete");
  EXPECT_EQ(c.files.Set().problems.size(), 1u);
}

TEST(FileCatalog, AManifestAndItsCopyGoTogether) {
  for (const bool copy_first : {false, true}) {
    SCOPED_TRACE(copy_first);
    Catalog c;
    c.files.OnListing(Listed({"/m/a", "/m/a~"}), kStart);
    c.Good("/m/a", "u1", "web");
    c.Good("/m/a~", "u2", "web");
    c.Nothing(copy_first ? "/m/a~" : "/m/a", kStart + 1s);
    EXPECT_EQ(c.Show(), "u1 complete");
    c.Nothing(copy_first ? "/m/a" : "/m/a~", kStart + 1s + 1ms);
    EXPECT_EQ(c.Show(), "u1 complete");
    for (const char* path : {"/m/a", "/m/a~"}) {
      c.Nothing(path, kStart + 1s + 1ms + kVanishedGap);
      EXPECT_EQ(c.Show(), "complete") << "the copy never was the pod";
    }
  }
}

TEST(FileCatalog, AMissingPathRemovesOnlyAfterTwoLooksFarApart) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.files.OnListing(Missing(), kStart + 1s);
  EXPECT_TRUE(c.Show().starts_with("u1 incomplete"));
  EXPECT_EQ(c.files.NextInspection(kStart + 1s), kNoListingRetry);
  c.files.OnListing(Missing(), kStart + 20s);
  EXPECT_TRUE(c.Show().starts_with("u1 incomplete"));
  c.files.OnListing(Missing(), kStart + 21s);
  EXPECT_EQ(c.Show(), "complete");
}

TEST(FileCatalog, APathThatComesBackUnreadableIsLookedAtNowAndThen) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.files.OnListing(Missing(), kStart + 1s);
  for (int second = 2; second < 60; ++second) {
    c.files.OnListing(Unreadable(), kStart + std::chrono::seconds(second));
    EXPECT_EQ(c.files.NextInspection(kStart + std::chrono::seconds(second)), kNoListingRetry);
    EXPECT_EQ(c.Show(), "u1 incomplete: no permission");
  }
}

TEST(FileCatalog, APathThatComesBackInTimeRemovesNothing) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.files.OnListing(Missing(), kStart + 1s);
  c.files.OnListing(Listed({"/m/a"}), kStart + 5s);
  EXPECT_EQ(c.Show(), "u1 complete");
  c.files.OnListing(Missing(), kStart + 22s);
  EXPECT_TRUE(c.Show().starts_with("u1 incomplete"));
}

TEST(FileCatalog, APathThatComesBackEmptyIsGivenTimeToBeFilled) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Good("/m/a", "u1", "a");
  c.Good("/m/b", "u2", "b");
  c.files.OnListing(Missing(), kStart + 1s);
  c.files.OnListing(Listed({}), kStart + 5s);
  c.files.OnListing(Listed({"/m/b"}), kStart + 6s);
  EXPECT_EQ(c.Show(), "u1 u2 complete");
  c.files.OnListing(Listed({"/m/b"}), kStart + 21s);
  EXPECT_EQ(c.Show(), "u2 complete");
}

TEST(FileCatalog, AMissingPathAfterARestartKeepsTheRememberedPods) {
  Catalog c;
  c.files.Restore(PodFrom("/m/a", "u1", "a"));
  c.files.OnListing(Missing(), kStart);
  EXPECT_TRUE(c.Show().starts_with("u1 incomplete"));
  c.files.OnListing(Missing(), kStart + 20s);
  EXPECT_EQ(c.Show(), "complete");
}

TEST(FileCatalog, WhatCannotBeReadIsIncompleteNeverEmpty) {
  Catalog c;
  c.files.Restore(PodFrom("/m/a", "u1", "a"));
  c.files.OnListing(Unreadable(), kStart);
  EXPECT_EQ(c.Show(), "u1 incomplete: no permission");
  c.files.OnListing(Unreadable(), kStart + 1h);
  EXPECT_EQ(c.Show(), "u1 incomplete: no permission");
  c.files.OnListing(Listed({"/m/a"}), kStart + 2h);
  c.Good("/m/a", "u1", "a");
  EXPECT_EQ(c.Show(), "u1 complete");
}

TEST(FileCatalog, OfTwoManifestsOfOnePodTheFirstByNameWins) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Good("/m/a", "u1", "web");
  c.Good("/m/b", "u2", "web");
  EXPECT_EQ(c.Show(), "u1 complete");
  ASSERT_EQ(c.files.Set().problems.size(), 1u);
  EXPECT_EQ(c.files.Set().problems[0].where, "/m/b");
  ASSERT_EQ(c.files.Set().duplicates.size(), 1u);
  EXPECT_EQ(c.files.Set().duplicates[0]->uid, "u2");
  EXPECT_EQ(c.files.Set().problems[0].reason,
            "the same pod default/web is in /m/a, which comes first");
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s);
  EXPECT_EQ(c.Show(), "u1 complete");
  c.files.OnListing(Listed({"/m/b"}), kStart + 1s + kVanishedGap);
  EXPECT_EQ(c.Show(), "u2 complete");
}

TEST(FileCatalog, OfTwoManifestsWithOneUidTheFirstByNameWins) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  c.Good("/m/a", "fixed", "one");
  c.Good("/m/b", "fixed", "two");
  EXPECT_EQ(c.Show(), "fixed complete");
  EXPECT_EQ(c.files.Set().problems.size(), 1u);
}

TEST(FileCatalog, ABrokenManifestIsLookedAtSoonThenSlower) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  std::vector<Duration> waits;
  for (int i = 0; i < 10; ++i) {
    c.BadOnce("/m/a");
    waits.push_back(c.files.NextInspection(kStart));
  }
  EXPECT_EQ(waits[0], 100ms);
  EXPECT_EQ(waits[1], 200ms);
  EXPECT_EQ(waits[9], 20s);
  c.BadOnce("/m/a", 3);
  EXPECT_EQ(c.files.NextInspection(kStart), 100ms);
}

TEST(FileCatalog, AManifestThatIsBrokenAnewAtEachLookIsLookedAtSlowerToo) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a"}), kStart);
  c.Good("/m/a", "u1", "a");
  std::vector<Duration> waits;
  for (uint64_t content = 2; content < 12; ++content) {
    c.BadOnce("/m/a", content);
    waits.push_back(c.files.NextInspection(kStart));
    EXPECT_EQ(c.Show(), waits.size() < kRestlessReads ? "u1 complete" : "u1! complete");
  }
  EXPECT_EQ(waits[0], 100ms);
  EXPECT_EQ(waits[1], 200ms);
  EXPECT_EQ(waits[9], 20s);
  c.Good("/m/a", "u1", "a", 20);
  EXPECT_EQ(c.Show(), "u1 complete");
  c.BadOnce("/m/a", 21);
  EXPECT_EQ(c.files.NextInspection(kStart), 100ms);
}

TEST(FileCatalog, WhatMeansTheSameIsNoNewVersion) {
  Catalog c;
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart);
  const auto pod = PodFrom("/m/a", "u1", "a");
  c.files.OnRead({"/m/a", 1, pod, {}}, {kStart, kWall});
  c.Bad("/m/b");
  const auto version = c.files.version();
  c.files.OnListing(Listed({"/m/a", "/m/b"}), kStart + 20s);
  c.files.OnRead({"/m/a", 1, pod, {}}, {kStart + 20s, kWall + 20s});
  c.Bad("/m/b");
  EXPECT_EQ(c.files.version(), version);
}

}  // namespace
}  // namespace splitlet::config_source
