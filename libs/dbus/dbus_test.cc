#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/dbus/errors.h"
#include "libs/dbus/fake_bus.h"

namespace splitlet::dbus {
namespace {

TEST(DbusValue, KnowsItsTypeOnTheWire) {
  const struct {
    Values values;
    const char* signature;
  } kCases[] = {
      {{}, ""},
      {{Value("a"), Value(true), Value(int32_t{1}), Value(uint64_t{2})}, "sbit"},
      {{Value(ObjectPath{"/a"}), Variant("x"), Value(Handle())}, "ovh"},
      {{Value("a.slice"), Value("replace"),
        Array("(sv)", {Struct({Value("Wants"), Variant(Strings({"b.slice"}))})}),
        Array("(sa(sv))", {})},
       "ssa(sv)a(sa(sv))"},
      {{Array("{sv}", {})}, "a{sv}"},
  };
  for (const auto& c : kCases) EXPECT_EQ(SignatureOf(c.values), c.signature);
}

TEST(DbusValue, IsTakenOutByType) {
  const Values values = {Value("a"), Variant(Variant(uint32_t{7}))};
  EXPECT_EQ(Get<std::string>(values, 0).value(), "a");
  EXPECT_EQ(Get<uint32_t>(values, 1).value(), 7u) << "what a variant holds";
  EXPECT_EQ(Message(Get<bool>(values, 0).status()), "value 0 has type s, not b");
  EXPECT_EQ(Message(Get<bool>(values, 2).status()), "there are 2 values, not 3");
}

TEST(DbusErrors, ComeByTheirNames) {
  const Status status = StatusOf("org.freedesktop.systemd1.NoSuchUnit", "Unit a not loaded.\n");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(status), "org.freedesktop.systemd1.NoSuchUnit: Unit a not loaded.\\x0a");
  EXPECT_EQ(StatusOf("org.example.Unheard", "of").code(), StatusCode::kUnknown);
  for (const StatusCode code :
       {StatusCode::kNotFound, StatusCode::kAlreadyExists, StatusCode::kPermissionDenied,
        StatusCode::kUnavailable, StatusCode::kDeadlineExceeded, StatusCode::kInvalidArgument})
    EXPECT_EQ(StatusOf(ErrorNameOf(code), "").code(), code);
}

TEST(FakeDbus, CallsSignalsAndLoss) {
  FakeDaemon daemon;
  const FakeClock clock;
  const Deadline deadline = After(clock, 1s);
  int lost = 0, seen = 0;
  const auto bus = daemon.MakeConnect()([&lost](const Status&) { ++lost; }, deadline);
  ASSERT_TRUE(bus.ok());
  const MethodCall call{"org.example", {"/"}, "org.example.I", "Echo", {Value("x")}};
  EXPECT_EQ((*bus)->Call(call, deadline).status().code(), StatusCode::kUnavailable);
  daemon.Serve("org.example", [](const MethodCall& c) { return StatusOr<Values>(c.arguments); });
  EXPECT_EQ((*bus)->Call(call, deadline).value(), call.arguments);
  {
    const auto watch = (*bus)->WatchSignals(
        {.sender = "org.example", .member = "Changed"}, [&seen](const Signal&) { ++seen; },
        deadline);
    daemon.Emit({{"/"}, "org.example.I", "Changed"});
    daemon.Emit({{"/"}, "org.example.I", "Other"});
  }
  daemon.Emit({{"/"}, "org.example.I", "Changed"});
  EXPECT_EQ(seen, 1);
  daemon.LoseAll();
  daemon.LoseAll();
  EXPECT_EQ(lost, 1);
  EXPECT_EQ((*bus)->Call(call, deadline).status().code(), StatusCode::kUnavailable);
  daemon.FailConnect(Unavailable("no socket"));
  EXPECT_FALSE(daemon.Open({}).ok());
}

}  // namespace
}  // namespace splitlet::dbus
