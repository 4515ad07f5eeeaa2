#include "tests/harness/bus_process.h"

#include <algorithm>

#include "libs/exec/on_loop.h"

namespace splitlet::harness {

BusProcess::BusProcess(const BusWiring& wiring, LogSink& sink) : thread_([this] { loop_.Run(); }) {
  On([&] {
    auto made = bus::ConnectBus({.process = wiring.process,
                                 .node_name = "node",
                                 .run_dir = wiring.run_dir,
                                 .nats_url = wiring.url,
                                 .nats_creds = wiring.creds,
                                 .nats_ca = wiring.ca,
                                 .nats_plaintext = wiring.ca.empty(),
                                 .loop = loop_,
                                 .clock = clock_,
                                 .metrics = registry_,
                                 .log = Log(sink)});
    CHECK(made.ok(), "{}", ToString(made.status()));
    bus_ = *std::move(made);
  });
  auto server = rpc::StartServer({.socket_path = rpc::SocketPath(wiring.run_dir, wiring.process),
                                  .services = {&bus_->TablesService()}},
                                 Log(sink));
  CHECK(server.ok(), "{}", ToString(server.status()));
  server_ = *std::move(server);
}

BusProcess::~BusProcess() {
  server_ = nullptr;
  On([this] { bus_ = nullptr; });
  loop_.Stop();
  thread_.join();
}

void BusProcess::On(const std::function<void()>& f) {
  CHECK(exec::PostTo(loop_, f).wait_for(60s) == std::future_status::ready, "the loop hangs");
}

bool BusProcess::Ask(const std::function<bool()>& f) {
  bool answer = false;
  On([&] { answer = f(); });
  return answer;
}

bool BusProcess::Connected() {
  return Ask([this] { return bus_->connected(); });
}

double BusProcess::Metric(const std::string& name, const std::string& value) const {
  const auto counts = [&value](const prometheus::ClientMetric& metric) {
    return value.empty() ||
           std::ranges::count(metric.label, value, &prometheus::ClientMetric::Label::value) > 0;
  };
  double sum = 0;
  for (const auto& family : registry_.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric)
      if (counts(metric)) sum += metric.counter.value;
  }
  return sum;
}

}  // namespace splitlet::harness
