#include "services/pod-worker/probes/network_prober.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "libs/exec/loop_thread.h"
#include "libs/http/async_client.h"
#include "libs/http/test_server.h"

/// Probes of real servers on loopback, hostile ones among them.

namespace splitlet::pod_worker {
namespace {

using http::Send;
using http::Server;
using testing::HasSubstr;
using testing::StartsWith;

class Network : public testing::Test {
 protected:
  Network() : thread_([this] { loop_.Run(); }) {}
  ~Network() override {
    loop_.Post([this] { prober_.BeginStop(); });
    client_.Stop();
    loop_.Stop();
    thread_.join();
  }
  std::future<ProbeAnswer> Begin(ProbeAction action, Duration timeout) {
    auto promise = std::make_shared<std::promise<ProbeAnswer>>();
    loop_.Post([this, promise, action = std::move(action), timeout] {
      prober_.Begin({"id", action, timeout},
                    [promise](ProbeAnswer answer) { promise->set_value(std::move(answer)); });
    });
    return promise->get_future();
  }
  /// "kind: text"
  std::string Run(ProbeAction action, Duration timeout = 20s) {
    const ProbeAnswer answer = Begin(std::move(action), timeout).get();
    static constexpr const char* kKinds[] = {"success", "warning", "failure", "error"};
    return fmt::format("{}: {}", kKinds[static_cast<int>(answer.kind)], answer.text);
  }
  static HttpProbe Get(const Server& server) { return {.host = "127.0.0.1", .url = server.Url()}; }

  const RealClock clock_;
  exec::LoopThread loop_{clock_};
  http::AsyncClient client_{clock_};
  NetworkProber prober_{{clock_, loop_, client_}};
  std::thread thread_;
};

/// A server of the gRPC library, with its health service.
class GrpcServer {
 public:
  explicit GrpcServer(bool with_health) {
    grpc::EnableDefaultHealthCheckService(with_health);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    if (!with_health) builder.RegisterAsyncGenericService(&generic_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
  }
  ~GrpcServer() {
    server_->Shutdown(std::chrono::system_clock::time_point{});
    queue_->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
    }
  }
  void SetServing(const std::string& service, bool serving) {
    server_->GetHealthCheckService()->SetServingStatus(service, serving);
  }
  int port = 0;

 private:
  grpc::AsyncGenericService generic_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(Network, GrpcHealth) {
  GrpcServer server(true);
  server.SetServing("good", true);
  server.SetServing("bad", false);
  const auto probe = [&](const char* service) {
    return Run(GrpcProbe{"127.0.0.1", server.port, service});
  };
  EXPECT_EQ(probe(""), "success: service healthy");
  EXPECT_EQ(probe("good"), "success: service healthy");
  EXPECT_EQ(probe("bad"), "failure: service unhealthy (responded with \"NOT_SERVING\")");
  EXPECT_THAT(probe("unknown"),
              StartsWith("failure: error: health rpc probe failed: rpc error: code = NotFound"));
}

TEST_F(Network, AGrpcServerThatNeverAnswersTimesOut) {
  const GrpcServer server(false);
  EXPECT_EQ(Run(GrpcProbe{"127.0.0.1", server.port, ""}, 1s),
            "failure: timeout: health rpc did not complete within 1s");
}

TEST_F(Network, AWebServerIsNoGrpcServer) {
  const Server server(http::Says("200 OK"));
  EXPECT_THAT(Run(GrpcProbe{"127.0.0.1", server.port, ""}),
              StartsWith("failure: error: health rpc probe failed: rpc error: code = Unavailable"));
}

TEST_F(Network, TcpAndHttp) {
  int port = 0;
  {
    const Server server(http::Says("200 OK"));
    port = server.port;
    EXPECT_EQ(Run(TcpProbe{"127.0.0.1", port}), "success: ");
    EXPECT_EQ(Run(Get(server)), "success: ");
    EXPECT_EQ(Run(HttpProbe{.host = "127.0.0.1", .url = server.Url("https")}),
              fmt::format("failure: Get \"https://127.0.0.1:{}/hook\": http: server gave HTTP "
                          "response to HTTPS client",
                          port));
  }
  EXPECT_EQ(Run(TcpProbe{"127.0.0.1", port}),
            fmt::format("failure: dial tcp 127.0.0.1:{}: connect: connection refused", port));
  EXPECT_EQ(Run(HttpProbe{.host = "127.0.0.1", .url = fmt::format("http://127.0.0.1:{}/a", port)}),
            fmt::format("failure: Get \"http://127.0.0.1:{0}/a\": dial tcp 127.0.0.1:{0}: connect: "
                        "connection refused",
                        port));
}

TEST_F(Network, ARedirectToAnotherHostIsAWarning) {
  const Server server([](const std::string&, int connection) {
    Send(connection,
         "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2/\r\nContent-Length: 5\r\n\r\nmoved");
  });
  EXPECT_EQ(Run(Get(server)), "warning: Probe terminated redirects, Response body: moved");
}

TEST_F(Network, RedirectsForEverAreAFailure) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(Run(Get(server)),
            fmt::format("failure: Get \"http://127.0.0.1:{}/a\": stopped after 10 redirects",
                        server.port));
}

TEST_F(Network, OfAGigabyteTheStartIsKept) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 200 OK\r\n\r\n");
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 1024 && Send(connection, block); ++i) {
    }
  });
  const ProbeAnswer answer = Begin(Get(server), 20s).get();
  EXPECT_EQ(answer.kind, ProbeAnswer::Kind::kSuccess);
  EXPECT_EQ(answer.text.size(), kMaxProbeOutput);
}

TEST_F(Network, ADrippingBodyCountsForNothing) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 200 OK\r\n\r\nx");
    http::WaitForEnd(connection);
  });
  const ProbeAnswer answer = Begin(Get(server), 200ms).get();
  EXPECT_EQ(answer.kind, ProbeAnswer::Kind::kError);
  EXPECT_TRUE(answer.failed);
}

TEST_F(Network, ThoseThatHangAreGivenUpWithTheProcess) {
  const Server server([](const std::string&, int connection) { http::WaitForEnd(connection); });
  auto hangs = Begin(Get(server), 600s);
  while (server.requests == 0) std::this_thread::yield();
  loop_.Post([this] { prober_.BeginStop(); });
  EXPECT_EQ(hangs.get().kind, ProbeAnswer::Kind::kError);
}

}  // namespace
}  // namespace splitlet::pod_worker
