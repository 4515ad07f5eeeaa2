#pragma once

/// The bus of one process over any transport: owns the cores, sends heartbeats, and requests the
/// lists that are due.
/// Threads: the loop thread only.
/// Errors: as bus.h; ALREADY_EXISTS for a second table, PERMISSION_DENIED for another process's.
/// Source: docs/design.md, "How state is shared".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/bus/message.h"
#include "libs/bus/quiet_heartbeats.h"
#include "libs/bus/table_core.h"
#include "libs/bus/view_core.h"
#include "libs/exec/exec.h"

namespace splitlet::bus {

/// How messages and lists travel. Loop thread only.
class Transport {
 public:
  using Listed = std::function<void(StatusOr<ListAnswer>)>;
  virtual ~Transport() = default;
  /// The message may be lost.
  virtual void Publish(const std::string& table, const Envelope& envelope) = 0;
  /// From now on messages of this table reach CoreBus::OnEnvelope.
  virtual void Subscribe(const std::string& table) = 0;
  /// Calls `listed` once, later, on the loop, within kListLimit.
  virtual void List(const std::string& owner, const std::string& table, const Since& since,
                    Listed listed) = 0;
  virtual void PublishSignal(const std::string& signal, const std::string& payload) = 0;
  virtual void SubscribeSignal(const std::string& process, const std::string& signal) = 0;
  virtual bool connected() const = 0;
  /// Heartbeats that repeat the last one and came since the last call, for which the transport did
  /// not call OnEnvelope.
  virtual QuietHeartbeats::Kept TakeHeartbeats() { return {}; }
};

/// For metrics.
struct ViewStats {
  ViewInfo info;
  Clock::Time heard_at;
  ViewCore::Counts counts;
};

/// Counts of the own table.
struct PutCounts {
  uint64_t published = 0;  // changes
  uint64_t refused = 0;    // records that Put refused
};

class CoreBus final : public Bus {
 public:
  CoreBus(std::string process, exec::EventLoop& loop, const Clock& clock, Transport& transport);
  ~CoreBus() override;

  StatusOr<std::unique_ptr<RawTable>> OwnRaw(const std::string& table) override;
  StatusOr<std::unique_ptr<RawView>> ViewRaw(const std::string& table,
                                             const std::string& owner) override;
  void Signal(const std::string& signal, const std::string& payload) override;
  void OnSignal(const std::string& process, const std::string& signal,
                std::function<void(const std::string& payload)> f) override;
  bool connected() const override { return transport_.connected(); }

  // From the transport.
  void OnEnvelope(const std::string& table, const Envelope& envelope);
  void OnSignalReceived(const std::string& process, const std::string& signal,
                        const std::string& payload);
  void OnConnection(bool connected);
  /// The transport dropped messages of this table.
  void OnLost(const std::string& table);
  /// Applies the heartbeats that did not wake the loop. Runs before each decision of a view; before
  /// Stats, call it yourself.
  void TakeHeartbeats();
  /// Serves Tables.List. NOT_FOUND if this process does not own the table (yet).
  StatusOr<ListAnswer> ListTable(const std::string& table, const Since& since) const;

  std::vector<ViewInfo> Views() const override;
  std::vector<ViewStats> Stats() const;
  /// The newest start id of a table; the next one must be greater.
  Clock::Time last_start() const { return last_start_; }
  void SetEarliestStart(Clock::Time after) { last_start_ = after; }
  PutCounts puts() const { return puts_; }

 private:
  class OwnedTable;
  class OpenView;
  struct Members;  // state that handles and callbacks may outlive
  void Publish(const std::string& table, const Envelope& envelope);
  /// Does the work that is due and schedules the next call.
  void Tick();
  void ArmBy(Clock::Time due);
  void Pump(OpenView& view);

  const std::string process_;
  exec::EventLoop& loop_;
  const Clock& clock_;
  Transport& transport_;
  std::shared_ptr<Members> members_;
  std::map<std::pair<std::string, std::string>,
           std::vector<std::function<void(const std::string&)>>>
      signals_;
  Clock::Time last_start_;
  PutCounts puts_;
  exec::TimerId timer_ = 0;  // of Tick
  Clock::Time timer_at_;
};

}  // namespace splitlet::bus
