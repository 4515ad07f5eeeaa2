#include "libs/kube/quantity.h"

#include <gtest/gtest.h>

#include "libs/base/mutate.h"
#include "libs/base/text.h"
#include "libs/kube/time_text.h"

namespace splitlet::kube {
namespace {

TEST(Quantity, TextsBecomeCanonical) {
  const struct {
    const char* text;
    const char* want;
  } kCases[] = {
      {"0", "0"},
      {"1000m", "1"},
      {"0.5", "500m"},
      {"1.5", "1500m"},
      {"1024Mi", "1Gi"},
      {"1.5Gi", "1536Mi"},
      {"1.6Gi", "1717986918400m"},
      {"-1.6Gi", "-1717986918400m"},
      {"1.5", "1500m"},
      {"1.0000001Gi", "1073741931374182400n"},
      {"1024.5Ki", "1049088"},
      {"1.0001Ki", "1024102400u"},
      {"100000", "100k"},
      {"1e3", "1e3"},
      {"1E3", "1e3"},
      {"1E", "1E"},
      {"1500e-3", "1500e-3"},
      {".5", "500m"},
      {"5.", "5"},
      {"-1.5", "-1500m"},
      {"+3", "3"},
      {"512", "512"},
      {"0.5Ki", "512"},
      {"1025.5", "1025500m"},
      {"128974848", "128974848"},
      {"129e6", "129e6"},
      {"123Mi", "123Mi"},
      {"100n", "100n"},
      {"0.1n", "1n"},
      {"0.0000000001", "1n"},
      {"-0.1n", "-1n"},
      {"1u", "1u"},
      {"0000001", "1"},
      {"1.0000000000000000000000000000000", "1"},
      {"9223372036854775807", "9223372036854775807"},
      {"1e30", "9223372036854775807e0"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto quantity = Quantity::Parse(c.text);
    ASSERT_TRUE(quantity.ok()) << ToString(quantity.status());
    if (std::string_view(c.text) == "1e30") {
      EXPECT_EQ(quantity->Value(), INT64_MAX);
      continue;
    }
    EXPECT_EQ(quantity->ToString(), c.want);
    if (Quantity::IsSurelyCanonical(c.text)) {
      EXPECT_STREQ(c.text, c.want);
    }
    EXPECT_EQ(*Quantity::Parse(quantity->ToString()), *quantity);
  }
}

TEST(Quantity, WhatIsNoQuantity) {
  for (const char* text : {"", "m", "1x", "1 Gi", "1gi", "Gi1", "--1", "1e", "1e1.5", "1e+-5",
                           "1e--5", "0x10", "1,5", "1e99999", ".", "1mm", "NaN", "e3", " 1"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(Quantity::Parse(text).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(Quantity, ArithmeticIsExact) {
  const auto q = [](const char* text) { return Quantity::Parse(text).value(); };
  EXPECT_EQ((q("100m") + q("200m")).ToString(), "300m");
  Quantity sum;
  for (int i = 0; i < 10; ++i) sum += q("0.1");
  EXPECT_EQ(sum, q("1"));
  EXPECT_EQ((q("1Gi") - q("512Mi")).ToString(), "512Mi");
  EXPECT_EQ((Quantity() + q("64Mi")).ToString(), "64Mi");
  EXPECT_LT(q("999m"), q("1"));
  EXPECT_EQ(q("1Ki"), q("1024"));
  EXPECT_GT(q("1Gi"), q("1G"));
  EXPECT_EQ(q("1001u").MilliValue(), 2);
  EXPECT_EQ(q("1.1").Value(), 2);
  EXPECT_EQ(q("-1.1").Value(), -2);
  EXPECT_EQ(q("0.0001").RoundedUpToMilli().ToString(), "1m");
  EXPECT_EQ((q("9E") + q("9E")).Value(), INT64_MAX);
  EXPECT_EQ(Quantity::FromMilli(1500).ToString(), "1500m");
  EXPECT_EQ(Quantity::FromInt(1 << 20, Quantity::Format::kBinary).ToString(), "1Mi");
  EXPECT_TRUE(q("4Mi").IsMultipleOf(q("2Mi")));
  EXPECT_FALSE(q("3Mi").IsMultipleOf(q("2Mi")));
  EXPECT_FALSE(q("1.5").IsInteger());
}

TEST(TimeText, TimesOfRfc3339) {
  const struct {
    const char* text;
    int64_t seconds;
    int32_t nanos;
  } kGood[] = {
      {"1970-01-01T00:00:00Z", 0, 0},
      {"2026-01-02T03:04:05.000000006+01:00", 1767319445, 6},
      {"2026-01-02T03:04:05.5Z", 1767323045, 500000000},
      {"1969-12-31T23:59:59Z", -1, 0},
      {"2024-02-29T00:00:00-12:30", 1709209800, 0},
  };
  for (const auto& c : kGood) {
    SCOPED_TRACE(c.text);
    const auto time = ParseTime(c.text);
    ASSERT_TRUE(time.ok());
    EXPECT_EQ(time->seconds, c.seconds);
    EXPECT_EQ(time->nanos, c.nanos);
    EXPECT_EQ(ParseTime(FormatTime(*time, 0))->seconds, c.seconds);
  }
  for (const char* text : {"", "2026-01-02", "2026-13-02T03:04:05Z", "2023-02-29T00:00:00Z",
                           "2026-01-02T24:00:00Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05Zx"})
    EXPECT_FALSE(ParseTime(text).ok()) << text;
  EXPECT_EQ(FormatTime({1767323045, 123456789}, 6), "2026-01-02T03:04:05.123456Z");
}

TEST(TimeText, DurationsOfGo) {
  const struct {
    const char* text;
    int64_t nanoseconds;
    const char* canonical;
  } kCases[] = {
      {"0", 0, "0s"},
      {"1m30s", 90'000'000'000, "1m30s"},
      {"1.5h", 5'400'000'000'000, "1h30m0s"},
      {"-300ms", -300'000'000, "-300ms"},
      {"1.5s", 1'500'000'000, "1.5s"},
      {"2us", 2'000, "2µs"},
      {"7ns", 7, "7ns"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    ASSERT_TRUE(ParseDuration(c.text).ok());
    EXPECT_EQ(*ParseDuration(c.text), c.nanoseconds);
    EXPECT_EQ(FormatDuration(c.nanoseconds), c.canonical);
  }
  for (const char* text : {"", "1", "s", "1m30", "1 s", "99999999999999h"})
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
}

TEST(TimeText, Base64BothWays) {
  for (const std::string bytes : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)).value(), bytes);
  }
  EXPECT_EQ(EncodeBase64("ab"), "YWI=");
  for (const char* text : {"a", "YWI", "YW=I", "Y===", "Y*I="})
    EXPECT_FALSE(DecodeBase64(text).ok()) << text;
}

TEST(Fuzz, AQuantityThatParsesHasOneTextOfTheSameValue) {
  const std::vector<std::string> corpus = {
      "0",    "100m",  "1.5Gi", "12e3", "-3Ki",  "+.5",
      "5.",   "1E",    "1E-9",  "7n",   "250u",  "9223372036854775807",
      "1e18", "0.1Ei", "12Pi",  "3e-7", "00010", "1234567890.123456789"};
  const std::vector<std::string> tokens = {
      "-", "+", ".", "e", "E", "i", "Ki", "m", "n", "0", "9", "--", std::string(1, '\0')};
  Random random(20260103);
  size_t good = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::string text = Mutate(corpus[random.Below(corpus.size())], corpus, tokens, random);
    const auto first = Quantity::Parse(text);
    if (!first.ok()) {
      ASSERT_FALSE(Quantity::IsSurelyCanonical(text)) << text;
      continue;
    }
    ++good;
    const std::string shown = first->ToString();
    const auto second = Quantity::Parse(shown);
    ASSERT_TRUE(second.ok()) << text << " became " << shown;
    ASSERT_TRUE(*second == *first) << text << " became " << shown;
    ASSERT_EQ(second->ToString(), shown) << text;
    ASSERT_TRUE(!Quantity::IsSurelyCanonical(text) || shown == text) << text;
    ASSERT_EQ(first->MilliValue() > 0, first->Value() > 0) << text;
  }
  EXPECT_GT(good, 10'000u) << "most of the mutations are rubbish";
}

TEST(Fuzz, TimesDurationsAndBytesThatParseComeBack) {
  const std::vector<std::string> corpus = {"2026-01-02T03:04:05Z",
                                           "1999-12-31T23:59:60.999999999+23:59",
                                           "0000-01-01T00:00:00-01:00",
                                           "9999-12-31T23:59:59Z",
                                           "1h2m0.5s",
                                           "-300ms",
                                           "1.5h",
                                           "0",
                                           "2562047h47m16.854775807s",
                                           "aGVsbG8=",
                                           "AA==",
                                           "/+8=\n"};
  const std::vector<std::string> tokens = {"-", ":", "T", "Z",  "h", "ms",       "0",
                                           "9", ".", "=", "\n", "+", "\xC2\xB5s"};
  Random random(20260104);
  size_t good = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::string text = Mutate(corpus[random.Below(corpus.size())], corpus, tokens, random);
    if (const auto time = ParseTime(text); time.ok()) {
      ++good;
      const auto again = ParseTime(FormatTime(*time, 0));
      ASSERT_TRUE(again.ok()) << text;
      const bool inside = time->seconds >= -62167219200 && time->seconds <= 253402300799;
      ASSERT_TRUE(!inside || again->seconds == time->seconds) << text;
      ASSERT_TRUE(time->nanos >= 0 && time->nanos < 1'000'000'000) << text;
    }
    if (const auto ns = ParseDuration(text); ns.ok()) {
      ++good;
      ASSERT_EQ(ParseDuration(FormatDuration(*ns)).value_or(~*ns), *ns) << text;
    }
    if (const auto bytes = DecodeBase64(text); bytes.ok()) {
      ++good;
      ASSERT_EQ(*DecodeBase64(EncodeBase64(*bytes)), *bytes) << text;
    }
    const size_t bad = FindInvalidUtf8(text);
    ASSERT_TRUE(bad == std::string_view::npos || bad < text.size()) << text;
  }
  EXPECT_GT(good, 10'000u);
}

}  // namespace
}  // namespace splitlet::kube
