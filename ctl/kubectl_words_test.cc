#include "ctl/kubectl_words.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace splitlet::ctl {
namespace {

using Words = std::vector<std::string>;

TEST(KubectlWords, AKindAndANameMayBeOneWord) {
  const struct {
    const char* name;
    Words words, want;
  } kCases[] = {
      {"pods/NAME of get", {"get", "pods/web", "-o", "json"}, {"get", "pod", "web", "-o", "json"}},
      {"po/NAME of describe", {"describe", "po/web"}, {"describe", "pod", "web"}},
      {"node/NAME", {"describe", "node/n1"}, {"describe", "node", "n1"}},
      {"a flag before the command",
       {"--state-dir", "pod/x", "get", "pod/web"},
       {"--state-dir", "pod/x", "get", "pod", "web"}},
      {"--for takes one word",
       {"get", "events", "--for", "pod/web"},
       {"get", "events", "--for", "pod/web"}},
      {"a namespace is no kind", {"get", "pod", "default/web"}, {"get", "pod", "default/web"}},
      {"logs take one word", {"logs", "pod/web"}, {"logs", "pod/web"}},
      {"a command in a container is not ours",
       {"exec", "web", "--", "get", "pod/x"},
       {"exec", "web", "--", "get", "pod/x"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(KubectlWords(c.words), c.want);
  }
}

TEST(KubectlWords, ThePodOfLogsAndExec) {
  EXPECT_EQ(WithoutPodPrefix("pod/web"), "web");
  EXPECT_EQ(WithoutPodPrefix("pods/web"), "web");
  EXPECT_EQ(WithoutPodPrefix("web"), "web");
  EXPECT_EQ(WithoutPodPrefix("default/web"), "default/web");
}

}  // namespace
}  // namespace splitlet::ctl
