#include "kubelet/confine.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "libs/base/processes.h"

namespace splitlet::kubelet {
namespace {

TEST(ConfinementOf, EachProcessKeepsWhatItNeeds) {
  for (const ProcessRow& row : kProcesses) {
    SCOPED_TRACE(row.name);
    const auto confinement = ConfinementOf(row.name);
    const bool needs_root = row.name == "pod-worker" || row.name == "gc";
    EXPECT_EQ(confinement.capabilities.has_value(), !needs_root);
    if (!needs_root)
      for (const int one : {CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE, CAP_SYS_MODULE})
        EXPECT_EQ(std::ranges::count(*confinement.capabilities, one), 0) << one;
    EXPECT_EQ(confinement.oom_score, -900) << "as in the units of the package";
  }
  EXPECT_FALSE(ConfinementOf("nats").capabilities);
}

/// /proc/self/status of a program that was started confined.
std::string StatusAfterExec(const Confinement& confinement) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    if (!Confine(confinement).ok()) _exit(3);
    execl("/bin/cat", "cat", "/proc/self/status", nullptr);
    _exit(4);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<size_t>(got));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

std::string FieldOf(const std::string& text, const std::string& name) {
  const auto at = text.find(name + ":\t");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 2;
  return text.substr(from, text.find('\n', from) - from);
}

TEST(Confine, AProgramHasNoMoreThanItIsLeft) {
  const std::string text = StatusAfterExec({.capabilities = std::vector<int>{CAP_DAC_READ_SEARCH}});
  EXPECT_EQ(FieldOf(text, "NoNewPrivs"), "1");
  const uint64_t effective = std::strtoull(FieldOf(text, "CapEff").c_str(), nullptr, 16);
  const uint64_t read_search = uint64_t{1} << CAP_DAC_READ_SEARCH;
  EXPECT_EQ(effective & ~read_search, 0u);
  if (geteuid() == 0) {
    const uint64_t bounding = std::strtoull(FieldOf(text, "CapBnd").c_str(), nullptr, 16);
    EXPECT_EQ(bounding & ~read_search, 0u);
  }
}

TEST(Confine, WhoNeedsRootIsLeftAlone) {
  const std::string own = std::to_string(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  EXPECT_EQ(FieldOf(StatusAfterExec({}), "NoNewPrivs"), own);
}

}  // namespace
}  // namespace splitlet::kubelet
