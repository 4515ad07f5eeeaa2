#include "ctl/words/kubectl_words.h"

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

TEST(CommandLine, WhatFollowsTheMarkOfExecIsTheContainers) {
  const struct {
    const char* name;
    Words arguments, words, command;
  } kCases[] = {
      {"brackets and commas",
       {"exec", "web", "--", "sh", "-c", "[ 1 = 1 ]", "[a,b]", "[]", ""},
       {"exec", "web"},
       {"sh", "-c", "[ 1 = 1 ]", "[a,b]", "[]", ""}},
      {"flags before it",
       {"--state-dir", ".run", "exec", "-it", "web", "-c", "app", "--", "sh", "-c", "x"},
       {"--state-dir", ".run", "exec", "-it", "web", "-c", "app"},
       {"sh", "-c", "x"}},
      {"another mark",
       {"exec", "web", "--", "sh", "--", "-x"},
       {"exec", "web"},
       {"sh", "--", "-x"}},
      {"nothing", {"exec", "web", "--"}, {"exec", "web"}, {}},
      {"no mark", {"exec", "web", "ls"}, {"exec", "web", "ls"}, {}},
      {"another command", {"get", "pod", "--", "exec"}, {"get", "pod", "--", "exec"}, {}},
      {"a pod of that name", {"logs", "exec", "--", "-x"}, {"logs", "exec", "--", "-x"}, {}},
      {"a folder of that name",
       {"--state-dir", "exec", "chaos", "--", "x"},
       {"--state-dir", "exec", "chaos", "--", "x"},
       {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const CommandLine line = SplitCommandLine(c.arguments);
    EXPECT_EQ(line.words, c.words);
    EXPECT_EQ(line.exec_command, c.command);
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
