#include "libs/logs/log_line.h"

#include <gtest/gtest.h>

namespace splitlet::logs {
namespace {

constexpr const char* kNone = "<none>";

std::string Shown(const std::optional<LogLine>& line) {
  if (!line) return kNone;
  return std::string(line->stream == Stream::kStdout ? "out " : "err ") +
         FormatRfc3339Micro(line->time) + " " + std::string(line->text) + (line->ends ? "\n" : "");
}

TEST(LogLines, OfCri) {
  const struct {
    const char* name;
    const char* line;
    const char* want;
  } kCases[] = {
      {"a whole line", "2026-01-02T03:04:05.678901234Z stdout F hello world",
       "out 2026-01-02T03:04:05.678901Z hello world\n"},
      {"a part", "2026-01-02T03:04:05Z stderr P hel", "err 2026-01-02T03:04:05.000000Z hel"},
      {"an empty line", "2026-01-02T03:04:05Z stdout F ", "out 2026-01-02T03:04:05.000000Z \n"},
      {"further tags say nothing", "2026-01-02T03:04:05Z stdout P:x:y a",
       "out 2026-01-02T03:04:05.000000Z a"},
      {"spaces of the content stay", "2026-01-02T03:04:05Z stdout F  a ",
       "out 2026-01-02T03:04:05.000000Z  a \n"},
      {"another zone", "2026-01-02T03:04:05+01:00 stdout F a",
       "out 2026-01-02T02:04:05.000000Z a\n"},
      {"no content field", "2026-01-02T03:04:05Z stdout F", kNone},
      {"no time", "yesterday stdout F a", kNone},
      {"a time out of reach", "9999-01-02T03:04:05Z stdout F a", kNone},
      {"no such stream", "2026-01-02T03:04:05Z stdin F a", kNone},
      {"no such tag", "2026-01-02T03:04:05Z stdout X a", kNone},
      {"a tag is a whole word", "2026-01-02T03:04:05Z stdout Full a", kNone},
      {"nothing", "", kNone},
      {"Docker's", R"({"log":"a\n","stream":"stdout","time":"2026-01-02T03:04:05Z"})", kNone},
  };
  LineParser parser;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Shown(parser.Cri(c.line)), c.want);
  }
}

TEST(LogLines, OfDocker) {
  const struct {
    const char* name;
    const char* line;
    const char* want;
  } kCases[] = {
      {"a whole line", R"({"log":"a\n","stream":"stderr","time":"2026-01-02T03:04:05.6Z"})",
       "err 2026-01-02T03:04:05.600000Z a\n"},
      {"a part", R"({"log":"a","stream":"stdout","time":"2026-01-02T03:04:05Z"})",
       "out 2026-01-02T03:04:05.000000Z a"},
      {"other members", R"({"x":[{}],"log":"","stream":"stdout","time":"2026-01-02T03:04:05Z"})",
       "out 2026-01-02T03:04:05.000000Z "},
      {"no time", R"({"log":"a","stream":"stdout"})", kNone},
      {"no stream", R"({"log":"a","time":"2026-01-02T03:04:05Z"})", kNone},
      {"a number is no text", R"({"log":1,"stream":"stdout","time":"2026-01-02T03:04:05Z"})",
       kNone},
      {"cut", R"({"log":"a","stream":"std)", kNone},
      {"no object", "[1]", kNone},
  };
  LineParser parser;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Shown(parser.Docker(c.line)), c.want);
  }
}

TEST(LogLines, OfOneSecond) {
  const struct {
    const char* name;
    const char* time;
    const char* want;
  } kCases[] = {
      {"the first one", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.100000Z"},
      {"another fraction", "2026-01-02T03:04:05.678901234Z", "2026-01-02T03:04:05.678901Z"},
      {"none", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"},
      {"more digits than count", "2026-01-02T03:04:05.1234567899Z", "2026-01-02T03:04:05.123456Z"},
      {"another zone", "2026-01-02T03:04:05.1+01:00", "2026-01-02T02:04:05.100000Z"},
      {"the next second", "2026-01-02T03:04:06.1Z", "2026-01-02T03:04:06.100000Z"},
      {"and the one before", "2026-01-02T03:04:05.2Z", "2026-01-02T03:04:05.200000Z"},
      {"a letter in the fraction", "2026-01-02T03:04:05.1x2Z", nullptr},
      {"no fraction behind its point", "2026-01-02T03:04:05.Z", nullptr},
      {"no zone", "2026-01-02T03:04:05.1", nullptr},
  };
  LineParser parser;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const std::string line = std::string(c.time) + " stdout F a";
    const auto parsed = parser.Cri(line);
    ASSERT_EQ(parsed.has_value(), c.want != nullptr);
    if (parsed) {
      EXPECT_EQ(FormatRfc3339Micro(parsed->time), c.want);
    }
  }
}

TEST(LogLines, TheFirstOneShowsTheFormat) {
  EXPECT_EQ(FormatOf("2026-01-02T03:04:05Z stdout F a"), Format::kCri);
  EXPECT_EQ(FormatOf(R"({"log":"a","stream":"stdout","time":"2026-01-02T03:04:05Z"})"),
            Format::kDocker);
  EXPECT_EQ(FormatOf("a line of its own"), Format::kUnknown);
}

TEST(LogLines, TimesHaveNineDigitsInTheirZone) {
  EXPECT_EQ(FixedTime("2026-01-02T03:04:05Z"), "2026-01-02T03:04:05.000000000Z");
  EXPECT_EQ(FixedTime("2026-01-02T03:04:05.12+02:00"), "2026-01-02T03:04:05.120000000+02:00");
  EXPECT_EQ(FixedTime("2026-01-02T03:04:05.1234567891Z"), "2026-01-02T03:04:05.123456789Z");
}

}  // namespace
}  // namespace splitlet::logs
