#include "libs/plugins/registration_client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "libs/exec/fake_exec.h"
#include "libs/exec/loop_thread.h"
#include "libs/exec/on_loop.h"
#include "libs/exec/strand_pool.h"
#include "libs/fs/inotify_watcher.h"
#include "libs/fs/real_file_system.h"
#include "libs/plugins/dial_socket.h"
#include "libs/plugins/fake_handler.h"
#include "libs/plugins/fake_plugins.h"
#include "libs/plugins/grpc_registration_client.h"
#include "libs/plugins/plugin_registry.h"
#include "libs/rpc/rpc.h"
#include "pluginregistration/v1/api.grpc.pb.h"
#include "tests/harness/child.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::plugins {
namespace {

namespace v1 = pluginregistration;
using harness::TempDir;
using harness::WaitFor;

Plugin Disk() {
  return {.type = kCsiPlugin,
          .name = "disk",
          .endpoint = "/csi/disk.sock",
          .versions = {"1.0.0", "1.9.0"}};
}

/// A plugin's process: serves Registration at a socket until its end.
class TestPlugin final : public v1::Registration::Service {
 public:
  explicit TestPlugin(const std::string& path, Plugin info = Disk()) : info_(std::move(info)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr, "no server at {}", path);
  }
  ~TestPlugin() override {
    released_ = true;
    server_->Shutdown(std::chrono::system_clock::time_point{});
  }
  TestPlugin(const TestPlugin&) = delete;
  TestPlugin& operator=(const TestPlugin&) = delete;

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::InfoRequest*,
                       v1::PluginInfo* answer) override {
    ++asked;
    while (hangs && !released_ && !context->IsCancelled()) std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    answer->set_type(info_.type);
    answer->set_name(info_.name);
    answer->set_endpoint(info_.endpoint);
    for (const auto& version : info_.versions) answer->add_supported_versions(version);
    return rpc::ToGrpc(error_);
  }
  grpc::Status NotifyRegistrationStatus(grpc::ServerContext*, const v1::RegistrationStatus* status,
                                        v1::RegistrationStatusResponse*) override {
    const std::lock_guard lock(mutex_);
    if (error_.ok()) reports_.push_back(status->plugin_registered() ? "" : status->error());
    return rpc::ToGrpc(error_);
  }
  void SetInfo(const Plugin& info) {
    const std::lock_guard lock(mutex_);
    info_ = info;
  }
  void SetError(const Status& error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  std::vector<std::string> Reports() {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  std::atomic<int> asked = 0;
  std::atomic<bool> hangs = false;

 private:
  std::mutex mutex_;
  Plugin info_;
  Status error_;
  std::vector<std::string> reports_;
  std::atomic<bool> released_ = false;
  std::unique_ptr<grpc::Server> server_;
};

using Connection = RegistrationClient::Connection;

/// The real client, and a plugin of this process at a socket.
class RealSide {
 public:
  RealSide() { plugin_.emplace(path_); }
  ~RealSide() {
    client.reset();
    loop.Stop();
    thread_.join();
  }
  RealSide(const RealSide&) = delete;
  RealSide& operator=(const RealSide&) = delete;

  PluginSocket Found() {
    const auto info = files.Stat(path_, false);
    return {.path = path_,
            .inode = info.ok() ? info->inode : 0,
            .created = info.ok() ? info->modified : WallTime{}};
  }
  StatusOr<Connection> Dial() { return client->Dial(Found()); }
  StatusOr<Connection> DialReplaced() {
    const PluginSocket before = Found();
    TestPlugin other(dir / "other.sock");  // both exist, so that it has another inode
    EXPECT_TRUE(files.Rename(dir / "other.sock", path_).ok());
    return client->Dial(before);
  }
  void Vanish() { plugin_.reset(); }
  void Restart() {
    plugin_.reset();
    plugin_.emplace(path_);
  }
  void SetInfo(const Plugin& info) { plugin_->SetInfo(info); }
  void SetError(const Status& error) { plugin_->SetError(error); }
  void Hang() { plugin_->hangs = true; }
  std::vector<std::string> Reports() { return plugin_->Reports(); }

  std::future<StatusOr<Plugin>> BeginGetInfo(PluginConnection& connection, Duration limit) {
    const auto answer = std::make_shared<std::promise<StatusOr<Plugin>>>();
    connection.BeginGetInfo(After(clock, limit), [answer](StatusOr<Plugin> info) {
      answer->set_value(std::move(info));
    });
    return answer->get_future();
  }
  Status Notify(PluginConnection& connection, const Status& outcome) {
    const auto answer = std::make_shared<std::promise<Status>>();
    connection.BeginNotify(outcome, After(clock, 60s),
                           [answer](Status status) { answer->set_value(std::move(status)); });
    return answer->get_future().get();
  }
  template <class T>
  T Get(std::future<T> answer) {
    return answer.get();
  }
  TestPlugin& plugin() { return *plugin_; }
  const std::string& path() const { return path_; }

  TempDir dir;
  RealClock clock;
  fs::RealFileSystem files;
  exec::LoopThread loop{clock};
  std::unique_ptr<GrpcRegistrationClient> client =
      std::make_unique<GrpcRegistrationClient>(clock, loop);

 private:
  const std::string path_ = dir / "disk.sock";
  std::optional<TestPlugin> plugin_;
  std::thread thread_{[this] { loop.Run(); }};
};

/// The fake, on virtual time.
class FakeSide {
 public:
  FakeSide() { plugins_.At(path_).info = Disk(); }
  StatusOr<Connection> Dial() { return plugins_.Dial(found_); }
  StatusOr<Connection> DialReplaced() {
    plugins_.At(path_).replaced_by = PluginSocket{.path = path_, .inode = 8};
    return Dial();
  }
  void Vanish() { plugins_.At(path_).dial = NotFound("no such file or directory"); }
  void SetInfo(const Plugin& info) { plugins_.At(path_).info = info; }
  void SetError(const Status& error) {
    plugins_.At(path_).get_info = plugins_.At(path_).notify = error;
  }
  void Hang() { plugins_.At(path_).hangs = true; }
  std::vector<std::string> Reports() {
    std::vector<std::string> texts;
    for (const auto& report : plugins_.SeenBy(path_).reports) texts.push_back(Message(report));
    return texts;
  }
  std::future<StatusOr<Plugin>> BeginGetInfo(PluginConnection& connection, Duration limit) {
    const auto answer = std::make_shared<std::promise<StatusOr<Plugin>>>();
    connection.BeginGetInfo(After(clock_, limit), [answer](StatusOr<Plugin> info) {
      answer->set_value(std::move(info));
    });
    return answer->get_future();
  }
  Status Notify(PluginConnection& connection, const Status& outcome) {
    std::promise<Status> answer;
    connection.BeginNotify(outcome, After(clock_, 60s),
                           [&answer](const Status& status) { answer.set_value(status); });
    return Get(answer.get_future());
  }
  template <class T>
  T Get(std::future<T> answer) {
    loop_.Advance(60s);
    return answer.get();
  }

 private:
  const std::string path_ = "/reg/disk.sock";
  const PluginSocket found_{.path = path_, .inode = 7, .created = {}};
  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  FakePlugins plugins_{clock_, loop_};
};

template <class Side>
class RegistrationContract : public testing::Test {
 protected:
  Connection Dial() {
    auto connection = side_.Dial();
    EXPECT_TRUE(connection.ok()) << connection.status();
    return *connection;
  }
  StatusOr<Plugin> GetInfo(Duration limit = 60s) {
    const Connection connection = Dial();
    return side_.Get(side_.BeginGetInfo(*connection, limit));
  }
  Side side_;
};

using Sides = testing::Types<RealSide, FakeSide>;
TYPED_TEST_SUITE(RegistrationContract, Sides);

TYPED_TEST(RegistrationContract, APluginAnswersWhoItIs) {
  const auto info = this->GetInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, Disk());
}

