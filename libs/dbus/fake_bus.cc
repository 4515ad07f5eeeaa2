#include "libs/dbus/fake_bus.h"

#include <algorithm>

namespace splitlet::dbus {

class FakeBus final : public Bus {
 public:
  struct Entry {
    SignalMatch match;
    OnSignal callback;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;

  class EntryWatch final : public Watch {
   public:
    EntryWatch(std::shared_ptr<Entries> entries, std::shared_ptr<Entry> entry)
        : entries_(std::move(entries)), entry_(std::move(entry)) {}
    ~EntryWatch() override { std::erase(*entries_, entry_); }

   private:
    const std::shared_ptr<Entries> entries_;
    const std::shared_ptr<Entry> entry_;
  };

  FakeBus(FakeDaemon& daemon, OnLost on_lost) : daemon_(daemon), on_lost_(std::move(on_lost)) {
    daemon_.buses_.push_back(this);
  }
  ~FakeBus() override { std::erase(daemon_.buses_, this); }

  StatusOr<Values> Call(const MethodCall& call, Deadline) override {
    const auto service = daemon_.services_.find(call.destination);
    const std::string what = fmt::format("{}.{}", call.interface, call.member);
    RETURN_IF_ERROR(lost_, "{}", what);
    if (service == daemon_.services_.end())
      return Unavailable("{}: no service has the name {}", what, call.destination);
    return Annotate(service->second(call), what);
  }

  StatusOr<std::unique_ptr<Watch>> WatchSignals(const SignalMatch& match, OnSignal callback,
                                                Deadline) override {
    RETURN_IF_ERROR(lost_, "watch {}.{}", match.interface, match.member);
    auto entry = std::make_shared<Entry>(Entry{match, std::move(callback)});
    entries_->push_back(entry);
    return std::make_unique<EntryWatch>(entries_, std::move(entry));
  }

  void Tell(const Signal& signal) {
    const auto fits = [](const std::string& wanted, const std::string& got) {
      return wanted.empty() || wanted == got;
    };
    for (const auto& entry : Entries(*entries_)) {
      const SignalMatch& match = entry->match;
      if (fits(match.path.path, signal.path.path) && fits(match.interface, signal.interface) &&
          fits(match.member, signal.member))
        entry->callback(signal);
    }
  }

  void Lose() {
    if (!lost_.ok()) return;
    lost_ = Unavailable("the bus is lost");
    if (on_lost_) on_lost_(lost_);
  }
  size_t watches() const { return entries_->size(); }

 private:
  FakeDaemon& daemon_;
  const OnLost on_lost_;
  const std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
  Status lost_;
};

void FakeDaemon::Emit(const Signal& signal) {
  for (FakeBus* bus : std::vector(buses_)) bus->Tell(signal);
}

void FakeDaemon::LoseAll() {
  for (FakeBus* bus : std::vector(buses_)) bus->Lose();
}

StatusOr<std::unique_ptr<Bus>> FakeDaemon::Open(OnLost on_lost) {
  RETURN_IF_ERROR(connect_error_, "connect");
  return std::make_unique<FakeBus>(*this, std::move(on_lost));
}

Connect FakeDaemon::MakeConnect() {
  return [this](OnLost on_lost, Deadline) { return Open(std::move(on_lost)); };
}

size_t FakeDaemon::watches() const {
  size_t all = 0;
  for (const FakeBus* bus : buses_) all += bus->watches();
  return all;
}

}  // namespace splitlet::dbus
