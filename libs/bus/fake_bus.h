#pragma once

/// The bus of tests and of the simulation: a FakeBusNetwork joins one FakeBus per process on loops
/// of virtual time. Tables, views, lists and heartbeats are those of the real bus (CoreBus).
///   FakeClock clock; exec::FakeLoop loop(clock);
///   FakeBusNetwork network(clock, /*seed=*/1);
///   FakeBus owner(network, "config-source", loop), reader(network, "sync-loop", loop);
///   auto table = *Own<R>(owner, "desired"); auto view = *ViewOf<R>(reader, "desired");
///   loop.RunUntilIdle();  // subscribed and listed; after a Put again: applied
/// Threads: one.
/// Errors: as the real bus.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "libs/base/random.h"
#include "libs/bus/bus.h"
#include "libs/bus/core_bus.h"

namespace splitlet::bus {

/// Chances are in [0, 1] and drawn for each message and reader.
struct BusFaults {
  double lose = 0;
  double twice = 0;
  double delay = 0;     // up to max_delay later; later messages wait behind it
  double overtake = 0;  // may arrive before earlier messages
  Duration max_delay{0};
  double fail_list = 0;  // UNAVAILABLE
  Duration latency{0};   // of every message, and of each way of a list
};

class FakeBus;

class FakeBusNetwork {
 public:
  FakeBusNetwork(const Clock& clock, uint64_t seed) : clock_(clock), random_(seed) {}
  FakeBusNetwork(const FakeBusNetwork&) = delete;
  FakeBusNetwork& operator=(const FakeBusNetwork&) = delete;

  void SetFaults(BusFaults faults) { faults_ = faults; }
  /// Down: messages on the way are lost, and every process learns that it is not connected. Lists
  /// still work.
  void SetUp(bool up);
  bool up() const { return up_; }
  /// SetUp for one process.
  void SetConnected(const std::string& process, bool connected);
  /// No lists from or to this process: its socket does not answer.
  void SetCallsFail(const std::string& process, bool fail);

  uint64_t delivered() const { return delivered_; }
  uint64_t lost() const { return lost_; }

 private:
  friend class FakeBus;
  bool Connected(const std::string& process) const { return up_ && !cut_.contains(process); }
  void Join(FakeBus& bus);
  void Leave(FakeBus& bus);
  void ReportConnections();
  void Send(const std::string& from, std::function<void(FakeBus&)> deliver);
  void SendTo(const std::string& from, FakeBus& to,
              const std::shared_ptr<const std::function<void(FakeBus&)>>& deliver);
  void List(FakeBus& from, const std::string& owner,
            const std::function<StatusOr<ListAnswer>(FakeBus&)>& ask, Transport::Listed listed);

  const Clock& clock_;
  Random random_;
  BusFaults faults_;
  bool up_ = true;
  std::set<std::string> cut_, mute_;
  std::map<std::string, FakeBus*> buses_;
  std::map<std::pair<std::string, std::string>, Clock::Time> last_delivery_;  // from, to
  std::map<std::string, Clock::Time> last_start_;
  uint64_t epoch_ = 0;  // grows when the network goes down
  uint64_t delivered_ = 0, lost_ = 0;
};

/// A process on the bus. Destroying it is a crash of the process; a new object of the same name is
/// the process's next start.
class FakeBus final : public Bus, private Transport {
 public:
  FakeBus(FakeBusNetwork& network, std::string process, exec::EventLoop& loop);
  ~FakeBus() override;
  FakeBus(const FakeBus&) = delete;
  FakeBus& operator=(const FakeBus&) = delete;

  /// Leaves the network like a killed process; the object may exist a little longer.
  void Leave();

  StatusOr<std::unique_ptr<RawTable>> OwnRaw(const std::string& table) override {
    return core_.OwnRaw(table);
  }
  StatusOr<std::unique_ptr<RawView>> ViewRaw(const std::string& table,
                                             const std::string& owner) override {
    return core_.ViewRaw(table, owner);
  }
  void Signal(const std::string& signal, const std::string& payload) override {
    core_.Signal(signal, payload);
  }
  void OnSignal(const std::string& process, const std::string& signal,
                std::function<void(const std::string& payload)> f) override {
    core_.OnSignal(process, signal, std::move(f));
  }
  bool connected() const override { return network_.Connected(process_); }

  std::vector<ViewInfo> Views() const override { return core_.Views(); }
  std::vector<ViewStats> Stats() const { return core_.Stats(); }
  PutCounts puts() const { return core_.puts(); }
  const std::string& process() const { return process_; }

 private:
  friend class FakeBusNetwork;
  void Publish(const std::string& table, const Envelope& envelope) override;
  void Subscribe(const std::string& table) override { tables_.insert(table); }
  void List(const std::string& owner, const std::string& table, const Since& since,
            Listed listed) override;
  void PublishSignal(const std::string& signal, const std::string& payload) override;
  void SubscribeSignal(const std::string& process, const std::string& signal) override {
    signals_.insert({process, signal});
  }
  QuietHeartbeats::Kept TakeHeartbeats() override { return quiet_.Take(); }
  void Receive(const std::string& table, const Envelope& envelope);
  /// Runs `f` on this process's loop, unless the object is gone by then.
  void After(Duration delay, std::function<void(FakeBus&)> f);

  FakeBusNetwork& network_;
  const std::string process_;
  exec::EventLoop& loop_;
  std::shared_ptr<FakeBus*> alive_;
  std::set<std::string> tables_;
  std::set<std::pair<std::string, std::string>> signals_;
  QuietHeartbeats quiet_;
  CoreBus core_;
};

}  // namespace splitlet::bus
