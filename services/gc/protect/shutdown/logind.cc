#include "services/gc/protect/shutdown/logind.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <utility>

namespace splitlet::gc {
namespace {

constexpr const char* kLogin = "org.freedesktop.login1";
constexpr const char* kManager = "org.freedesktop.login1.Manager";

const dbus::ObjectPath& LoginPath() {
  static const dbus::ObjectPath kPath{"/org/freedesktop/login1"};
  return kPath;
}

dbus::MethodCall CallOf(const char* member, dbus::Values arguments = {}) {
  return {.destination = kLogin,
          .path = LoginPath(),
          .interface = kManager,
          .member = member,
          .arguments = std::move(arguments)};
}

template <class T>
StatusOr<T> ReadProperty(dbus::Bus& bus, const char* name, const Deadline& deadline) {
  ASSIGN_OR_RETURN(const dbus::Value value, dbus::GetProperty(bus, CallOf(""), name, deadline),
                   "property {}", name);
  return Annotate(dbus::Get<T>({value}, 0), fmt::format("property {}", name));
}

class Logind final : public ShutdownSource {
 public:
  explicit Logind(dbus::Connect connect) : connect_(std::move(connect)) {}

  StatusOr<State> Connect(Events events, const Deadline& deadline) override {
    Drop();
    auto state = Reconnect(std::move(events), deadline);
    if (!state.ok()) Drop();
    return state;
  }

  StatusOr<Duration> ReadMaxDelay(const Deadline& deadline) override {
    if (bus_ == nullptr) return Unavailable("not connected to logind");
    ASSIGN_OR_RETURN(const uint64_t usec,
                     ReadProperty<uint64_t>(*bus_, "InhibitDelayMaxUSec", deadline), "logind");
    constexpr uint64_t kMaxMicroseconds = 1'000'000ULL * 60 * 60 * 24 * 365;
    return Duration{std::chrono::microseconds{std::min(usec, kMaxMicroseconds)}};
  }

  Status Reload(const Deadline& deadline) override {
    if (bus_ == nullptr) return Unavailable("not connected to logind");
    return Annotate(bus_->Call({.destination = "org.freedesktop.systemd1",
                                .path = {"/org/freedesktop/systemd1"},
                                .interface = "org.freedesktop.systemd1.Manager",
                                .member = "KillUnit",
                                .arguments = {"systemd-logind.service", "all", int32_t{SIGHUP}}},
                               deadline)
                        .status(),
                    "KillUnit");
  }

  Status TakeLock(const Deadline& deadline) override {
    if (bus_ == nullptr) return Unavailable("not connected to logind");
    const auto call = CallOf(
        "Inhibit", {"shutdown", "kubelet", "Kubelet needs time to handle node shutdown", "delay"});
    ASSIGN_OR_RETURN(const dbus::Values reply, bus_->Call(call, deadline), "Inhibit");
    ASSIGN_OR_RETURN(lock_, dbus::Get<dbus::Handle>(reply, 0), "Inhibit");
    return OkStatus();
  }

  void ReleaseLock() override { lock_ = nullptr; }

 private:
  /// Subscribes before it reads the state, so that no change in between is missed.
  StatusOr<State> Reconnect(Events events, const Deadline& deadline) {
    ASSIGN_OR_RETURN(bus_, connect_(std::move(events.on_lost), deadline), "connect");
    ASSIGN_OR_RETURN(
        watch_,
        bus_->WatchSignals(
            {.sender = kLogin,
             .path = LoginPath(),
             .interface = kManager,
             .member = "PrepareForShutdown"},
            [on_preparing = std::move(events.on_preparing)](const dbus::Signal& signal) {
              const auto preparing = dbus::Get<bool>(signal.arguments, 0);
              if (preparing.ok()) on_preparing(*preparing);
            },
            deadline),
        "signal");
    State state;
    ASSIGN_OR_RETURN(state.preparing, ReadProperty<bool>(*bus_, "PreparingForShutdown", deadline),
                     "logind");
    ASSIGN_OR_RETURN(state.max_delay, ReadMaxDelay(deadline), "logind");
    return state;
  }

  void Drop() {
    watch_ = nullptr;
    bus_ = nullptr;
  }

  const dbus::Connect connect_;
  std::unique_ptr<dbus::Bus> bus_;
  std::unique_ptr<dbus::Watch> watch_;  // must end before its bus
  dbus::Handle lock_;                   // stays taken while the bus is lost
};

}  // namespace

std::unique_ptr<ShutdownSource> MakeLogind(dbus::Connect connect) {
  return std::make_unique<Logind>(std::move(connect));
}

}  // namespace splitlet::gc
