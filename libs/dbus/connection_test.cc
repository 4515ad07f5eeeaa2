#include "libs/dbus/connection.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "tests/harness/child.h"
#include "tests/harness/dbus_daemon.h"

namespace splitlet::dbus {
namespace {

using testing::HasSubstr;

constexpr const char* kName = "org.example.Service";
constexpr const char* kInterface = "org.example.Interface";

MethodCall CallOf(const std::string& member, Values arguments = {}) {
  return {kName, {"/org/example"}, kInterface, member, std::move(arguments)};
}

/// A real bus, and a service on it that echoes its arguments.
class DbusConnection : public testing::Test {
 protected:
  Deadline Soon() const { return After(clock, 20s); }

  StatusOr<Values> Answer(const MethodCall& call) {
    if (call.member == "Echo") return call.arguments;
    if (call.member == "Refuse") return NotFound("Unit x.slice not loaded.");
    if (call.member == "Get") return Values{Variant(uint64_t{5'000'000})};
    if (call.member == "Tell") {
      EXPECT_TRUE(service->Emit({{"/org/example"}, kInterface, "Told", call.arguments}).ok());
      return Values{};
    }
    // "Hang" blocks the service's bus until the test is over.
    released.get_future().wait();
    return Values{};
  }

  void SetUp() override {
    auto made = ConnectService({clock, daemon.address()}, Soon());
    ASSERT_TRUE(made.ok()) << made.status();
    service = std::move(*made);
    ASSERT_TRUE(service
                    ->Serve(
                        kName, [this](const MethodCall& c) { return Answer(c); }, Soon())
                    .ok());
    auto connected = ConnectBus(
        {clock, daemon.address(), [this](const Status& why) { lost.set_value(why); }}, Soon());
    ASSERT_TRUE(connected.ok()) << connected.status();
    bus = std::move(*connected);
  }

