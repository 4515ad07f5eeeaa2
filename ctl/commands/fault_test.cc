#include <gtest/gtest.h>

#include <sstream>

#include "ctl/commands/admin.h"
#include "libs/base/log.h"
#include "libs/operate/client.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"
#include "tests/harness/child.h"

namespace splitlet::ctl {
namespace {

/// A process with one armed fail point.
class OnePoint final : public v1::Admin::Service {
 public:
  grpc::Status ListFaults(grpc::ServerContext*, const v1::ListFaultsRequest*,
                          v1::FaultList* list) override {
    auto& fault = *list->add_faults();
    fault.set_name("pleg.put.before");
    fault.set_term("crash");
    return grpc::Status::OK;
  }
  grpc::Status SetFault(grpc::ServerContext*, const v1::SetFaultRequest* request,
                        v1::FaultList*) override {
    set += request->name() + "=" + request->term() + ";";
    return grpc::Status::OK;
  }
  std::string set;
};

TEST(Faults, OneThatIsNotThereIsNeitherSetNorCleared) {
  const harness::TempDir dir;
  FakeLogSink sink;
  OnePoint pleg;
  const auto server = rpc::StartServer(
      {.socket_path = rpc::SocketPath(dir.path(), "pleg"), .services = {&pleg}}, Log(sink));
  ASSERT_TRUE(server.ok()) << server.status();
  const RealClock clock;
  const operate::Client client({.top = "here", .run_dir = dir.path()}, clock);
  std::ostringstream out, err;
  int exit_code = 0;
  const operate::Context context{.client = client,
                                 .out = out,
                                 .err = err,
                                 .stopped = [] { return false; },
                                 .exit_code = exit_code};
  const FaultOptions wrong{.process = "pleg", .name = "pleg.put.befor", .term = "crash"};
  for (const Status& refused : {ClearFaults(context, wrong), SetFaultCommand(context, wrong)})
    EXPECT_EQ(refused, InvalidArgument("pleg has no fail point pleg.put.befor (splitletctl fault "
                                       "list pleg shows them)"));
  EXPECT_EQ(pleg.set, "");
  EXPECT_TRUE(ClearFaults(context, {.process = "pleg", .name = "pleg.put.before"}).ok());
  EXPECT_TRUE(ClearFaults(context, {.process = "pleg"}).ok());
  EXPECT_EQ(pleg.set, "pleg.put.before=off;=off;");
  EXPECT_EQ(out.str(), "pleg: pleg.put.before off\npleg: all fail points off\n");
}

}  // namespace
}  // namespace splitlet::ctl
