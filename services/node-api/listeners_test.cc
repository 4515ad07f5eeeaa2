#include "services/node-api/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"

namespace splitlet::node_api {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;

class SilentServer final : public https::Server {
 public:
  uint16_t port() const override { return 1; }
  void SetTls(std::shared_ptr<const https::TlsContext> /*context*/) override {}
  void SetClientAuthority(std::shared_ptr<const https::ClientAuthority> /*authority*/) override {}
  size_t connections() const override { return 0; }
  uint64_t displaced() const override { return 0; }
  void Stop(Duration /*grace*/) override {}
};

/// A fake that opens no port, and records its requests.
class Ports : public testing::Test {
 protected:
  void Start() {
    listeners_ = std::make_unique<Listeners>(
        Listeners::Deps{.clock = clock_,
                        .loop = loop_,
                        .strands = strands_,
                        .files = files_,
                        .log = log_,
                        .metrics = metrics_,
                        .start_server =
                            [this](https::ServerOptions options, const https::Handler&) {
                              using Server = std::unique_ptr<https::Server>;
                              asked_.push_back(std::move(options));
                              if (free_) return StatusOr<Server>(std::make_unique<SilentServer>());
                              return StatusOr<Server>(Unavailable("the port is taken"));
                            },
                        .on_request = {}},
        config_);
    loop_.Post([this] { listeners_->Start(); });
    loop_.RunUntilIdle();
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  fs::FakeFileSystem files_{clock_};
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  NodeApiMetrics metrics_{registry_};
  NodeApiConfig config_;
  bool free_ = false;  // the ports are free
  std::vector<https::ServerOptions> asked_;
  std::unique_ptr<Listeners> listeners_;
};

TEST_F(Ports, WhatStrangersMaySendIsLittleOnEach) {
  config_.server.read_only_port = 10255;
  Start();
  using Options = https::ServerOptions;
  EXPECT_THAT(asked_, ElementsAre(Field(&Options::port, 10250), Field(&Options::port, 10255),
                                  Field(&Options::port, 10248)));
  EXPECT_THAT(asked_, Each(Field(&Options::max_body_bytes, 64U << 10)));
  EXPECT_THAT(asked_, Each(Field(&Options::max_unread_bytes, 1U << 20)));
}

TEST_F(Ports, OneThatIsTakenIsTriedAgain) {
  config_.server.healthz_port = 0;
  Start();
  EXPECT_EQ(listeners_->problem(), "secured port: the port is taken");
  loop_.Advance(Listeners::kPeriod);
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(Ports, ACertificateThatStatusMakesIsMissedWhenItShouldHaveBeenThere) {
  free_ = true;
  config_.server.healthz_port = 0;
  config_.certificate = {"/pki/kubelet.crt", "/pki/kubelet.key"};
  const auto logged = [this](LogLevel level) {
    const auto lines = sink_.lines();
    return std::ranges::count(lines, level, &FakeLogSink::Line::level);
  };
  config_.certificate_patience = 30s;
  Start();
  loop_.Advance(25s);
  EXPECT_EQ(logged(LogLevel::kWarn), 0);
  EXPECT_NE(listeners_->problem(), "") << "health says so from the start";
  loop_.Advance(10s);
  EXPECT_EQ(logged(LogLevel::kWarn), 1);
  loop_.Advance(60s);
  EXPECT_EQ(logged(LogLevel::kWarn), 1);
}

TEST_F(Ports, AMissingGivenCertificateIsReportedImmediately) {
  free_ = true;
  config_.server.healthz_port = 0;
  config_.certificate = {"/s.crt", "/s.key"};
  Start();
  const auto lines = sink_.lines();
  EXPECT_EQ(std::ranges::count(lines, LogLevel::kWarn, &FakeLogSink::Line::level), 1);
}

}  // namespace
}  // namespace splitlet::node_api
