#include "libs/logs/log_reader.h"

#include <gtest/gtest.h>

#include <deque>

#include "libs/logs/fake_log_files.h"

namespace splitlet::logs {
namespace {

constexpr const char* kPath = "/log/0.log";

/// Each wait triggers the next event; after the last one the container has ended.
class Script final : public LogWatch {
 public:
  bool Wait() override {
    if (steps.empty()) return false;
    const auto step = steps.front();
    steps.pop_front();
    step();
    return true;
  }
  std::deque<std::function<void()>> steps;
};

class LogReading : public ::testing::Test {
 protected:
  static std::string Line(const std::string& rest, int second = 0) {
    return "2026-01-02T03:04:0" + std::to_string(second) + "Z " + rest + "\n";
  }
  std::string Read(const LogOptions& options) {
    std::string text;
    const LogSource source{.files = logs,
                           .watch = script,
                           .is_writing = [this] { return !script.steps.empty(); },
                           .is_cancelled = [this] { return cancelled; }};
    result = ReadLog(source, kPath, options, [&text, this](Stream, std::string_view bytes) {
      text += bytes;
      return sink;
    });
    return text;
  }

  FakeLogFiles logs;
  Script script;
  bool cancelled = false;
  Status sink;
  StatusOr<LogResult> result = Unknown("not read");
};

TEST_F(LogReading, EachOption) {
  logs.Make(kPath, Line("stdout F one", 1) + Line("stderr P tw", 2) + Line("stderr F o", 3) +
                       "no line of a runtime\n" + Line("stdout F three", 4));
  const auto at = [](int second) {
    return WallTime{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + 3h + 4min +
                    std::chrono::seconds{second}};
  };
  const struct {
    const char* name;
    LogOptions options;
    const char* want;
  } kCases[] = {
      {"all; parts are joined, a bad line is left out", {}, "one\ntwo\nthree\n"},
      {"the last line", {.tail_lines = 1}, "three\n"},
      {"physical lines count", {.tail_lines = 3}, "o\nthree\n"},
      {"more than there are", {.tail_lines = 100}, "one\ntwo\nthree\n"},
      {"none", {.tail_lines = 0}, ""},
      {"since a line", {.since = at(3)}, "o\nthree\n"},
      {"since, of the last", {.tail_lines = 1, .since = at(9)}, ""},
      {"cut after bytes", {.limit_bytes = 6}, "one\ntw"},
      {"times, one for each line that begins",
       {.timestamps = true},
       "2026-01-02T03:04:01.000000000Z one\n2026-01-02T03:04:02.000000000Z two\n"
       "2026-01-02T03:04:04.000000000Z three\n"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Read(c.options), c.want);
    EXPECT_TRUE(result.ok()) << result.status();
  }
  Read({});
  EXPECT_EQ(result->unreadable_lines, 1u);
}

TEST_F(LogReading, ALastLineWithoutALineBreakIsShownToo) {
  logs.Make(kPath, Line("stdout F one") + "2026-01-02T03:04:05Z stdout F two");
  EXPECT_EQ(Read({}), "one\ntwo\n");
  EXPECT_EQ(Read({.tail_lines = 1}), "one\n") << "it does not count, and what counts ends it";
}

TEST_F(LogReading, WhatIsNoLogOfAContainerIsAnError) {
  logs.Make(kPath, "hello\n");
  EXPECT_EQ(Read({}), "");
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(result.status()).find("unsupported log format: \"hello\""), std::string::npos);
  EXPECT_EQ(Read({.format = Format::kRaw}), "hello\n") << "a process's log has no format";
}

TEST_F(LogReading, ALineThatNeverEndsTakesNoMemoryWithoutEnd) {
  logs.Make(kPath, "2026-01-02T03:04:05Z stdout F " + std::string(3 * kMaxLineBytes, 'x') + "\n" +
                       Line("stdout F next"));
  const std::string text = Read({});
  EXPECT_LE(text.size(), kMaxLineBytes + 10);
  EXPECT_TRUE(text.ends_with("x\nnext\n"));
}

TEST_F(LogReading, AMissingFileIsAnErrorWithItsPath) {
  Read({});
  EXPECT_EQ(result.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(result.status()).find(kPath), std::string::npos);
}

TEST_F(LogReading, FollowsWhatIsWrittenUntilTheContainerEnds) {
  logs.Make(kPath, Line("stdout F one"));
  script.steps = {[this] { logs.Append(kPath, "2026-01-02T03:04:05Z stdo"); },
                  [this] { logs.Append(kPath, "ut F two\n2026"); },
                  [this] { logs.Append(kPath, "-01-02T03:04:05Z stdout F three\n"); }};
  EXPECT_EQ(Read({.follow = true}), "one\ntwo\nthree\n");
  script.steps = {[this] { logs.Append(kPath, Line("stdout F four")); }};
  EXPECT_EQ(Read({.follow = true, .tail_lines = 1}), "three\nfour\n");
}

TEST_F(LogReading, FollowsOverARotation) {
  logs.Make(kPath, Line("stdout F one"));
  script.steps = {[this] { logs.Rename(kPath, "/log/0.log.20260102"); },
                  [this] { logs.Append("/log/0.log.20260102", Line("stdout F two")); },
                  [this] {
                    logs.Append("/log/0.log.20260102", Line("stdout F three"));
                    logs.Make(kPath, Line("stdout F four"));
                  },
                  [this] { logs.Append(kPath, Line("stdout F five")); }};
  EXPECT_EQ(Read({.follow = true}), "one\ntwo\nthree\nfour\nfive\n");
}

TEST_F(LogReading, ARotationJustBeforeTheEndLosesNothing) {
  logs.Make(kPath, Line("stdout F one"));
  script.steps = {[this] {
    logs.Append(kPath, Line("stdout F two"));
    logs.Rename(kPath, "/log/0.log.20260102");
    logs.Make(kPath, Line("stdout F three"));
  }};
  EXPECT_EQ(Read({.follow = true}), "one\ntwo\nthree\n");
}

TEST_F(LogReading, AFileThatIsEmptiedBeginsAnew) {
  logs.Make(kPath, Line("stdout F one") + Line("stdout F two"));
  script.steps = {[this] {
    logs.Empty(kPath);
    logs.Append(kPath, Line("stdout F three"));
  }};
  EXPECT_EQ(Read({.follow = true}), "one\ntwo\nthree\n");
}

TEST_F(LogReading, EndsWhenItsReaderHasHadEnough) {
  logs.Make(kPath, Line("stdout F one"));
  script.steps = {[this] { cancelled = true; }, [] { FAIL() << "it went on"; }};
  EXPECT_EQ(Read({.follow = true}), "one\n");
  EXPECT_TRUE(result.ok() && result->cancelled);
  cancelled = false;
  sink = Unavailable("the pipe is closed");
  Read({});
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace splitlet::logs