TYPED_TEST(RegistrationContract, AnEmptyAnswerStaysEmpty) {
  this->side_.SetInfo({});
  const auto info = this->GetInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, Plugin{});
}

TYPED_TEST(RegistrationContract, AnErrorOfThePluginKeepsItsCode) {
  this->side_.SetError(FailedPrecondition("not now"));
  EXPECT_EQ(this->GetInfo().status(), FailedPrecondition("not now"));
  EXPECT_EQ(this->side_.Notify(*this->Dial(), OkStatus()), FailedPrecondition("not now"));
}

TYPED_TEST(RegistrationContract, APluginThatHangsEndsWithTheDeadline) {
  this->side_.Hang();
  EXPECT_EQ(this->GetInfo(100ms).status().code(), StatusCode::kDeadlineExceeded);
}

TYPED_TEST(RegistrationContract, ThePluginGetsTheOutcomeAndItsReason) {
  const Connection connection = this->Dial();
  EXPECT_TRUE(this->side_.Notify(*connection, OkStatus()).ok());
  EXPECT_TRUE(this->side_.Notify(*connection, InvalidArgument("not 1.x")).ok());
  EXPECT_EQ(this->side_.Reports(), (std::vector<std::string>{"", "not 1.x"}));
}

TYPED_TEST(RegistrationContract, TheEndOfTheConnectionCancelsItsCalls) {
  this->side_.Hang();
  Connection connection = this->Dial();
  auto answer = this->side_.BeginGetInfo(*connection, 60s);
  connection.reset();
  EXPECT_EQ(this->side_.Get(std::move(answer)).status().code(), StatusCode::kCancelled);
}

