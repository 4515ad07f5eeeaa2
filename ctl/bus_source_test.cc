#include "ctl/bus_source.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <prometheus/registry.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "libs/bus/nats_bus.h"
#include "libs/bus/typed.h"
#include "libs/exec/loop_thread.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::ctl {
namespace {

bool Until(const std::function<bool()>& condition) {
  const RealClock clock;
  const Deadline deadline = After(clock, 20s);
  while (!condition()) {
    if (Remaining(clock, deadline) == Duration{0}) return false;
    poll(nullptr, 0, 20);
  }
  return true;
}

/// The bus of the local stack: nats-server with its users, in a folder of its own.
class BusSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "ctl-bus-XXXXXX";
    dir_ = mkdtemp(name.data());
    int status = 0;
    ASSERT_EQ(waitpid(Spawn({"deploy/local/nats.sh", "config", dir_}), &status, 0) > 0 ? status : 1,
              0);
    server_ = Spawn({"deploy/local/nats.sh", "serve", dir_});
    ASSERT_EQ(waitpid(Spawn({"deploy/local/nats.sh", "ready", dir_}), &status, 0) > 0 ? status : 1,
              0);
    std::ifstream port(dir_ + "/port");
    std::string number;
    port >> number;
    url_ = "nats://127.0.0.1:" + number;
  }
  void TearDown() override {
    if (server_ > 0) {
      kill(server_, SIGKILL);
      waitpid(server_, nullptr, 0);
    }
    std::error_code error;
    std::filesystem::remove_all(dir_, error);
  }
  static pid_t Spawn(std::vector<std::string> args) {
    std::vector<char*> argv;
    argv.reserve(args.size() + 1);
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    return posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) == 0 ? pid : -1;
  }
  BusAccess As(const std::string& user) const {
    return {.url = url_, .creds = dir_ + "/creds/" + user};
  }

  std::string dir_, url_;
  pid_t server_ = -1;
  RealClock clock_;
};

/// pleg's end of the bus, with its loop.
class Pleg {
 public:
  Pleg(const std::string& url, const std::string& dir) : thread_([this] { loop_.Run(); }) {
    OnLoop([&] {
      bus::NatsBusOptions options{.process = "pleg",
                                  .node_name = "n",
                                  .run_dir = dir,
                                  .nats_url = url,
                                  .nats_creds = dir + "/creds/pleg",
                                  .loop = loop_,
                                  .clock = clock_,
                                  .metrics = metrics_,
                                  .log = Log(sink_)};
      auto bus = bus::ConnectBus(std::move(options));
      ASSERT_TRUE(bus.ok()) << bus.status();
      bus_ = std::move(*bus);
      auto table = bus::Own<v1::RuntimeRecord>(*bus_, "runtime");
      ASSERT_TRUE(table.ok()) << table.status();
      table_ = std::make_unique<bus::Table<v1::RuntimeRecord>>(std::move(*table));
    });
  }
  ~Pleg() {
    OnLoop([&] {
      table_.reset();
      bus_.reset();
    });
    loop_.Stop();
    thread_.join();
  }
  Pleg(const Pleg&) = delete;
  Pleg& operator=(const Pleg&) = delete;

  bool Connected() {
    bool connected = false;
    OnLoop([&] { connected = bus_->connected(); });
    return connected;
  }
  void Put(const std::string& uid) {
    OnLoop([&] {
      v1::RuntimeRecord record;
      record.mutable_pod()->set_name("web");
      record.mutable_pod()->set_namespace_("default");
      record.mutable_pod()->set_uid(uid);
      EXPECT_TRUE(table_->Put(uid, record).ok());
    });
  }

 private:
  void OnLoop(const std::function<void()>& f) {
    const auto done = std::make_shared<std::promise<void>>();
    loop_.Post([&f, done] {
      f();
      done->set_value();
    });
    done->get_future().wait();
  }

  RealClock clock_;
  FakeLogSink sink_;
  prometheus::Registry metrics_;
  exec::LoopThread loop_{clock_};
  std::unique_ptr<bus::NatsBus> bus_;
  std::unique_ptr<bus::Table<v1::RuntimeRecord>> table_;
  std::thread thread_;
};

TEST_F(BusSourceTest, TheRecorderIsMadeOnceAndKeepsWhatFlows) {
  const WallTime start = clock_.WallNow();
  const auto no_message = [](const BusMessage&) { return true; };
  EXPECT_EQ(Message(ReadRecorder(As("ctl"), start, no_message)),
            "bus: there is no flight recorder: splitletctl recorder ensure makes it");
  const auto made = EnsureRecorder(As("recorder"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*made, "flight-recorder made: 16 MB on disk over splitlet.>");
  const auto again = EnsureRecorder(As("recorder"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, "flight-recorder is there: 16 MB on disk over splitlet.>");

  Pleg pleg(url_, dir_);
  ASSERT_TRUE(Until([&] { return pleg.Connected(); }));
  pleg.Put("u1");
  pleg.Put("u2");
  const auto seen = [&](WallTime since) {
    BusReader reader;
    std::string keys;
    const Status read = ReadRecorder(As("ctl"), since, [&](const BusMessage& message) {
      keys += reader.Read(message).key;
      return true;
    });
    EXPECT_TRUE(read.ok()) << read;
    return keys;
  };
  EXPECT_TRUE(Until([&] { return seen(start) == "u1u2"; })) << seen(start);
  EXPECT_EQ(seen(clock_.WallNow() + 1h), "") << "nothing is that young";
}

TEST_F(BusSourceTest, FollowsUntilToldToStop) {
  Pleg pleg(url_, dir_);
  ASSERT_TRUE(Until([&] { return pleg.Connected(); }));
  int puts = 0;
  bool found = false;
  const auto put_more = [&] {
    pleg.Put(fmt::format("u{}", ++puts));
    return puts > 50;
  };
  const Status followed = FollowBus(As("ctl"), put_more, [&](const BusMessage& message) {
    BusReader reader;
    const BusEvent event = reader.Read(message);
    found = found ||
            (event.pod == "default/web" && event.process == "pleg" && event.topic == "runtime");
    return !found;
  });
  EXPECT_TRUE(followed.ok()) << followed;
  EXPECT_TRUE(found);
}

TEST_F(BusSourceTest, WhatGoesWrongIsSaid) {
  EXPECT_TRUE(CheckBus(As("ctl")).ok());
  const auto unreadable = CheckBus({.url = url_, .creds = dir_ + "/none"});
  EXPECT_EQ(unreadable.status().code(), StatusCode::kNotFound) << unreadable.status();
  std::ofstream(dir_ + "/wrong") << "ctl\nnonsense\n";
  const auto refused = CheckBus({.url = url_, .creds = dir_ + "/wrong"});
  EXPECT_EQ(refused.status().code(), StatusCode::kPermissionDenied) << refused.status();
  EXPECT_FALSE(EnsureRecorder(As("pleg")).ok()) << "only the recorder's user may make it";
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
  server_ = -1;
  EXPECT_EQ(CheckBus(As("ctl")).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace splitlet::ctl