  const RealClock clock;
  const harness::TempDir dir{"dbus"};
  harness::DbusDaemon daemon{dir.path()};
  std::promise<void> released;
  std::promise<Status> lost;
  std::unique_ptr<ServiceBus> service;
  std::unique_ptr<Bus> bus;
};

TEST_F(DbusConnection, ValuesOfEveryTypeComeBackAsTheyWere) {
  const Values values = {
      Value("text"),
      Value(true),
      Value(false),
      Value(uint8_t{200}),
      Value(int32_t{-5}),
      Value(uint32_t{5}),
      Value(int64_t{-1} << 40),
      Value(~uint64_t{0}),
      Value(0.5),
      Value(ObjectPath{"/org/example/x"}),
      Variant(Strings({"a.slice", "b.slice"})),
      Array("(sv)", {Struct({Value("MemoryMax"), Variant(uint64_t{4096})}),
                     Struct({Value("DefaultDependencies"), Variant(false)})}),
      Array("(sa(sv))", {}),
      Array("{sv}", {Struct({Value("Key"), Variant("value")})}),
      Array("y", {Value(uint8_t{3}), Value(uint8_t{0})}),
  };
  const auto back = bus->Call(CallOf("Echo", values), Soon());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(SignatureOf(*back), SignatureOf(values));
  EXPECT_EQ(*back, values);
}

TEST_F(DbusConnection, AFileDescriptorIsTheCallersOwn) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const fs::Fd reader(ends[0]);
  {
    const Handle writer = std::make_shared<fs::Fd>(ends[1]);
    const auto back = bus->Call(CallOf("Echo", {Value(writer)}), Soon());
    ASSERT_TRUE(back.ok()) << back.status();
    const auto handle = Get<Handle>(*back, 0);
    ASSERT_TRUE(handle.ok()) << handle.status();
    EXPECT_NE((*handle)->get(), writer->get());
    EXPECT_EQ(::write((*handle)->get(), "x", 1), 1);
    EXPECT_NE(::fcntl((*handle)->get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  // An echo through the same thread shows that all earlier messages are released.
  ASSERT_TRUE(bus->Call(CallOf("Echo"), Soon()).ok());
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 1);
  EXPECT_TRUE(harness::WaitFor(10s, [&reader, &byte] {
    return ::fcntl(reader.get(), F_SETFL, O_NONBLOCK) == 0 && ::read(reader.get(), &byte, 1) == 0;
  })) << "no process holds the other end";
}

TEST_F(DbusConnection, ErrorsSayNameTextAndMethod) {
  const auto refused = bus->Call(CallOf("Refuse"), Soon());
  EXPECT_EQ(refused.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(refused.status()),
            "org.example.Interface.Refuse: org.freedesktop.systemd1.NoSuchUnit: Unit x.slice not "
            "loaded.");
  MethodCall nobody = CallOf("Echo");
  nobody.destination = "org.example.Nobody";
  EXPECT_EQ(bus->Call(nobody, Soon()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(bus->Call(CallOf("Echo", {Array("s", {Value(true)})}), Soon()).status().code(),
            StatusCode::kInvalidArgument);
  MethodCall wrong = CallOf("Echo");
  wrong.path = {"not a path"};
  EXPECT_EQ(bus->Call(wrong, Soon()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(bus->Call(CallOf("Echo"), Soon()).ok()) << "the connection is still good";
}

TEST_F(DbusConnection, APropertyIsReadWithoutItsVariant) {
  const auto delay = GetProperty(*bus, CallOf(""), "InhibitDelayMaxUSec", Soon());
  ASSERT_TRUE(delay.ok()) << delay.status();
  EXPECT_EQ(*delay, Value(uint64_t{5'000'000}));
}

TEST_F(DbusConnection, SignalsComeWhileTheyAreWatched) {
  std::promise<Values> told;
  auto watch = bus->WatchSignals(
      {.sender = kName, .path = {"/org/example"}, .interface = kInterface, .member = "Told"},
      [&told](const Signal& signal) { told.set_value(signal.arguments); }, Soon());
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_TRUE(bus->Call(CallOf("Tell", {Value(true)}), Soon()).ok());
  EXPECT_EQ(told.get_future().get(), Values{Value(true)});
  watch->reset();
  // A second call would fulfil a promise twice, which throws.
  ASSERT_TRUE(bus->Call(CallOf("Tell", {Value(false)}), Soon()).ok());
  ASSERT_TRUE(bus->Call(CallOf("Echo"), Soon()).ok());
}

TEST_F(DbusConnection, ACallEndsAtItsDeadline) {
  const auto late = bus->Call(CallOf("Hang"), After(clock, 10ms));
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded) << late.status();
  EXPECT_EQ(bus->Call(CallOf("Echo"), After(clock, 0s)).status().code(),
            StatusCode::kDeadlineExceeded);
  released.set_value();
  EXPECT_TRUE(bus->Call(CallOf("Echo"), Soon()).ok()) << "the connection is still good";
}

TEST_F(DbusConnection, LossIsToldToEverybody) {
  auto watch = bus->WatchSignals(
      {.sender = kName}, [](const Signal&) {}, Soon());
  ASSERT_TRUE(watch.ok()) << watch.status();
  std::thread caller([this] {
    EXPECT_EQ(bus->Call(CallOf("Hang"), Soon()).status().code(), StatusCode::kUnavailable);
  });
  daemon.Kill();
  const Status why = lost.get_future().get();
  EXPECT_EQ(why.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(why), HasSubstr("the bus " + daemon.address() + " is lost: "));
  released.set_value();
  caller.join();
  EXPECT_EQ(bus->Call(CallOf("Echo"), Soon()).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(bus->WatchSignals(
                      {.sender = kName}, [](const Signal&) {}, Soon())
                   .ok());
  daemon.Start();
  EXPECT_TRUE(ConnectBus({clock, daemon.address()}, Soon()).ok()) << "a new one";
}

TEST(DbusConnect, WhoIsNotThereOrDoesNotAnswerIsAnError) {
  const RealClock clock;
  const harness::TempDir dir{"dbus"};
  const std::string address = "unix:path=" + dir / "none.sock";
  const auto absent = ConnectBus({clock, address}, After(clock, 20s));
  EXPECT_EQ(absent.status().code(), StatusCode::kUnavailable) << absent.status();
  EXPECT_THAT(Message(absent.status()), HasSubstr(address));
  EXPECT_FALSE(ConnectBus({clock, "nonsense"}, After(clock, 20s)).ok());
  harness::DbusDaemon daemon(dir.path());
  daemon.Signal(SIGSTOP);
  const auto silent = ConnectBus({clock, daemon.address()}, After(clock, 10ms));
  EXPECT_EQ(silent.status().code(), StatusCode::kDeadlineExceeded) << silent.status();
}

}  // namespace
}  // namespace splitlet::dbus
