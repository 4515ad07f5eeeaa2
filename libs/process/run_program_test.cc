#include "libs/process/run_program.h"

#include <gtest/gtest.h>

#include <thread>

namespace splitlet::process {
namespace {

using namespace std::chrono_literals;

Program Shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

TEST(RunProgram, HasItsInputItsEnvironmentAndTellsItsOutput) {
  Program program = Shell("cat; printf ' %s' \"$GREETING\"; echo noise >&2");
  program.input = std::string(300'000, 'x');
  program.env["GREETING"] = "hello";
  const auto out = RunProgram(program);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, program.input + " hello");
}

TEST(RunProgram, OneThatDoesNotReadItsInputIsNoError) {
  Program program = Shell("exec <&-; echo done");
  program.input = std::string(1u << 20, 'x');
  const auto out = RunProgram(program);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "done\n");
}

TEST(RunProgram, OneThatFailsIsAnErrorWithWhatItSaid) {
  const struct {
    std::string script;
    StatusCode code;
    std::string text;
  } kCases[] = {
      {"echo out; echo why >&2; exit 3", StatusCode::kUnavailable, "sh: exit code 3: why"},
      {"echo out; exit 3", StatusCode::kUnavailable, "sh: exit code 3: out"},
      {"exit 3", StatusCode::kUnavailable, "sh: exit code 3"},
      {"kill -9 $$", StatusCode::kUnavailable, "sh: killed by signal 9"},
      {"printf 'a\\033[31mb' >&2; exit 1", StatusCode::kUnavailable,
       "sh: exit code 1: a\\x1b[31mb"},
  };
  for (const auto& c : kCases) {
    const auto out = RunProgram(Shell(c.script));
    EXPECT_EQ(out.status().code(), c.code) << c.script;
    EXPECT_EQ(Message(out.status()), c.text) << c.script;
  }
  EXPECT_EQ(RunProgram({.argv = {"/does/not/exist"}}).status().code(), StatusCode::kNotFound);
}

TEST(RunProgram, OneThatPrintsTooMuchIsKilled) {
  Program program = Shell("while :; do echo xxxxxxxxxxxxxxxx; done");
  program.max_output_bytes = 100'000;
  EXPECT_EQ(RunProgram(program).status().code(), StatusCode::kResourceExhausted);
  program = Shell("while :; do echo xxxxxxxxxxxxxxxx; done >&2");
  program.limit = 200ms;
  EXPECT_EQ(RunProgram(program).status().code(), StatusCode::kDeadlineExceeded)
      << "what it says of errors is read, and not kept";
}

TEST(RunProgram, OneThatDoesNotEndIsKilledWithItsChildren) {
  Program program = Shell("sleep 1000 & echo $!; wait");
  program.limit = 100ms;
  EXPECT_EQ(RunProgram(program).status().code(), StatusCode::kDeadlineExceeded);
}

TEST(RunProgram, OneThatIsGivenUpIsKilled) {
  CancelToken cancel;
  Program program = Shell("sleep 1000");
  program.cancel = &cancel;
  std::thread other([&cancel] { cancel.Cancel(); });
  EXPECT_EQ(RunProgram(program).status().code(), StatusCode::kCancelled);
  other.join();
  EXPECT_EQ(RunProgram(program).status().code(), StatusCode::kCancelled) << "immediately";
}

TEST(RunProgram, WhatItLeavesBehindHoldsUpNobody) {
  const auto out = RunProgram(Shell("sleep 5 & echo here"));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, "here\n");
}

}  // namespace
}  // namespace splitlet::process
