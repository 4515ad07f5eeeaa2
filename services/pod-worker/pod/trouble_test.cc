#include "services/pod-worker/pod/trouble.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

TEST(PodTrouble, IsNewWhenItsKindOrItsTextIs) {
  PodTrouble trouble;
  EXPECT_FALSE(trouble.Any());
  const struct {
    const char* name;
    Trouble kind;
    const char* text;
    bool want;
  } kCases[] = {
      {"the first", Trouble::kSync, "no answer", true},
      {"the same", Trouble::kSync, "no answer", false},
      {"another text", Trouble::kSync, "no image", true},
      {"another kind", Trouble::kKill, "no image", true},
      {"one without a text", Trouble::kSync, "", true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(trouble.Set(c.kind, c.text), c.want);
    EXPECT_TRUE(trouble.Any());
    EXPECT_EQ(trouble.kind(), c.kind);
    EXPECT_EQ(trouble.text(), c.text);
  }
  trouble.Clear();
  EXPECT_FALSE(trouble.Any());
  EXPECT_EQ(trouble.text(), "");
}

}  // namespace
}  // namespace splitlet::pod_worker