TYPED_TEST(RegistrationContract, ASocketThatIsGoneIsNotFound) {
  this->side_.Vanish();
  EXPECT_EQ(this->side_.Dial().status().code(), StatusCode::kNotFound);
}

TYPED_TEST(RegistrationContract, AnotherSocketInItsPlaceIsNotDialled) {
  EXPECT_EQ(this->side_.DialReplaced().status().code(), StatusCode::kAborted);
}

TEST(GrpcRegistrationClientTest, AnAnswerThatIsTooLongIsRefused) {
  RealSide side;
  Plugin info = Disk();
  info.name.assign(GrpcRegistrationClient::kMaxAnswerBytes, 'n');
  side.SetInfo(info);
  const Connection connection = *side.Dial();
  EXPECT_EQ(side.BeginGetInfo(*connection, 60s).get().status().code(),
            StatusCode::kResourceExhausted);
}

TEST(GrpcRegistrationClientTest, AConnectionNeverReachesALaterProcess) {
  RealSide side;
  const Connection connection = *side.Dial();
  ASSERT_TRUE(side.BeginGetInfo(*connection, 60s).get().ok());
  side.Restart();
  EXPECT_EQ(side.Notify(*connection, OkStatus()).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(side.Reports().empty());
}

TEST(GrpcRegistrationClientTest, AProcessThatOnlyListensEndsWithTheDeadline) {
  RealSide side;
  side.Vanish();
  const harness::ListeningSocket silent(side.path());
  const Connection connection = *side.Dial();
  EXPECT_EQ(side.BeginGetInfo(*connection, 100ms).get().status().code(),
            StatusCode::kDeadlineExceeded);
}

TEST(GrpcRegistrationClientTest, TheEndOfTheClientEndsItsCalls) {
  RealSide side;
  side.Hang();
  std::vector<Connection> connections;
  std::vector<std::future<StatusOr<Plugin>>> answers;
  for (int i = 0; i < 5; ++i) {
    connections.push_back(*side.Dial());
    answers.push_back(side.BeginGetInfo(*connections.back(), 60s));
  }
  side.client.reset();
  for (auto& answer : answers) EXPECT_EQ(answer.get().status().code(), StatusCode::kCancelled);
}

TEST(DialSocketTest, OnlyTheSocketThatWasFound) {
  TempDir dir;
  fs::RealFileSystem files;
  const harness::ListeningSocket listening(dir / "a.sock");
  harness::ListeningSocket dead(dir / "dead.sock");
  dead.Close();
  harness::WriteFile(dir / "file", "x");
  ASSERT_TRUE(files.MakeSymlink(dir / "a.sock", dir / "link").ok());
  const std::string longer(108, 'l');
  const struct {
    const char* name;
    std::string path;
    StatusCode code;
  } kCases[] = {
      {"a socket", dir / "a.sock", StatusCode::kOk},
      {"one without a process", dir / "dead.sock", StatusCode::kUnavailable},
      {"none", dir / "none", StatusCode::kNotFound},
      {"a file", dir / "file", StatusCode::kFailedPrecondition},
      {"a link", dir / "link", StatusCode::kFailedPrecondition},
      {"too long for an address", longer, StatusCode::kInvalidArgument},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto info = files.Stat(c.path, false);
    const PluginSocket socket{.path = c.path,
                              .inode = info.ok() ? info->inode : 0,
                              .created = info.ok() ? info->modified : WallTime{}};
    EXPECT_EQ(DialSocket(socket).status().code(), c.code) << DialSocket(socket).status();
  }
}

TEST(DialSocketTest, ASocketOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  TempDir dir;
  fs::RealFileSystem files;
  const harness::ListeningSocket listening(dir / "a.sock");
  ASSERT_EQ(lchown((dir / "a.sock").c_str(), 12345, 12345), 0);
  const auto info = files.Stat(dir / "a.sock", false);
  EXPECT_EQ(DialSocket({.path = dir / "a.sock", .inode = info->inode, .created = info->modified})
                .status(),
            PermissionDenied("it belongs to user 12345"));
}

TEST(DialSocketTest, AFullQueueIsAnErrorNotAWait) {
  TempDir dir;
  fs::RealFileSystem files;
  const harness::ListeningSocket listening(dir / "a.sock", 0);
  const auto info = files.Stat(dir / "a.sock", false);
  const PluginSocket socket{
      .path = dir / "a.sock", .inode = info->inode, .created = info->modified};
  const auto first = DialSocket(socket);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(DialSocket(socket).status(), Unavailable("its queue of connections is full"));
}

/// The registry over real files, inotify, threads and sockets.
class RegistryOnThreads : public testing::Test {
 protected:
  RegistryOnThreads() {
    exec::OnLoop(loop_, [this] {
      registry_.emplace(PluginRegistry::Deps{.env = env_,
                                             .files = files_,
                                             .client = client_,
                                             .make_watcher = fs::MakeInotifyWatcher,
                                             .handlers = {{kCsiPlugin, &handler_}},
                                             .directory = directory_});
      registry_->Start();
    });
  }
  ~RegistryOnThreads() override {
    exec::OnLoop(loop_, [this] { registry_.reset(); });
    loop_.Stop();
    thread_.join();
  }
  bool HasEndpoint(const std::string& want) {
    return WaitFor(20s, [&] {
      std::string endpoint;
      exec::OnLoop(loop_, [&] {
        const auto it = handler_.endpoints.find("disk");
        if (it != handler_.endpoints.end()) endpoint = it->second;
      });
      return endpoint == want;
    });
  }

  TempDir dir_;
  const std::string directory_ = dir_ / "plugins_registry";
  RealClock clock_;
  FakeLogSink sink_;
  Log log_{sink_};
  prometheus::Registry metrics_;
  fs::RealFileSystem files_;
  exec::LoopThread loop_{clock_};
  GrpcRegistrationClient client_{clock_, loop_};
  exec::StrandPool strands_{{.max_threads = 4}};
  exec::Env env_{
      .clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = metrics_};
  FakeHandler handler_;
  std::optional<PluginRegistry> registry_;
  std::thread thread_{[this] { loop_.Run(); }};
};

TEST_F(RegistryOnThreads, PluginsComeGoAndAreReplaced) {
  ASSERT_TRUE(WaitFor(20s, [&] { return files_.Stat(directory_, false).ok(); }));
  std::optional<TestPlugin> plugin;
  plugin.emplace(directory_ + "/disk.sock");
  ASSERT_TRUE(HasEndpoint("/csi/disk.sock"));
  EXPECT_TRUE(WaitFor(20s, [&] { return plugin->Reports() == std::vector<std::string>{""}; }));
  EXPECT_EQ(plugin->asked, 1);

  ASSERT_TRUE(files_.MakeDirs(directory_ + "/next", 0750).ok());
  Plugin next = Disk();
  next.endpoint = "";
  std::optional<TestPlugin> newer;
  newer.emplace(directory_ + "/next/disk.sock", next);
  ASSERT_TRUE(HasEndpoint(directory_ + "/next/disk.sock"));
  plugin.reset();  // removes its socket
  EXPECT_TRUE(WaitFor(20s, [&] {
    size_t plugins = 0;
    exec::OnLoop(loop_, [&] { plugins = registry_->GetPlugins().size(); });
    return plugins == 1;
  }));
  EXPECT_TRUE(HasEndpoint(directory_ + "/next/disk.sock"));
  newer.reset();
  EXPECT_TRUE(HasEndpoint(""));

  plugin.emplace(directory_ + "/disk.sock");
  EXPECT_TRUE(HasEndpoint("/csi/disk.sock"));
}

}  // namespace
}  // namespace splitlet::plugins
