#include "services/node-api/listeners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"

namespace splitlet::node_api {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;

/// Listens to nothing, and keeps what it was asked for.
class Ports : public testing::Test {
 protected:
  void Start() {
    listeners_ = std::make_unique<Listeners>(
        Listeners::Deps{.loop = loop_,
                        .strands = strands_,
                        .files = files_,
                        .log = log_,
                        .metrics = metrics_,
                        .start_server =
                            [this](https::ServerOptions options, const https::Handler&) {
                              asked_.push_back(std::move(options));
                              return StatusOr<std::unique_ptr<https::Server>>(
                                  Unavailable("the port is taken"));
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

}  // namespace
}  // namespace splitlet::node_api
