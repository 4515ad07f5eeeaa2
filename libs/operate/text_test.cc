#include "libs/operate/text.h"

#include <gtest/gtest.h>

namespace splitlet::operate {
namespace {

const WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} +
                    std::chrono::hours{12}};

TEST(Ages, AreThoseOfKubectl) {
  const struct {
    Duration d;
    const char* want;
  } kCases[] = {{0s, "0s"},          {-1s, "0s"},          {-5s, "<invalid>"}, {119s, "119s"},
                {120s, "2m"},        {125s, "2m5s"},       {599s, "9m59s"},    {600s, "10m"},
                {179min, "179m"},    {180min, "3h"},       {201min, "3h21m"},  {8h, "8h"},
                {47h, "47h"},        {48h, "2d"},          {53h, "2d5h"},      {8 * 24h, "8d"},
                {365 * 24h, "365d"}, {800 * 24h, "2y70d"}, {3000 * 24h, "8y"}};
  for (const auto& c : kCases) EXPECT_EQ(HumanDuration(c.d), c.want);
  EXPECT_EQ(Age(kNow, 0), "<unknown>");
}

TEST(Since, IsADuration) {
  EXPECT_EQ(ParseSince("10m").value_or(0s), Duration{10min});
  EXPECT_EQ(ParseSince("1h30m").value_or(0s), Duration{90min});
  EXPECT_EQ(ParseSince("45").value_or(0s), Duration{45s});
  EXPECT_EQ(ParseSince("2d").value_or(0s), Duration{48h});
  for (const char* text : {"", "m", "10x", "-5m", "1.5h", "99999999d"})
    EXPECT_FALSE(ParseSince(text).ok()) << text;
}

TEST(Tables, AlignByCharactersAndEndWithoutSpaces) {
  Table table({"NAME", "AGE"});
  table.Add({"\xC3\xA4\xC3\xB6", "1s"});
  table.Add({"longer-name", ""});
  EXPECT_EQ(table.Text(), "NAME          AGE\n\xC3\xA4\xC3\xB6            1s\nlonger-name\n");
  EXPECT_EQ(table.Text(false), "\xC3\xA4\xC3\xB6            1s\nlonger-name\n");
}

TEST(Tables, OneAfterTheOtherLineUpWhenAskedTo) {
  std::vector<size_t> widths;
  Table first({"NAME", "AGE"});
  first.KeepWidths(&widths);
  first.Add({"long-name", "1s"});
  EXPECT_EQ(first.Text(), "NAME        AGE\nlong-name   1s\n");
  Table second({"NAME", "AGE"});
  second.KeepWidths(&widths);
  second.Add({"web", "2s"});
  EXPECT_EQ(second.Text(false), "web         2s\n");
}

TEST(Indenting, LeavesEmptyLinesEmpty) { EXPECT_EQ(Indented("a\n\nb\n", 2), "  a\n\n  b\n"); }

TEST(Bytes, AreRounded) {
  EXPECT_EQ(HumanBytes(312), "312 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(3ULL << 40), "3.0 TiB");
}

}  // namespace
}  // namespace splitlet::operate
