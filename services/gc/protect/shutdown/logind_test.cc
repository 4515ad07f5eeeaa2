#include "services/gc/protect/shutdown/logind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "libs/dbus/fake_bus.h"
#include "tests/harness/fake_logind.h"

namespace splitlet::gc {
namespace {

using harness::FakeLogind;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

/// A logind behind a bus in memory.
class LogindTest : public testing::Test {
 protected:
  LogindTest() {
    for (const char* name : {FakeLogind::kName, FakeLogind::kSystemdName})
      daemon.Serve(name, [this](const dbus::MethodCall& call) {
        calls.push_back(call);
        return logind.Answer(call);
      });
  }
  Deadline Soon() const { return After(clock, 5s); }
  StatusOr<ShutdownSource::State> Connect() {
    return source->Connect({.on_preparing = [this](bool preparing) { reported = preparing; },
                            .on_lost = [this](const Status& why) { lost = why; }},
                           Soon());
  }

  FakeClock clock;
  FakeLogind logind;
  std::vector<dbus::MethodCall> calls;
  dbus::FakeDaemon daemon;
  std::unique_ptr<ShutdownSource> source = MakeLogind(daemon.MakeConnect());
  std::optional<bool> reported;
  std::optional<Status> lost;
};

TEST_F(LogindTest, SaysWhatItIsAboutToDo) {
  logind.SetDelay(7'500'000, 0);
  const auto state = Connect();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(state->preparing);
  EXPECT_EQ(state->max_delay, 7500ms);
  daemon.Emit(logind.Prepare(true));
  EXPECT_EQ(reported, true);
  daemon.Emit(logind.Prepare(false));
  EXPECT_EQ(reported, false);
  EXPECT_TRUE([&] {
    daemon.Emit(logind.Prepare(true));
    return Connect()->preparing;
  }());
}

TEST_F(LogindTest, WaitsWhileTheLockIsOpen) {
  ASSERT_TRUE(Connect().ok());
  ASSERT_TRUE(source->TakeLock(Soon()).ok());
  EXPECT_EQ(logind.Locks(), 1);
  EXPECT_THAT(logind.inhibits(),
              ElementsAre(dbus::Values{"shutdown", "kubelet",
                                       "Kubelet needs time to handle node shutdown", "delay"}));
  EXPECT_EQ(calls.back().path.path, "/org/freedesktop/login1");
  EXPECT_EQ(calls.back().interface, "org.freedesktop.login1.Manager");
  ASSERT_TRUE(source->TakeLock(Soon()).ok());
  EXPECT_EQ(logind.Locks(), 1) << "one that is held is replaced";
  source->ReleaseLock();
  EXPECT_EQ(logind.Locks(), 0);
  ASSERT_TRUE(source->TakeLock(Soon()).ok());
  source = nullptr;
  EXPECT_EQ(logind.Locks(), 0);
}

TEST_F(LogindTest, TheLockOutlivesALostBus) {
  ASSERT_TRUE(Connect().ok());
  ASSERT_TRUE(source->TakeLock(Soon()).ok());
  daemon.LoseAll();
  EXPECT_TRUE(lost.has_value());
  EXPECT_FALSE(source->ReadMaxDelay(Soon()).ok());
  EXPECT_EQ(logind.Locks(), 1);
  ASSERT_TRUE(Connect().ok());
  ASSERT_TRUE(source->TakeLock(Soon()).ok());
  EXPECT_EQ(logind.Locks(), 1);
  EXPECT_EQ(daemon.buses(), 1U);
  EXPECT_EQ(daemon.watches(), 1U);
}

TEST_F(LogindTest, ReadsItsSettingsAgainOnAHangUp) {
  logind.SetDelay(5'000'000, 30'000'000);
  ASSERT_TRUE(Connect().ok());
  ASSERT_TRUE(source->Reload(Soon()).ok());
  EXPECT_EQ(calls.back().destination, "org.freedesktop.systemd1");
  EXPECT_EQ(calls.back().path.path, "/org/freedesktop/systemd1");
  EXPECT_EQ(calls.back().interface, "org.freedesktop.systemd1.Manager");
  EXPECT_THAT(logind.reloads(),
              ElementsAre(dbus::Values{"systemd-logind.service", "all", int32_t{1}}));
  EXPECT_EQ(*source->ReadMaxDelay(Soon()), 30s);
}

TEST_F(LogindTest, WithoutItNothingIsLeftOpen) {
  daemon.Serve(FakeLogind::kName, [](const dbus::MethodCall&) -> StatusOr<dbus::Values> {
    return Unavailable("no such name");
  });
  EXPECT_EQ(Connect().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(daemon.buses(), 0U);
  EXPECT_EQ(source->TakeLock(Soon()).code(), StatusCode::kUnavailable);
  daemon.FailConnect(Unavailable("no server listens"));
  EXPECT_EQ(Connect().status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace splitlet::gc
