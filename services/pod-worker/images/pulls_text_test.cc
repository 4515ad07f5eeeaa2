#include "services/pod-worker/images/pulls_text.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

TEST(PullsText, SaysOfEachPullSinceWhen) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1} + 1min};
  const PullMemory pulling{.pulling = true}, over{};
  const std::string known = "waits for the pull of image \"b\" since 2026-01-01T00:00:00Z";
  const struct {
    const char* name;
    std::map<std::string, PullMemory> pulls;
    std::string before, text;
  } kCases[] = {
      {"nothing is pulled", {{"a", over}}, "", ""},
      {"a pull begins",
       {{"a", over}, {"b", pulling}},
       "",
       "waits for the pull of image \"b\" since 2026-01-01T00:01:00Z"},
      {"it goes on", {{"b", pulling}}, known, known},
      {"another one begins",
       {{"a", pulling}, {"b", pulling}},
       known,
       "waits for the pull of image \"a\" since 2026-01-01T00:01:00Z, image \"b\" since "
       "2026-01-01T00:00:00Z"},
      {"it is over", {{"b", over}}, known, ""},
      {"a name that ends as another does is another one",
       {{"x/b", pulling}},
       known,
       "waits for the pull of image \"x/b\" since 2026-01-01T00:01:00Z"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(PullsText(c.pulls, c.before, now), c.text);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
