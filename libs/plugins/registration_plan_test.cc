#include "libs/plugins/registration_plan.h"

#include <gtest/gtest.h>

namespace splitlet::plugins {
namespace {

constexpr Clock::Time kNow{1, Duration{1000s}};

PluginSocket At(const std::string& path, uint64_t inode) {
  return {.path = path, .inode = inode, .created = {}};
}
RegisteredPlugin Given(const std::string& path, uint64_t inode) {
  return {.socket = At(path, inode), .plugin = {.socket = path, .name = "disk"}};
}

/// The socket /a in the four maps; inode 0: it is not there.
struct Row {
  const char* name;
  uint64_t desired, actual, running, failed;
  Duration again_in;
  PluginActions want;
};
void ExpectActions(const Row& row) {
  SCOPED_TRACE(row.name);
  std::map<std::string, PluginSocket> desired, running;
  std::map<std::string, RegisteredPlugin> actual;
  std::map<std::string, FailedAttempt> failed;
  if (row.desired != 0) desired["/a"] = At("/a", row.desired);
  if (row.actual != 0) actual["/a"] = Given("/a", row.actual);
  if (row.running != 0) running["/a"] = At("/a", row.running);
  if (row.failed != 0)
    failed["/a"] = {.socket = At("/a", row.failed), .wait = 1s, .again_at = kNow + row.again_in};
  const auto todo = ComputePluginActions(
      {.desired = desired, .actual = actual, .running = running, .failed = failed}, kNow);
  EXPECT_EQ(todo.abandon, row.want.abandon);
  EXPECT_EQ(todo.unregister, row.want.unregister);
  EXPECT_EQ(todo.begin, row.want.begin);
  EXPECT_EQ(todo.next, row.want.next);
}

TEST(ComputePluginActions, ForASocketFoundRegisteredTriedOrFailed) {
  const PluginActions none, begin{.begin = {"/a"}}, unregister{.unregister = {"/a"}};
  const PluginActions abandon{.abandon = {"/a"}};
  const Row kRows[] = {
      {"nothing at all", 0, 0, 0, 0, 0s, none},
      {"a new socket is tried", 7, 0, 0, 0, 0s, begin},
      {"one that is being tried is left", 7, 0, 7, 0, 0s, none},
      {"a registered one is left", 7, 7, 0, 0, 0s, none},
      {"one whose plugin gets its result is left", 7, 7, 7, 0, 0s, none},
      {"a registered one that is gone is unregistered", 0, 7, 0, 0, 0s, unregister},
      {"one created again is unregistered, then tried",
       8,
       7,
       0,
       0,
       0s,
       {.unregister = {"/a"}, .begin = {"/a"}}},
      {"an attempt without its socket is abandoned", 0, 0, 7, 0, 0s, abandon},
      {"an attempt at the socket before is abandoned",
       8,
       0,
       7,
       0,
       0s,
       {.abandon = {"/a"}, .begin = {"/a"}}},
      {"a registration under way is undone when its socket goes",
       0,
       7,
       7,
       0,
       0s,
       {.abandon = {"/a"}, .unregister = {"/a"}}},
      {"and when another socket takes its place",
       8,
       7,
       7,
       0,
       0s,
       {.abandon = {"/a"}, .unregister = {"/a"}, .begin = {"/a"}}},
      {"a failed one waits", 7, 0, 0, 7, 1s, {.next = kNow + 1s}},
      {"a failed one that is due is tried", 7, 0, 0, 7, 0s, begin},
      {"one created again does not wait", 8, 0, 0, 7, 100s, begin},
      {"a failed one that is gone is forgotten", 0, 0, 0, 7, 1s, none},
  };
  for (const auto& row : kRows) ExpectActions(row);
}

TEST(ComputePluginActions, TheNextTimeIsTheEarliest) {
  const std::map<std::string, PluginSocket> desired = {
      {"/a", At("/a", 1)}, {"/b", At("/b", 2)}, {"/c", At("/c", 3)}};
  const std::map<std::string, FailedAttempt> failed = {
      {"/a", {.socket = At("/a", 1), .again_at = kNow + 9s}},
      {"/b", {.socket = At("/b", 2), .again_at = kNow + 3s}},
  };
  const auto todo = ComputePluginActions(
      {.desired = desired, .actual = {}, .running = {}, .failed = failed}, kNow);
  EXPECT_EQ(todo, (PluginActions{.begin = {"/c"}, .next = kNow + 3s}));
}

TEST(ComputeFailedAttempt, DoublesUpToTwoMinutesAndTwoSeconds) {
  FailedAttempt failed = ComputeFailedAttempt(nullptr, At("/a", 1), kNow);
  for (const Duration want :
       {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16000ms, 32000ms, 64000ms, 122000ms, 122000ms}) {
    EXPECT_EQ(failed.wait, want);
    EXPECT_EQ(failed.again_at, kNow + want);
    failed = ComputeFailedAttempt(&failed, At("/a", 1), kNow);
  }
}

TEST(ComputeFailedAttempt, ASocketCreatedAgainStartsAtTheFirstDelay) {
  const FailedAttempt before{.socket = At("/a", 1), .wait = 64s, .again_at = kNow};
  EXPECT_EQ(ComputeFailedAttempt(&before, At("/a", 2), kNow).wait, 500ms);
}

TEST(IsServedElsewhere, OnlyByTheSamePluginWithTheSameEndpoint) {
  const Plugin gone{.socket = "/a", .type = kCsiPlugin, .name = "disk", .endpoint = "/csi.sock"};
  const struct {
    const char* name;
    Plugin other;
    bool want;
  } kCases[] = {
      {"the plugin itself", gone, false},
      {"the same at another socket",
       {.socket = "/b", .type = kCsiPlugin, .name = "disk", .endpoint = "/csi.sock"},
       true},
      {"a newer version with its own endpoint",
       {.socket = "/b", .type = kCsiPlugin, .name = "disk", .endpoint = "/csi-2.sock"},
       false},
      {"another plugin at this endpoint",
       {.socket = "/b", .type = kCsiPlugin, .name = "tape", .endpoint = "/csi.sock"},
       false},
      {"another type of this name",
       {.socket = "/b", .type = kDraPlugin, .name = "disk", .endpoint = "/csi.sock"},
       false},
  };
  for (const auto& c : kCases) {
    std::map<std::string, RegisteredPlugin> actual;
    actual[c.other.socket].plugin = c.other;
    EXPECT_EQ(IsServedElsewhere(actual, gone), c.want) << c.name;
  }
}

}  // namespace
}  // namespace splitlet::plugins
