#include "libs/bus/fake_bus.h"

#include <algorithm>

namespace splitlet::bus {

void FakeBusNetwork::Join(FakeBus& bus) {
  CHECK(!buses_.contains(bus.process_), "{} is on the bus already", bus.process_);
  buses_[bus.process_] = &bus;
}

// The next start of the process may have joined already.
void FakeBusNetwork::Leave(FakeBus& bus) {
  const auto found = buses_.find(bus.process_);
  if (found != buses_.end() && found->second == &bus) buses_.erase(found);
}

void FakeBusNetwork::SetUp(bool up) {
  if (up == up_) return;
  up_ = up;
  ++epoch_;
  ReportConnections();
}

void FakeBusNetwork::SetConnected(const std::string& process, bool connected) {
  if (connected) {
    cut_.erase(process);
  } else {
    cut_.insert(process);
  }
  ReportConnections();
}

void FakeBusNetwork::SetCallsFail(const std::string& process, bool fail) {
  if (fail) {
    mute_.insert(process);
  } else {
    mute_.erase(process);
  }
}

void FakeBusNetwork::ReportConnections() {
  for (const auto& [name, bus] : buses_)
    bus->After(Duration{0}, [](FakeBus& b) {
      b.quiet_.Forget();
      b.core_.OnConnection(b.connected());
    });
}

void FakeBusNetwork::Send(const std::string& from, std::function<void(FakeBus&)> deliver) {
  if (!Connected(from)) return;
  const auto shared = std::make_shared<const std::function<void(FakeBus&)>>(std::move(deliver));
  for (const auto& [name, bus] : buses_) {
    SendTo(from, *bus, shared);
    if (random_.Unit() < faults_.twice) SendTo(from, *bus, shared);
  }
}

void FakeBusNetwork::SendTo(const std::string& from, FakeBus& to,
                            const std::shared_ptr<const std::function<void(FakeBus&)>>& deliver) {
  if (!Connected(to.process_) || random_.Unit() < faults_.lose) {
    ++lost_;
    return;
  }
  Clock::Time at = clock_.Now() + faults_.latency;
  const bool late = faults_.max_delay > Duration{0} && random_.Unit() < faults_.delay;
  if (late)
    at = at + Duration{static_cast<int64_t>(random_.Unit() *
                                            static_cast<double>(faults_.max_delay.count()))};
  Clock::Time& last = last_delivery_[{from, to.process_}];
  if (random_.Unit() >= faults_.overtake) {
    if (last.SameBoot(at) && last > at) at = last;
    last = at;
  }
  to.After(at - clock_.Now(), [this, deliver, epoch = epoch_](FakeBus& bus) {
    if (epoch != epoch_ || !bus.connected()) return;
    ++delivered_;
    (*deliver)(bus);
  });
}

void FakeBusNetwork::List(FakeBus& from, const std::string& owner,
                          const std::function<StatusOr<ListAnswer>(FakeBus&)>& ask,
                          Transport::Listed listed) {
  // The answer or the limit, whichever comes first, uses up `once`.
  auto once = std::make_shared<Transport::Listed>(std::move(listed));
  const auto finish = [once](StatusOr<ListAnswer> answer) {
    const auto f = std::exchange(*once, nullptr);
    if (f) f(std::move(answer));
  };
  const auto it = buses_.find(owner);
  const bool reachable =
      it != buses_.end() && !mute_.contains(owner) && !mute_.contains(from.process_);
  if (!reachable || random_.Unit() < faults_.fail_list) {
    from.After(faults_.latency, [finish](FakeBus&) { finish(Unavailable("no answer")); });
    return;
  }
  from.After(kListLimit, [finish](FakeBus&) { finish(DeadlineExceeded("no answer in time")); });
  const std::weak_ptr<FakeBus*> asker = from.alive_;
  it->second->After(faults_.latency, [this, asker, ask, finish](FakeBus& bus) {
    auto answer = ask(bus);
    const auto back = asker.lock();
    if (back == nullptr) return;
    (*back)->After(faults_.latency,
                   [finish, answer = std::move(answer)](FakeBus&) { finish(answer); });
  });
}

FakeBus::FakeBus(FakeBusNetwork& network, std::string process, exec::EventLoop& loop)
    : network_(network),
      process_(std::move(process)),
      loop_(loop),
      alive_(std::make_shared<FakeBus*>(this)),
      core_(process_, loop, network.clock_, *this) {
  core_.SetEarliestStart(network_.last_start_[process_]);
  network_.Join(*this);
}

FakeBus::~FakeBus() {
  network_.last_start_[process_] = core_.last_start();
  Leave();
}

void FakeBus::Leave() {
  alive_.reset();
  network_.Leave(*this);
}

void FakeBus::After(Duration delay, std::function<void(FakeBus&)> f) {
  loop_.RunAfter(delay, [alive = std::weak_ptr<FakeBus*>(alive_), f = std::move(f)] {
    if (const auto bus = alive.lock()) f(**bus);
  });
}

void FakeBus::Publish(const std::string& table, const Envelope& envelope) {
  network_.Send(process_, [table, envelope](FakeBus& bus) {
    if (bus.tables_.contains(table)) bus.Receive(table, envelope);
  });
}

void FakeBus::Receive(const std::string& table, const Envelope& envelope) {
  if (quiet_.Keep(table, envelope)) return;
  quiet_.Taken(table);
  core_.OnEnvelope(table, envelope);
}

void FakeBus::PublishSignal(const std::string& signal, const std::string& payload) {
  network_.Send(process_, [process = process_, signal, payload](FakeBus& bus) {
    if (bus.signals_.contains({process, signal}))
      bus.core_.OnSignalReceived(process, signal, payload);
  });
}

void FakeBus::List(const std::string& owner, const std::string& table, const Since& since,
                   Listed listed) {
  network_.List(
      *this, owner, [table, since](FakeBus& bus) { return bus.core_.ListTable(table, since); },
      std::move(listed));
}

}  // namespace splitlet::bus
