#include "ctl/bus/bus_source.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

#include "libs/bus/typed.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/flight_recorder.h"
#include "libs/operate/layout.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/records.pb.h"
#include "tests/harness/bus_process.h"
#include "tests/harness/child.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::ctl {
namespace {

bool Until(const std::function<bool()>& condition) { return harness::WaitFor(20s, condition); }

/// The bus of a local stack: nats-server with its users, in a folder of its own.
class BusSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Script("config"), 0);
    keeper_.Start("nats", {.argv = {kScript, "serve", dir_.path()}, .env = {}, .output = ""});
    ASSERT_EQ(Script("ready"), 0);
    url_ = fmt::format("nats://127.0.0.1:{}", std::stoi(harness::ReadFile(dir_ / "port")));
  }
  operate::BusAccess As(const std::string& user) const {
    return {.url = url_, .creds = dir_ / ("creds/" + user), .ca = dir_ / "tls/current/ca.pem"};
  }

  const RealClock clock_;
  const harness::TempDir dir_{"ctl-bus"};
  std::string url_;

  harness::Keeper keeper_;

 private:
  static constexpr const char* kScript = "deploy/local/nats.sh";
  int Script(const std::string& action) const {
    return harness::RunToEnd({.argv = {kScript, action, dir_.path()}, .env = {}, .output = ""},
                             30s);
  }
};

/// The bus connection of pleg.
class Pleg {
 public:
  Pleg(const std::string& url, const std::string& dir)
      : process_({.process = "pleg",
                  .run_dir = dir,
                  .url = url,
                  .creds = dir + "/creds/pleg",
                  .ca = dir + "/tls/current/ca.pem"},
                 sink_) {
    process_.On([&] {
      auto table = bus::Own<v1::RuntimeRecord>(process_.bus(), "runtime");
      ASSERT_TRUE(table.ok()) << table.status();
      table_ = std::make_unique<bus::Table<v1::RuntimeRecord>>(std::move(*table));
    });
  }
  ~Pleg() {
    process_.StopServing();
    process_.On([this] { table_.reset(); });
  }
  Pleg(const Pleg&) = delete;
  Pleg& operator=(const Pleg&) = delete;

  bool Connected() { return process_.Connected(); }
  void Put(const std::string& uid) {
    process_.On([&] {
      v1::RuntimeRecord record;
      record.mutable_pod()->set_name("web");
      record.mutable_pod()->set_namespace_("default");
      record.mutable_pod()->set_uid(uid);
      EXPECT_TRUE(table_->Put(uid, record).ok());
    });
  }

 private:
  FakeLogSink sink_;
  harness::BusProcess process_;
  std::unique_ptr<bus::Table<v1::RuntimeRecord>> table_;
};

TEST_F(BusSourceTest, ABusInTheNetworkOfTheProcessesIsFoundByTheirSockets) {
  operate::BusAccess access = As("ctl");
  access.network_of = dir_ / "run";
  EXPECT_EQ(Message(CheckBus(access).status()),
            "bus: network: no process of the stack runs: start the stack");
  if (geteuid() != 0) GTEST_SKIP() << "to go to a network takes root";
  const std::string path = rpc::SocketPath(access.network_of, "gc");
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const harness::ListeningSocket listener(path);
  const auto found = CheckBus(access);
  EXPECT_TRUE(found.ok()) << found.status();
}

/// The recorder on its own thread, as its service runs it.
class Recorder {
 public:
  Recorder(const operate::BusAccess& access, const std::string& folder)
      : files_(folder), thread_([this, access](const std::stop_token& stop) {
          RecordBus(
              access, files_, [&] { return stop.stop_requested(); }, std::cerr);
        }) {}

 private:
  operate::RecorderFiles files_;
  std::jthread thread_;
};

TEST_F(BusSourceTest, TheRecorderKeepsWhatFlowsAlsoFromTheNextServer) {
  const WallTime start = clock_.WallNow();
  const auto seen = [&](WallTime since) {
    operate::BusReader reader;
    std::set<std::string> keys;
    const Status read = operate::ReadRecorderFiles(dir_ / "recorder", since,
                                                   [&](const operate::BusMessage& message) {
                                                     keys.insert(reader.Read(message).key);
                                                     return true;
                                                   });
    EXPECT_TRUE(read.ok() || read.code() == StatusCode::kNotFound) << read;
    return keys;
  };
  const Recorder recorder(As("recorder"), dir_ / "recorder");
  Pleg pleg(url_, dir_.path());
  int puts = 0;  // makes each record different: unchanged records are not published
  const auto records = [&](const std::string& name) {
    return Until([&] {
      pleg.Put(fmt::format("{}{}", name, ++puts));
      return std::ranges::any_of(seen(start),
                                 [&](const std::string& key) { return key.starts_with(name); });
    });
  };
  EXPECT_TRUE(records("before"));
  keeper_.Signal("nats", SIGKILL);
  EXPECT_TRUE(records("after"));
  EXPECT_TRUE(seen(clock_.WallNow() + 1h).empty()) << "nothing is that young";
}

TEST_F(BusSourceTest, FollowsUntilStopped) {
  Pleg pleg(url_, dir_.path());
  ASSERT_TRUE(Until([&] { return pleg.Connected(); }));
  int puts = 0;
  bool found = false;
  const auto put_more = [&] {
    pleg.Put(fmt::format("u{}", ++puts));
    return puts > 50;
  };
  const Status followed = FollowBus(As("ctl"), put_more, [&](const operate::BusMessage& message) {
    operate::BusReader reader;
    const operate::BusEvent event = reader.Read(message);
    found = found ||
            (event.pod == "default/web" && event.process == "pleg" && event.topic == "runtime");
    return !found;
  });
  EXPECT_TRUE(followed.ok()) << followed;
  EXPECT_TRUE(found);
}

TEST_F(BusSourceTest, WhatGoesWrongIsSaid) {
  EXPECT_TRUE(CheckBus(As("ctl")).ok());
  operate::BusAccess access = As("ctl");
  access.creds = dir_ / "none";
  const auto unreadable = CheckBus(access);
  EXPECT_EQ(unreadable.status().code(), StatusCode::kNotFound) << unreadable.status();
  harness::WriteFile(dir_ / "wrong", "ctl\nnonsense\n");
  access.creds = dir_ / "wrong";
  const auto refused = CheckBus(access);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnauthenticated) << refused.status();
  access = As("ctl");
  access.ca = dir_ / "none";
  EXPECT_EQ(Message(CheckBus(access).status()),
            "bus: CA: " + access.ca + ": No such file or directory");
  keeper_.Stop("nats");
  EXPECT_EQ(CheckBus(As("ctl")).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace splitlet::ctl
