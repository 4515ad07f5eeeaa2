#include "ctl/session/remote_command.h"

#include <gtest/gtest.h>

namespace splitlet::ctl {
namespace {

TEST(RemoteCommand, TheTerminalsSizeIsALineOfJson) {
  EXPECT_EQ(ResizeMessage({.columns = 80, .rows = 24}), "{\"Width\":80,\"Height\":24}\n");
}

TEST(RemoteCommand, HowTheCommandEnded) {
  const struct {
    const char* name;
    const char* json;
    const char* want;  // an exit code, or the error
  } kCases[] = {
      {"well", R"({"metadata":{},"status":"Success"})", "0"},
      {"with a code",
       R"({"status":"Failure","message":"command terminated with non-zero exit code","reason":"NonZeroExitCode",
          "details":{"causes":[{"reason":"ExitCode","message":"3"}]}})",
       "3"},
      {"it did not run",
       R"({"status":"Failure","reason":"InternalError","message":"no such file"})", "no such file"},
      {"a code that is none",
       R"({"status":"Failure","reason":"NonZeroExitCode","message":"odd","details":{"causes":[{"reason":"ExitCode","message":"x"}]}})",
       "odd"},
      {"causes of another form",
       R"({"status":"Failure","reason":"NonZeroExitCode","message":"odd","details":{"causes":[7]}})",
       "odd"},
      {"no JSON", "container not found", "cannot parse the runtime's answer: container not found"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto exit = ParseExit(c.json);
    EXPECT_EQ(exit.ok() ? std::to_string(*exit) : Message(exit.status()), c.want);
  }
}

TEST(RemoteCommand, WhereTheRuntimeServesStreams) {
  const auto url = ParseStreamUrl("http://127.0.0.1:4000/exec/abc?x=1");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, 4000);
  EXPECT_EQ(url->target, "/exec/abc?x=1");
  EXPECT_EQ(ParseStreamUrl("http://[::1]:4000/exec/abc").value_or(StreamUrl{}).host, "::1");
  EXPECT_EQ(ParseStreamUrl("http://localhost:4000").value_or(StreamUrl{}).host, "127.0.0.1");
  EXPECT_EQ(ParseStreamUrl("https://127.0.0.1:4000/x").status().code(), StatusCode::kUnimplemented);
  for (const char* wrong : {"", "http://", "http://host/x", "http://host:0/x", "http://h:99999/x",
                            "ftp://h:1/x", "http://h:1/x y", "http://h:1/\r\nX: y"})
    EXPECT_EQ(ParseStreamUrl(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
}

}  // namespace
}  // namespace splitlet::ctl
