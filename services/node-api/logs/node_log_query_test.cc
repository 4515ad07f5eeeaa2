#include "services/node-api/logs/node_log_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/logs/log_pattern.h"
#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(NodeLogQuery, WhatIsRefused) {
  const struct {
    const char* name;
    const char* query;
    int code;  // 0: accepted
  } kCases[] = {
      {"a service", "query=kubelet", 0},
      {"four services", "query=a&query=b&query=c&query=d", 0},
      {"five services", "query=a&query=b&query=c&query=d&query=e", 406},
      {"nothing is asked for", "query=", 400},
      {"blanks", "query=%20&query=", 400},
      {"options alone", "tailLines=5", 406},
      {"a boot to come", "query=kubelet&boot=1", 406},
      {"the last boot but one", "query=kubelet&boot=-1", 0},
      {"a boot that is no number", "query=kubelet&boot=x", 400},
      {"a file", "query=a/b", 0},
      {"a file with options", "query=a/b&tailLines=5", 406},
      {"two files", "query=a/b&query=c/d", 406},
      {"a file and a service", "query=a/b&query=c", 406},
      {"a name with a blank", "query=a%20b", 406},
      {"a name that is an option", "query=--all", 0},
      {"lines that are no number", "query=a&tailLines=x", 400},
      {"too few lines", "query=a&tailLines=-1", 406},
      {"no lines", "query=a&tailLines=0", 0},
      {"too many lines", "query=a&tailLines=100001", 406},
      {"a time that is none", "query=a&sinceTime=yesterday", 400},
      {"an end that is none", "query=a&untilTime=tomorrow", 400},
      {"an end before the start",
       "query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z", 406},
      {"a pattern", "query=a&pattern=er%2Bor", 0},
      {"a pattern that is none", "query=a&pattern=%28", 406},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const NodeLogAsked asked = ReadNodeLogQuery(Query(c.query));
    EXPECT_TRUE(asked.any);
    EXPECT_EQ(asked.refusal ? asked.refusal->code : 0, c.code);
  }
  EXPECT_FALSE(ReadNodeLogQuery(Query("")).any);
  EXPECT_FALSE(ReadNodeLogQuery(Query("colour=red")).any);
  EXPECT_EQ(ReadNodeLogQuery(Query("query=" + std::string(257, 'a'))).refusal->code, 406);
}

TEST(NodeLogQuery, APatternThatCostsMoreThanItsLengthSaysIsRefused) {
  const struct {
    const char* pattern;
    const char* why;  // empty: accepted
  } kCases[] = {
      {"error|warning", ""},
      {"^[0-9]{1,3}(\\.[0-9]{1,3}){3}$", ""},
      {"a{1000}", ""},
      {"(a{10}){100}", ""},
      {"(?i)oom.*(kill|reap)", ""},
      {"(?:ab)+c*", ""},
      {"[]a]+[^]b]*[[:alpha:]]+", ""},
      {"a{b}{", ""},
      {"\\Q(a+)+\\E", ""},
      {"a+?b{2,}?", ""},
      {"(.{1,30000})", "too costly: nested counts multiply to more than 1000"},
      {"(((a{100}){100}){100}){3}", "too costly: nested counts multiply to more than 1000"},
      {"a{99999999999999999999}", "too costly: nested counts multiply to more than 1000"},
      {"(a+)+b", "too costly: an unbounded repeat inside another one takes too long"},
      {"((a|b)*c?){2,}", "too costly: an unbounded repeat inside another one takes too long"},
      {"(a)\\1", "too costly: references to groups are not supported"},
      {"(?R)", "too costly: only groups"},
      {"(?=a)", "too costly: only groups"},
      {"(*NO_JIT)a", "too costly: (* is not supported"},
      {"(", "invalid: a ( has no )"},
      {"a)", "invalid: a ) has no ("},
      {"[a", "invalid: a [ has no ]"},
      {"*a", "invalid: a repeat has nothing before it"},
      {"a**", "invalid: a repeat has nothing before it"},
      {"a\\", "invalid: it ends with a"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.pattern);
    const auto [costly, why] = FindPatternProblem(c.pattern);
    const std::string text =
        why.empty() ? "" : fmt::format("{}: {}", costly ? "too costly" : "invalid", why);
    EXPECT_THAT(text, StartsWith(c.why));
    EXPECT_EQ(text.empty(), std::string_view(c.why).empty());
  }
  EXPECT_EQ(FindPatternProblem(std::string(1025, 'a')).why, "it is longer than 1024 bytes");
  EXPECT_FALSE(FindPatternProblem(std::string(1024, '(')).why.empty());
  const NodeLogAsked asked = ReadNodeLogQuery(Query("query=a&pattern=(.%7B1,30000%7D)"));
  ASSERT_TRUE(asked.refusal);
  EXPECT_EQ(asked.refusal->code, 400);
  EXPECT_THAT(asked.refusal->body, StartsWith("pattern is too costly: "));
}

