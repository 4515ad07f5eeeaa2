#include <memory>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"

namespace {

/// The smallest possible service, for the test of RunService.
class ProbeService final : public splitlet::daemon::Service {
 public:
  explicit ProbeService(splitlet::Log log) : log_(log) {}
  ~ProbeService() override { log_.Info("service is destroyed"); }
  void Start() override {}
  splitlet::daemon::Health GetHealth() const override { return {}; }
  std::vector<grpc::Service*> GrpcServices() override { return {}; }
  void BeginStop() override { log_.Info("stop begins"); }
  void WaitStopped() override { log_.Info("waits for threads"); }

 private:
  splitlet::Log log_;
};

}  // namespace

int main(int argc, char** argv) {
  return splitlet::daemon::RunService(
      "probe", argc, argv,
      [](splitlet::daemon::ServiceContext& context)
          -> splitlet::StatusOr<std::unique_ptr<splitlet::daemon::Service>> {
        if (context.config().max_pods == 1)  // set by the test
          return splitlet::FailedPrecondition("the machine is not fit for it");
        context.events().Record({.reason = "Started", .name = "probe"});
        return std::make_unique<ProbeService>(context.log());
      });
}
