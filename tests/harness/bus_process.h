#pragma once

/// One process's connection to the bus in a test: a loop on its own thread, a connection, a socket.
/// Threads: the owner's; functions passed to On() run on the loop.
/// Errors: a failed setup fails the test.

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "libs/base/log.h"
#include "libs/bus/nats_bus.h"
#include "libs/exec/loop_thread.h"
#include "libs/rpc/rpc.h"

namespace splitlet::harness {

struct BusWiring {
  std::string process;
  std::string run_dir;
  std::string url;
  std::string creds;  // path of its credentials; empty: none
  std::string ca;     // path of the CA; empty: without TLS
};

class BusProcess {
 public:
  BusProcess(const BusWiring& wiring, LogSink& sink);
  ~BusProcess();
  BusProcess(const BusProcess&) = delete;
  BusProcess& operator=(const BusProcess&) = delete;

  /// Runs `f` on the loop and waits for its end.
  void On(const std::function<void()>& f);
  bool Ask(const std::function<bool()>& f);
  bool Connected();
  /// The sum over all labels, or over series with this label value; updated each second.
  double Metric(const std::string& name, const std::string& value = {}) const;
  /// Call it before tables and views are destroyed, which then happens on the loop.
  void StopServing() { server_ = nullptr; }

  bus::NatsBus& bus() { return *bus_; }
  exec::LoopThread& loop() { return loop_; }
  const Clock& clock() const { return clock_; }

 private:
  const RealClock clock_;
  prometheus::Registry registry_;
  exec::LoopThread loop_{clock_};
  std::unique_ptr<bus::NatsBus> bus_;
  std::unique_ptr<rpc::Server> server_;
  std::thread thread_;
};

}  // namespace splitlet::harness
