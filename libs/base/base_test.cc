#include <gtest/gtest.h>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/fail_point.h"
#include "libs/base/fake_span_sink.h"
#include "libs/base/hash.h"
#include "libs/base/one_line.h"
#include "libs/base/random.h"
#include "libs/base/span.h"
#include "libs/base/status.h"
#include "libs/base/text.h"
#include "libs/base/trace.h"

namespace splitlet {
namespace {

Status Fails() {
  RETURN_IF_ERROR(NotFound("no pod {}", "web"), "stop {}", "abc");
  return OkStatus();
}

StatusOr<int> Doubles(const StatusOr<int>& in) {
  ASSIGN_OR_RETURN(const int n, in, "read n");
  return 2 * n;
}

TEST(StatusTest, ContextIsPutBeforeTheReasonAndTheCodeIsKept) {
  EXPECT_EQ(ToString(Fails()), "stop abc: no pod web (NOT_FOUND)");
  EXPECT_EQ(Doubles(21).value(), 42);
  EXPECT_EQ(ToString(Doubles(Unavailable("away")).status()), "read n: away (UNAVAILABLE)");
  EXPECT_EQ(ToString(Unknown("exec format error")), "exec format error");
}

TEST(StatusTest, AnAwaitedErrorStaysOneWithContextAndIsAnotherThanTheSameError) {
  const Status plain = Unavailable("no kubeconfig");
  EXPECT_FALSE(IsAwaited(plain));
  EXPECT_FALSE(IsAwaited(OkStatus()));
  const Status awaited = Awaited(plain);
  EXPECT_TRUE(IsAwaited(Annotate(awaited, "list")));
  EXPECT_EQ(ToString(awaited), ToString(plain));
  EXPECT_NE(awaited, plain);
}

Status Guarded() {
  FAIL_POINT("base.test.before");
  return OkStatus();
}

bool Dropped() { return FAIL_POINT_DROP("base.test.drop"); }

TEST(FailPointTest, Terms) {
  const struct {
    const char* name;
    const char* term;
    std::vector<bool> fails;  // result of each call
  } kCases[] = {
      {"off does nothing", "off", {false, false}},
      {"return fails each call", "return(unavailable)", {true, true, true}},
      {"a count ends", "2*return(unavailable,busy)->off", {true, true, false, false}},
      {"a step without successor ends in off", "1*return(aborted)", {true, false}},
      {"a probability of nothing never acts", "0%return(aborted)", {false, false}},
      {"steps follow each other", "1*off->1*return(aborted)", {false, true, false}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FailPoints points({[] {}, [](int64_t) {}});
    FailPoints::SetCurrent(&points);
    ASSERT_TRUE(points.Set("base.test.before", c.term).ok());
    for (const bool fails : c.fails) EXPECT_EQ(!Guarded().ok(), fails);
    FailPoints::SetCurrent(nullptr);
  }
}

TEST(FailPointTest, BadTermsAreRefusedWithAReason) {
  const struct {
    const char* term;
    const char* want;
  } kCases[] = {
      {"explode", "unknown action explode"},
      {"return(nonsense)", "unknown code nonsense"},
      {"delay(5)", "unit us, ms, s, m or h is missing"},
      {"delay(-5s)", "delay: bad duration -5s"},
      {"shift", "shift: bad duration"},
      {"shift(1y)", "unit us, ms, s, m or h is missing"},
      {"shift(nans)", "bad duration nans"},
      {"shift(-1e12h)", "bad duration -1e12h"},
      {"x*crash", "bad number before *"},
      {"return(aborted", "closing parenthesis"},
      {"150%return(aborted)", "bad probability 150%: want 0 to 100"},
      {"nan%crash", "bad probability nan%"},
      {"2.5*crash", "bad count 2.5*: want a whole number"},
      {"inf*crash", "bad count inf*"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.term);
    FailPoints points;
    const Status status = points.SetAll(std::string("a.b=") + c.term);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(Message(status).find(c.want), std::string::npos) << Message(status);
  }
}

TEST(FailPointTest, ATermWhoseCountsAreUsedUpIsOff) {
  FailPoints points({[] {}, [](int64_t) {}});
  FailPoints::SetCurrent(&points);
  const auto found = [&points] {
    for (const auto& info : points.List())
      if (info.name == "base.test.before") return info;
    return FailPoints::Info{};
  };
  for (const char* term : {"2*return(unavailable)", "2*return(unavailable)->off"}) {
    SCOPED_TRACE(term);
    ASSERT_TRUE(points.Set("base.test.before", term).ok());
    EXPECT_FALSE(Guarded().ok());
    EXPECT_EQ(found().term, term);
    const uint64_t hits = found().hits;
    EXPECT_FALSE(Guarded().ok());
    EXPECT_EQ(found().term, "off");
    EXPECT_EQ(found().hits, hits + 1);
    EXPECT_TRUE(Guarded().ok());
  }
  EXPECT_FALSE(fail_point_internal::Armed());
  FailPoints::SetCurrent(nullptr);
}

TEST(FailPointTest, DropCrashAndDelayAct) {
  int crashes = 0;
  int64_t slept = 0;
  FailPoints points({[&] { ++crashes; }, [&](int64_t ns) { slept += ns; }});
  FailPoints::SetCurrent(&points);
  ASSERT_TRUE(points.SetAll("base.test.drop=1*drop;base.test.before=1*crash->1*delay(20ms)").ok());
  EXPECT_TRUE(Dropped());
  EXPECT_FALSE(Dropped());
  EXPECT_FALSE(Guarded().ok());
  EXPECT_TRUE(Guarded().ok());
  EXPECT_EQ(crashes, 1);
  EXPECT_EQ(slept, 20'000'000);
  FailPoints::SetCurrent(nullptr);
}

TEST(FailPointTest, SitesAreListedBeforeTheyRunAndALockedSetRefuses) {
  FailPoints points;
  bool found = false;
  for (const auto& info : points.List())
    found |= info.name == "base.test.drop" && info.term == "off";
  EXPECT_TRUE(found);
  points.Lock();
  EXPECT_EQ(points.Set("base.test.drop", "drop").code(), StatusCode::kFailedPrecondition);
}

TEST(ClockTest, TheWallClockOfAProcessCanBeShiftedAndNothingElseOfIt) {
  FailPoints points;
  FailPoints::SetCurrent(&points);
  const RealClock clock;
  const auto jump = [&](const char* term) {
    EXPECT_TRUE(points.Set("clock.wall", term).ok());
    const WallTime wall = clock.WallNow();
    const Clock::Time now = clock.Now();
    points.Clear("clock.wall");
    EXPECT_LT(clock.Now() - now, 1min) << term;
    return std::chrono::round<std::chrono::hours>(wall - clock.WallNow());
  };
  EXPECT_EQ(jump("shift(2h)"), 2h);
  EXPECT_EQ(jump("shift(-3600s)"), -1h);
  EXPECT_EQ(jump("shift(-10000h)"), -10000h);
  EXPECT_EQ(jump("1*off->shift(1h)"), 0h);
  EXPECT_EQ(jump("delay(0s)"), 0h);
  FailPoints::SetCurrent(nullptr);
}

TEST(ClockTest, Rfc3339) {
  const WallTime time =
      WallTime{std::chrono::sys_days{std::chrono::year{2026} / 2 / 3}} + 3723s + 5ms;
  EXPECT_EQ(FormatRfc3339(time), "2026-02-03T01:02:03Z");
  EXPECT_EQ(FormatRfc3339Micro(time), "2026-02-03T01:02:03.005000Z");
}

TEST(ClockTest, RemainingIsNeverNegative) {
  FakeClock clock;
  const Deadline deadline = After(clock, 5s);
  EXPECT_EQ(Remaining(clock, deadline), 5s);
  clock.Advance(6s);
  EXPECT_EQ(Remaining(clock, deadline), 0s);
}

TEST(CancelTokenTest, TellsEachCallbackOnce) {
  CancelToken token;
  int told = 0;
  const int removed = token.Add([&] { told += 100; });
  token.Add([&] { ++told; });
  token.Remove(removed);
  token.Cancel();
  token.Cancel();
  EXPECT_EQ(told, 1);
  token.Add([&] { ++told; });
  EXPECT_EQ(told, 2);
}

TEST(HashTest, KnownValues) {
  EXPECT_EQ(Fnv1a32(""), 2166136261U);
  EXPECT_EQ(Fnv1a32("a"), 0xE40C292CU);
  EXPECT_EQ(HexHash("a"), "af63dc4c8601ec8c");
}

TEST(RandomTest, TheSeedDecides) {
  Random a(7);
  Random b(7);
  EXPECT_EQ(a.Next(), b.Next());
  for (int i = 0; i < 100; ++i) {
    const Duration d = a.Jitter(10s, 0.5);
    EXPECT_GE(d, 10s);
    EXPECT_LT(d, 15s);
  }
}

TEST(TraceTest, EachTraceHasAnIdOfItsOwn) {
  Random a(7);
  Random b(7);
  const std::string first = MakeTraceparent(a, true);
  EXPECT_EQ(first, MakeTraceparent(b, true));
  EXPECT_EQ(first.size(), 55u);
  EXPECT_EQ(TraceIdOf(first), first.substr(3, 32));
  EXPECT_EQ(SpanIdOf(first), first.substr(36, 16));
  EXPECT_NE(TraceIdOf(first), TraceIdOf(MakeTraceparent(a, true)));
}

TEST(TraceTest, OnlyWhatIsWellFormedHasAnId) {
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7";
  const std::string zeros(32, '0');
  const struct {
    const char* name;
    std::string text, want;
    bool sampled = false;
  } kCases[] = {
      {"sampled", "00-" + id + "-" + span + "-01", id, true},
      {"sampled, with a flag of a later version", "00-" + id + "-" + span + "-03", id, true},
      {"not sampled", "00-" + id + "-" + span + "-00", id},
      {"nothing", "", ""},
      {"another version", "01-" + id + "-" + span + "-01", ""},
      {"an id of zeros", "00-" + zeros + "-" + span + "-01", ""},
      {"a span of zeros", "00-" + id + "-" + zeros.substr(16) + "-01", ""},
      {"upper case", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + span + "-01", ""},
      {"another separator", "00-" + id + "_" + span + "-01", ""},
      {"no flags", "00-" + id + "-" + span + "-", ""},
      {"flags that are no number", "00-" + id + "-" + span + "-0x", ""},
      {"something behind", "00-" + id + "-" + span + "-01-x", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(TraceIdOf(c.text), c.want);
    EXPECT_EQ(SpanIdOf(c.text), c.want.empty() ? "" : span);
    EXPECT_EQ(IsSampled(c.text), c.sampled);
    EXPECT_EQ(TraceIdOf(Unsampled(c.text)), c.want);
    EXPECT_FALSE(IsSampled(Unsampled(c.text)));
  }
}

// Spans.

class SpanTest : public testing::Test {
 protected:
  FakeClock clock_;
  std::shared_ptr<FakeSpanSink> kept_ = std::make_shared<FakeSpanSink>(clock_);
  SpanSinkScope scope_{kept_};
  Random random_{7};
};

TEST_F(SpanTest, AStepIsTheChildOfTheStepBeforeIt) {
  Span first = Span::Begin("change", random_);
  Span second("put", SpanKind::kProducer, first.traceparent());
  second.Set("key", "uid");
  clock_.Advance(3ms);
  second.End(NotFound("no bus"));
  second.End();
  first.End();
  ASSERT_EQ(kept_->spans().size(), 2u);
  const SpanRecord put = kept_->spans()[0];
  const SpanRecord change = kept_->spans()[1];
  EXPECT_EQ(put.trace_id, change.trace_id);
  EXPECT_EQ(put.parent_id, change.span_id);
  EXPECT_EQ(change.parent_id, "");
  EXPECT_EQ(put.span_id, "0000000000000001");
  EXPECT_EQ(put.end - put.begin, 3ms);
  EXPECT_EQ(put.kind, SpanKind::kProducer);
  EXPECT_EQ(put.status.code(), StatusCode::kNotFound);
  EXPECT_EQ(put.attributes.size(), 1u);
  EXPECT_EQ(second.traceparent(), Traceparent(put.trace_id, put.span_id, true));
}

TEST_F(SpanTest, AStepEndsWithItsScopeUnlessNothingHappened) {
  const std::string parent = MakeTraceparent(random_, true);
  {
    Span moved("a", SpanKind::kServer, parent);
    const Span kept = std::move(moved);
    Span nothing("b", SpanKind::kServer, parent);
    nothing.Discard();
  }
  ASSERT_EQ(kept_->spans().size(), 1u);
  EXPECT_EQ(kept_->spans()[0].name, "a");
}

TEST_F(SpanTest, WhatIsNotSampledGoesOnAsItCame) {
  for (const std::string& parent :
       {std::string(), std::string("00-abc-def-01"), MakeTraceparent(random_, false)}) {
    const Span span("put", SpanKind::kProducer, parent);
    EXPECT_EQ(span.traceparent(), parent);
    EXPECT_FALSE(span.recorded());
  }
  kept_->samples = false;
  EXPECT_FALSE(IsSampled(Span::Begin("change", random_).traceparent()));
  EXPECT_TRUE(kept_->spans().empty());
}

TEST_F(SpanTest, WithoutASinkATraceHasAnIdAllTheSame) {
  SpanSink::SetCurrent(nullptr);
  const Span first = Span::Begin("change", random_);
  EXPECT_NE(TraceIdOf(first.traceparent()), "");
  EXPECT_FALSE(first.recorded());
  const std::string sampled = MakeTraceparent(random_, true);
  EXPECT_EQ(Span("put", SpanKind::kProducer, sampled).traceparent(), sampled);
}

TEST(TextTest, WhatIsText) {
  const struct {
    const char* name;
    std::string_view bytes;
    bool want;
  } kCases[] = {
      {"nothing", "", true},
      {"letters of one to four bytes", "a\u00e4\u20ac\U0001F600", true},
      {"the last code point", "\xF4\x8F\xBF\xBF", true},
      {"above the last code point", "\xF4\x90\x80\x80", false},
      {"a byte that begins nothing", "a\xFF", false},
      {"a continuation alone", "\x80", false},
      {"a character that is cut", "\xE2\x82", false},
      {"a character that is broken off", "\xE2\x82x", false},
      {"an overlong form", "\xC0\xAF", false},
      {"an overlong form of three bytes", "\xE0\x80\xAF", false},
      {"a surrogate", "\xED\xB0\x80", false},
      {"NUL", std::string_view("a\0b", 3), false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(IsText(c.bytes), c.want);
    EXPECT_TRUE(IsText(ToText(c.bytes)));
    EXPECT_EQ(ToText(c.bytes) == c.bytes, c.want);
    EXPECT_TRUE(IsText(OneLine(c.bytes)));
  }
}

TEST(TextTest, EachBadByteIsReplacedAndCutsFallBetweenCharacters) {
  EXPECT_EQ(ToText(std::string_view("a\xFF\xE2\x82\0z", 6)), "a\uFFFD\uFFFD\uFFFD\uFFFDz");
  EXPECT_EQ(ToText("a\u20acb", 3), "a");
  EXPECT_EQ(ToText("a\u20acb", 4), "a\u20ac");
  EXPECT_EQ(ToText("\xFF\xFF", 5), "\uFFFD");
  EXPECT_EQ(ToText("abc", 0), "");
  EXPECT_EQ(TailText("a\u20acb", 3), "b");
  EXPECT_EQ(TailText("a\u20acb", 4), "\u20acb");
  EXPECT_EQ(TailText("\xFF\xFF", 5), "\uFFFD");
  EXPECT_EQ(TailText("a\u20ac", 2), "");
  EXPECT_EQ(SkipCutCharacter("\x82\xAC tail"), " tail");
  EXPECT_EQ(SkipCutCharacter("\x82\x82\x82\x82"), "\x82") << "no character is so long";
  for (size_t max = 0; max < 12; ++max) {
    for (const auto& text :
         {ToText("\xFF\u20ac\U0001F600\xFF", max), TailText("\xFF\u20ac\U0001F600\xFF", max)}) {
      EXPECT_LE(text.size(), max);
      EXPECT_TRUE(IsText(text)) << max;
    }
  }
}

TEST(OneLineTest, ATerminalShowsAndNeverObeys) {
  const struct {
    const char* name;
    std::string_view text;
    std::string want;
  } kCases[] = {
      {"letters stay", "gr\u00fc\u00dfe \u20ac", "gr\u00fc\u00dfe \u20ac"},
      {"line ends and tabs", "a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
      {"a colour", "\x1B[31mred", "\\x1b[31mred"},
      {"the title of the window", "\x1B]0;root\x07", "\\x1b]0;root\\x07"},
      {"DEL and NUL", std::string_view("\x7F\0", 2), "\\x7f\\x00"},
      {"CSI in one character", "\u009b31m", "\\u009b31m"},
      {"CSI in one byte",
       "\x9B"
       "31m",
       "\\x9b31m"},
      {"text turned around", "abc\u202egpj.exe", "abc\\u202egpj.exe"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(OneLine(c.text), c.want);
  }
}

}  // namespace
}  // namespace splitlet
