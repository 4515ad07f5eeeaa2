#include "services/pod-worker/drivers/driver_connections.h"

#include <utility>

namespace splitlet::pod_worker {

std::shared_ptr<csi::DriverCalls> DriverConnections::Connect(
    const std::string& socket_path, std::function<void(const csi::CallEnd&)> on_end) {
  std::erase_if(connections_, [](const auto& one) { return one.expired(); });
  auto driver = std::make_unique<csi::GrpcDriver>(csi::GrpcDriver::Deps{
      .socket_path = socket_path, .clock = clock_, .on_end = std::move(on_end)});
  // A task that never runs frees the driver too.
  std::shared_ptr<csi::GrpcDriver> shared(driver.release(), [&loop = loop_](csi::GrpcDriver* last) {
    loop.Post([owned = std::shared_ptr<csi::GrpcDriver>(last)] {});
  });
  connections_.push_back(shared);
  return shared;
}

void DriverConnections::Stop() {
  std::vector<std::shared_ptr<csi::GrpcDriver>> running;
  for (const auto& one : connections_)
    if (auto driver = one.lock()) running.push_back(std::move(driver));
  for (const auto& driver : running) driver->GiveUp();
  for (const auto& driver : running) driver->Stop();
}

}  // namespace splitlet::pod_worker
