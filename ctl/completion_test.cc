#include "ctl/completion.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <vector>

#include "libs/process/run_program.h"

namespace splitlet::ctl {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Completions of bash for the last word; the node has the pod `web`.
std::vector<std::string> Offered(const std::string& words) {
  const auto script = CompletionScript("bash");
  EXPECT_TRUE(script.ok()) << script.status();
  const auto printed = process::RunProgram(
      {.argv = {"bash", "-c",
                *script +
                    "splitletctl() { [[ $* == *'get pods --no-headers' ]] && echo 'web 1/1'; }\n"
                    "COMP_WORDS=(splitletctl " +
                    words +
                    ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_splitletctl\n"
                    "printf '%s\\n' \"${COMPREPLY[@]}\"\n"}});
  EXPECT_TRUE(printed.ok()) << printed.status();
  std::vector<std::string> offered;
  std::istringstream lines(printed.value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) offered.push_back(line);
  return offered;
}

TEST(Completion, OffersWhatMayStandThere) {
  EXPECT_THAT(Offered("run"), ElementsAre("run-once"));
  EXPECT_THAT(Offered("run-once ''"), ElementsAre("--timeout"));
  EXPECT_THAT(Offered("get pods -o ''"), ElementsAre("wide", "json", "yaml", "name"));
  EXPECT_THAT(Offered("get node -o n"), ElementsAre("name"));
  EXPECT_THAT(Offered("get processes -o ''"), ElementsAre("json"));
  EXPECT_THAT(Offered("logs ''"), ElementsAre("web"));
  EXPECT_THAT(Offered("logs web -c ''"), IsEmpty()) << "pods are no containers";
  EXPECT_THAT(Offered("exec -n ''"), IsEmpty());
  EXPECT_THAT(Offered("logs --process p"), Contains("pleg"));
}

TEST(Completion, KnowsThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_TRUE(CompletionScript(shell).ok()) << shell;
  EXPECT_EQ(Message(CompletionScript("sh").status()), "sh is not one of bash, zsh, fish");
}

}  // namespace
}  // namespace splitlet::ctl