TEST(NodeLogQuery, TheJournalIsAskedForWhatWasAskedFor) {
  const auto asked = ReadNodeLogQuery(
      Query("query=a&query=b&sinceTime=2026-01-02T03:04:05Z&untilTime=2026-01-03T00:00:00Z&"
            "tailLines=5&pattern=x&boot=-1"));
  ASSERT_FALSE(asked.refusal);
  EXPECT_THAT(JournalArguments(asked.query, asked.query.services),
              ElementsAre("journalctl", "--utc", "--no-pager", "--output=short-precise",
                          "--since=2026-1-2 3:4:5", "--until=2026-1-3 0:0:0", "--pager-end",
                          "--lines=5", "--unit=a", "--unit=b", "--grep=x", "--boot", "-1"));
}

class NodeLogs : public NodeApiTest {
 protected:
  NodeLogs() {
    AllowAll();
    config.server.system_log_query = true;
    programs.emplace("journalctl --field _SYSTEMD_UNIT", "ssh.service\nkubelet.service\n");
    EXPECT_TRUE(files.Replace("/var/log/daemon.log", "from a file\n", {}).ok());
    EXPECT_TRUE(files.Replace("/var/log/dir/x", "one file\n", {}).ok());
  }
};

TEST_F(NodeLogs, ServicesComeFromTheJournalOrFromFiles) {
  programs.emplace("journalctl --utc --no-pager --output=short-precise --unit=kubelet", "hello\n");
  Start();
  const auto answered = Send({.target = "/logs/?query=kubelet&query=daemon&query=nosuch"});
  ASSERT_TRUE(answered->answer);
  EXPECT_EQ(answered->answer->code, 200);
  EXPECT_EQ(answered->Header("Content-Type"), "text/plain;charset=UTF-8");
  EXPECT_EQ(answered->answer->body, "hello\nfrom a file\nlog not found for nosuch\n");
  EXPECT_THAT(Text({.target = "/logs/?query=daemon&tailLines=1"}),
              StartsWith("200 options present but cannot be used"));
}

TEST_F(NodeLogs, AJournalThatCannotBeAsked) {
  programs.insert_or_assign("journalctl --utc --no-pager --output=short-precise --unit=kubelet",
                            DeadlineExceeded("it took too long"));
  Start();
  EXPECT_EQ(Text({.target = "/logs/?query=kubelet"}), "200 error: journal output not available");
  programs.insert_or_assign("journalctl --utc --no-pager --output=short-precise --unit=kubelet",
                            ResourceExhausted("too much"));
  EXPECT_THAT(Text({.target = "/logs/?query=kubelet"}), HasSubstr("ask for fewer with tailLines"));
}

TEST_F(NodeLogs, OneFile) {
  Start();
  EXPECT_EQ(Text({.target = "/logs/?query=dir/x"}), "200 one file");
  EXPECT_THAT(Text({.target = "/logs/?query=dir/nosuch"}), StartsWith("406 "));
  EXPECT_THAT(Text({.target = "/logs/?query="}), StartsWith("400 query cannot be empty"));
}

TEST_F(NodeLogs, AQueryDoesNotWaitForOneThatStillRuns) {
  program_times = {{"--unit=short", 1s}, {"--unit=long", 20s}};
  programs.insert_or_assign("journalctl --field _SYSTEMD_UNIT", "short.service\nlong.service\n");
  Start();
  Begin({.target = "/logs/?query=short"});
  Begin({.target = "/logs/?query=long"});
  all.Advance(2s);
  const auto third = Begin({.target = "/logs/?query=short"});
  all.Advance(2s);
  EXPECT_TRUE(third->answer);
}

TEST_F(NodeLogs, QueriesAboveTheLimitAreRefused) {
  program_times = {{"--unit=long", 20s}};
  programs.insert_or_assign("journalctl --field _SYSTEMD_UNIT", "long.service\n");
  Start();
  for (int i = 0; i < Endpoints::kMaxLogQueries; ++i) Begin({.target = "/logs/?query=long"});
  all.Advance(1s);
  EXPECT_EQ(Text({.target = "/logs/?query=long"}), "429 too many queries of this node's logs");
  all.Advance(20s);
  EXPECT_EQ(Code({.target = "/logs/?query=long"}), 200);
}

TEST_F(NodeLogs, NobodyAsksTheJournalUnlessItIsSwitchedOn) {
  config.server.system_log_query = false;
  Start();
  EXPECT_THAT(Text({.target = "/logs/?query=kubelet"}), HasSubstr("daemon.log"));
  EXPECT_TRUE(ran.empty());
}

}  // namespace
}  // namespace splitlet::node_api
