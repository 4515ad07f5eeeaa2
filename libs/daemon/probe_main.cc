#include <memory>

#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"

namespace {

/// The least service there can be, for the test of RunService.
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
        context.events().Record({.reason = "Started", .name = "probe"});
        return std::make_unique<ProbeService>(context.log());
      });
}
