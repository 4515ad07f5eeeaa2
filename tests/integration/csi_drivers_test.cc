// CSI drivers register at a real pod-worker, which dies at every step of the registration.

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <mutex>

#include "libs/csi/fake_driver_server.h"
#include "libs/rpc/library.h"
#include "pluginregistration/v1/api.grpc.pb.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

namespace registration = pluginregistration;

/// node-driver-registrar: announces a driver at a socket until its end.
class Registrar final : public registration::Registration::Service {
 public:
  Registrar(const std::string& socket, std::string endpoint) : endpoint_(std::move(endpoint)) {
    rpc::KeepLibraryUp();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr, "no server at {}", socket);
  }
  ~Registrar() override { server_->Shutdown(std::chrono::system_clock::time_point{}); }
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;

  grpc::Status GetInfo(grpc::ServerContext*, const registration::InfoRequest*,
                       registration::PluginInfo* answer) override {
    answer->set_type("CSIPlugin");
    answer->set_name("disk.csi");
    answer->set_endpoint(endpoint_);
    answer->add_supported_versions("1.0.0");
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*,
                                        const registration::RegistrationStatus* status,
                                        registration::RegistrationStatusResponse*) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(status->plugin_registered() ? "registered" : status->error());
    return grpc::Status::OK;
  }
  std::string LastReport() {
    const std::lock_guard lock(mutex_);
    return reports_.empty() ? "none" : reports_.back();
  }

 private:
  const std::string endpoint_;
  std::mutex mutex_;
  std::vector<std::string> reports_;
  std::unique_ptr<grpc::Server> server_;
};

class CsiDrivers : public IntegrationTest {
 protected:
  void StartWithDriver() {
    StartNode();
    auto served = csi::FakeDriverServer::Start(driver_, node_->dir() + "/disk.sock");
    ASSERT_TRUE(served.ok()) << served.status();
    server_ = *std::move(served);
    ASSERT_TRUE(WaitFor(kSoon, [&] { return std::filesystem::exists(Directory()); }));
  }
  std::string Directory() const { return node_->dir() + "/kubelet/plugins_registry"; }
  std::unique_ptr<Registrar> Announce() {
    return std::make_unique<Registrar>(Directory() + "/disk.sock", node_->dir() + "/disk.sock");
  }
  /// Ids of the node, as the drivers in the record of the node have them.
  std::vector<std::string> NodeIds() {
    auto workers = node_->Table<v1::WorkerRecord>("workers");
    std::vector<std::string> ids;
    for (const auto& driver : workers["node"].node().csi_drivers()) ids.push_back(driver.node_id());
    return ids;
  }

  csi::FakeDriver driver_{{.name = "disk.csi", .node = {.node_id = "node of the disk"}}};
  std::unique_ptr<csi::FakeDriverServer> server_;
};

TEST_F(CsiDrivers, ADriverIsInTheRecordOfTheNodeFromItsRegistrationToItsEnd) {
  StartWithDriver();
  auto registrar = Announce();
  ASSERT_TRUE(WaitFor(kSoon, [&] { return registrar->LastReport() == "registered"; }))
      << registrar->LastReport();
  EXPECT_EQ(NodeIds(), std::vector<std::string>{"node of the disk"});
  const std::string metrics = node_->HttpGet("pod-worker", "/metrics");
  EXPECT_NE(metrics.find("plugin_manager_total_plugins{socket_path=\"" + Directory() +
                         "/disk.sock\",state=\"actual_state_of_world\"} 1"),
            std::string::npos);
  EXPECT_NE(metrics.find("csi_operations_seconds_count{driver_name=\"disk.csi\""),
            std::string::npos);
  registrar.reset();
  EXPECT_TRUE(WaitFor(kSoon, [&] { return NodeIds().empty(); }));
}

TEST_F(CsiDrivers, KilledAtEachStepOfARegistrationPodWorkerRegistersTheDriverAgain) {
  StartWithDriver();
  for (const std::string point :
       {"plugins.get-info.before", "plugins.get-info.after", "csi.node-get-info.before",
        "csi.node-get-info.after", "plugins.notify.before", "plugins.notify.after"}) {
    SCOPED_TRACE(point);
    const int restarts = node_->keeper().RestartsOf("pod-worker");
    ASSERT_TRUE(
        WaitFor(kSoon, [&] { return node_->SetFault("pod-worker", point, "1*crash").ok(); }));
    auto registrar = Announce();
    ASSERT_TRUE(WaitFor(kSoon, [&] {
      return node_->keeper().RestartsOf("pod-worker") > restarts &&
             registrar->LastReport() == "registered" && NodeIds().size() == 1;
    })) << registrar->LastReport();
    registrar.reset();
    ASSERT_TRUE(WaitFor(kSoon, [&] { return NodeIds().empty(); }));
  }
}

TEST_F(CsiDrivers, PodWorkerEndsWhileADriverHangs) {
  StartWithDriver();
  driver_.AddFault({.method = "NodeGetInfo", .kind = csi::FakeFault::Kind::kHang});
  auto registrar = Announce();
  ASSERT_TRUE(WaitFor(kSoon, [&] { return driver_.Hanging() == 1; }));
  node_->StopProcess("pod-worker");
  ASSERT_TRUE(WaitFor(kSoon, [&] { return driver_.Hanging() == 0; }));
  driver_.ClearFaults();
  node_->StartProcess("pod-worker");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return registrar->LastReport() == "registered"; }));
}

}  // namespace
}  // namespace splitlet::integration
