#include "kubelet/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "libs/config/fields.h"

namespace splitlet::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FlagTable, IsSortedAndNamesFieldsThatThereAre) {
  std::string_view before;
  for (const FlagRow& row : FlagRows()) {
    EXPECT_LT(before, row.name);
    before = row.name;
    EXPECT_EQ(FindFlag(row.name), &row);
    const bool is_field = row.target == "featureGates" || config::FindField(row.target) != nullptr;
    EXPECT_TRUE(row.fate != FlagFate::kField || is_field) << row.name;
    EXPECT_TRUE(row.fate == FlagFate::kHere || !row.target.empty()) << row.name;
  }
}

TEST(FlagTable, IsWhatThePageSays) {
  std::ifstream file(TREE "/docs/kubelet-flags.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string rows;
  for (const FlagRow& row : FlagRows()) {
    std::string becomes(row.target);
    if (row.fate == FlagFate::kField) becomes = fmt::format("field `{}`", row.target);
    if (row.fate == FlagFate::kPassed) becomes = fmt::format("`--{}` of every process", row.target);
    if (row.fate == FlagFate::kNothing)
      becomes = fmt::format("nothing, with a warning: {}", row.target);
    rows += fmt::format("| `--{}` | {} |\n", row.name, becomes);
  }
  EXPECT_THAT(page.str(), HasSubstr(rows));
}

TEST(Arguments, AreTakenAsPflagTakesThem) {
  const auto read = ParseArguments(
      {"--config=/a.yaml", "--config-dir", "/a.d", "--kubeconfig=/k", "--hostname_override", "n1",
       "--rotate-certificates", "--max-pods=50", "-v=4", "--cloud-provider=", "--node-ip",
       "10.0.0.1,nonsense, fd00::1", "--runtime-cgroups=/system.slice/containerd.service",
       "--fail-swap-on=F", "--lock-file=/run/kubelet.lock", "--exit-on-lock-contention"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->config, "/a.yaml");
  EXPECT_EQ(read->config_dir, "/a.d");
  EXPECT_THAT(read->passed, ElementsAre("--kubeconfig", "/k", "--node-name", "n1"));
  EXPECT_EQ(read->node_ip, "10.0.0.1,fd00::1");
  EXPECT_EQ(read->lock_file, "/run/kubelet.lock");
  EXPECT_TRUE(read->exit_on_lock_contention);
  ASSERT_EQ(read->overrides.size(), 4u);
  EXPECT_EQ(read->overrides[0].row->target, "rotateCertificates");
  EXPECT_EQ(read->overrides[0].value, "true");
  EXPECT_EQ(read->overrides[1].value, "50");
  EXPECT_EQ(read->overrides[2].row->target, "logging.verbosity");
  EXPECT_EQ(read->overrides[3].value, "false");
  ASSERT_EQ(read->warnings.size(), 2u);
  EXPECT_THAT(read->warnings[0], HasSubstr("\"nonsense\" is no IP address"));
  EXPECT_THAT(read->warnings[1], HasSubstr("--runtime-cgroups: does nothing here"));
}

TEST(Arguments, OfAFlagGivenTwiceTheLastCountsAndMapsGrow) {
  const struct {
    const char* name;
    std::vector<std::string> words;
    std::vector<std::string> passed;
  } kCases[] = {
      {"kubeadm and the administrator both name the node",
       {"--hostname-override=a", "--kubeconfig=/k", "--hostname-override=b"},
       {"--node-name", "b", "--kubeconfig", "/k"}},
      {"the same value twice", {"--root-dir=/r", "--root-dir", "/r"}, {"--root-dir", "/r"}},
      {"an empty one takes the one before away",
       {"--cloud-provider=external", "--cloud-provider="},
       {}},
      {"and an empty one does not stay",
       {"--kubeconfig=", "--kubeconfig=/k"},
       {"--kubeconfig", "/k"}},
      {"labels are added to labels",
       {"--node-labels=a=1,b=2", "--node-labels=", "--node-labels=, c"},
       {"--node-labels", "a=1,b=2,c="}},
      {"a value that looks like a flag is none",
       {"--hostname-override", "--kubeconfig", "--kubeconfig=/k"},
       {"--node-name", "--kubeconfig", "--kubeconfig", "/k"}},
  };
  for (const auto& c : kCases) {
    const auto read = ParseArguments(c.words);
    ASSERT_TRUE(read.ok()) << c.name << ": " << read.status();
    EXPECT_EQ(read->passed, c.passed) << c.name;
  }
  EXPECT_EQ(ParseArguments({"--node-ip=10.0.0.1", "--node-ip=10.0.0.2"})->node_ip, "10.0.0.2");
}

TEST(Arguments, RelativePathsCountFromTheWorkingDirectory) {
  auto read = ParseArguments({"--kubeconfig=kubelet.conf", "--bootstrap-kubeconfig=./b.conf",
                              "--cert-dir=../pki", "--image-credential-provider-config=p.yaml",
                              "--image-credential-provider-bin-dir=/opt/bin", "--root-dir=r",
                              "--hostname-override=n"});
  ASSERT_TRUE(read.ok()) << read.status();
  ResolvePassedPaths("/etc/kubernetes", *read);
  EXPECT_THAT(read->passed,
              ElementsAre("--kubeconfig", "/etc/kubernetes/kubelet.conf", "--bootstrap-kubeconfig",
                          "/etc/kubernetes/b.conf", "--cert-dir", "/etc/pki",
                          "--image-credential-provider-config", "/etc/kubernetes/p.yaml",
                          "--image-credential-provider-bin-dir", "/opt/bin", "--root-dir",
                          "r",  // a kubelet refuses it too
                          "--node-name", "n"));
}

TEST(Arguments, WhatIsWrongIsOneLineThatNamesIt) {
  const struct {
    std::vector<std::string> words;
    const char* want;
  } kCases[] = {
      {{"--no-such-flag=1"}, "unknown flag: --no-such-flag"},
      {{"-x"}, "unknown flag: --x"},
      {{"run"}, "unknown command \"run\""},
      {{"--"}, "unknown command \"--\""},
      {{"--config"}, "flag needs an argument: --config"},
      {{"--max-pods=many"}, "--max-pods: want a number, not \"many\""},
      {{"--max-pods="}, "--max-pods: want a number, not \"\""},
      {{"--rotate-certificates=maybe"}, "--rotate-certificates: want true or false"},
      {{"--exit-on-lock-contention"}, "--exit-on-lock-contention needs --lock-file FILE"},
      {{"--rotate-certificates", "true"}, "unknown command \"true\""},
      {{"--splitlet-dir=x"}, "--splitlet-dir: \"x\" is not an absolute path"},
  };
  for (const auto& c : kCases) {
    const auto read = ParseArguments(c.words);
    ASSERT_FALSE(read.ok()) << c.want;
    EXPECT_THAT(Message(read.status()), HasSubstr(c.want));
    EXPECT_EQ(Message(read.status()).find('\n'), std::string::npos);
  }
}

TEST(Arguments, HelpAndVersionAreSeen) {
  EXPECT_EQ(ParseArguments({"--help"})->print, Arguments::Print::kHelp);
  EXPECT_EQ(ParseArguments({"-h"})->print, Arguments::Print::kHelp);
  EXPECT_EQ(ParseArguments({"--version"})->print, Arguments::Print::kVersion);
  EXPECT_EQ(ParseArguments({"--version=raw"})->print, Arguments::Print::kVersion);
  EXPECT_EQ(ParseArguments({})->print, Arguments::Print::kNothing);
  EXPECT_THAT(HelpText(), HasSubstr("--kubeconfig"));
}

}  // namespace
}  // namespace splitlet::kubelet
