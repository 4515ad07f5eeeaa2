#include "libs/plugins/plugin_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/plugins/fake_handler.h"
#include "libs/plugins/fake_plugins.h"

namespace splitlet::plugins {
namespace {

const std::string kDirectory = "/reg", kSocket = "/reg/disk.sock", kOther = "/reg/other.sock";

class PluginRegistryTest : public testing::Test {
 protected:
  PluginRegistryTest() {
    EXPECT_TRUE(files_.MakeDirs(kDirectory, 0750).ok());
    plugins_.At(kSocket).info = Disk("/csi/disk.sock");
  }
  static Plugin Disk(const std::string& endpoint) {
    return {.type = kCsiPlugin, .name = "disk", .endpoint = endpoint, .versions = {"1.0.0"}};
  }
  void Start() {
    registry_.Start();
    Settle();
  }
  /// Inspections pause for 100 ms.
  void Settle() { loop_.Advance(150ms); }
  void Create(const std::string& socket) {
    files_.MakeSocket(socket);
    Settle();
  }
  void Remove(const std::string& socket) {
    ASSERT_TRUE(files_.Remove(socket).ok());
    Settle();
  }
  int Infos(const std::string& socket = kSocket) { return plugins_.SeenBy(socket).infos; }
  std::vector<Status>& Reports(const std::string& socket = kSocket) {
    return plugins_.SeenBy(socket).reports;
  }
  std::string LastReport(const std::string& socket = kSocket) {
    return Reports(socket).empty() ? "none" : Message(Reports(socket).back());
  }
  std::string LastWarning() const {
    std::string text;
    for (const auto& line : sink_.lines()) {
      if (line.level != LogLevel::kWarn) continue;
      for (const auto& field : line.fields)
        if (field.key == "err") text = field.value;
    }
    return text;
  }
  size_t Warnings() const {
    size_t count = 0;
    for (const auto& line : sink_.lines()) count += line.level == LogLevel::kWarn;
    return count;
  }
  std::string Scrape() const { return prometheus::TextSerializer().Serialize(metrics_.Collect()); }
  using Endpoints = std::map<std::string, std::string>;

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  FakeLogSink sink_;
  Log log_{sink_};
  prometheus::Registry metrics_;
  exec::Env env_{
      .clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = metrics_};
  fs::FakeFileSystem files_{clock_};
  FakePlugins plugins_{clock_, loop_};
  FakeHandler csi_, dra_;
  PluginRegistry registry_{
      {.env = env_,
       .files = files_,
       .client = plugins_,
       .make_watcher = [this] { return std::make_unique<fs::FakeFileWatcher>(files_); },
       .handlers = {{kCsiPlugin, &csi_}, {kDraPlugin, &dra_}},
       .directory = kDirectory}};
};

TEST_F(PluginRegistryTest, ASocketFromBeforeTheStartIsRegisteredOnce) {
  files_.MakeSocket(kSocket);
  Start();
  EXPECT_EQ(Infos(), 1);
  EXPECT_EQ(Reports(), std::vector<Status>{OkStatus()});
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/csi/disk.sock"}}));
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 0) << "the connection is closed";
  loop_.Advance(10min);
  EXPECT_EQ(Infos(), 1);
  EXPECT_EQ(csi_.registers, 1);
}

TEST_F(PluginRegistryTest, ASocketInALaterFolderIsRegistered) {
  Start();
  plugins_.At("/reg/csi/disk.sock").info = Disk("");
  ASSERT_TRUE(files_.MakeDirs("/reg/csi", 0750).ok());
  Create("/reg/csi/disk.sock");
  Settle();
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/reg/csi/disk.sock"}}))
      << "an empty endpoint is the socket itself";
}

TEST_F(PluginRegistryTest, TheHandlerGetsAllThatThePluginAnswered) {
  plugins_.At(kSocket).info.versions = {"1.0.0", "1.9.0"};
  Start();
  Create(kSocket);
  ASSERT_EQ(registry_.GetPlugins().size(), 1u);
  Plugin want = Disk("/csi/disk.sock");
  want.socket = kSocket;
  want.versions = {"1.0.0", "1.9.0"};
  EXPECT_EQ(registry_.GetPlugins()[0], want);
}

TEST_F(PluginRegistryTest, ARemovedSocketIsDeRegisteredWithinASecond) {
  Start();
  Create(kSocket);
  Remove(kSocket);
  EXPECT_TRUE(csi_.endpoints.empty());
  EXPECT_EQ(csi_.de_registers, 1);
  EXPECT_TRUE(registry_.GetPlugins().empty());
}

TEST_F(PluginRegistryTest, ASocketCreatedAgainIsAskedAgain) {
  Start();
  Create(kSocket);
  plugins_.At(kSocket).info = Disk("/csi/disk-2.sock");
  Create(kSocket);
  EXPECT_EQ(Infos(), 2);
  EXPECT_EQ(csi_.de_registers, 1);
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/csi/disk-2.sock"}}));
  EXPECT_EQ(Reports().size(), 2u);
}

TEST_F(PluginRegistryTest, FailuresAreReportedWithTheKubeletsTexts) {
  const struct {
    const char* name;
    std::function<void()> set;
    const char* error;
    bool reported;
  } kCases[] = {
      {"the dial", [this] { plugins_.At(kSocket).dial = Unavailable("connection refused"); },
       "RegisterPlugin error -- dial failed at socket /reg/disk.sock, err: failed to dial socket "
       "/reg/disk.sock, err: connection refused",
       false},
      {"a socket that took the place of the one found",
       [this] { plugins_.At(kSocket).replaced_by = PluginSocket{.path = kSocket, .inode = 99}; },
       "RegisterPlugin error -- dial failed at socket /reg/disk.sock, err: failed to dial socket "
       "/reg/disk.sock, err: another socket has taken its place",
       false},
      {"GetInfo", [this] { plugins_.At(kSocket).get_info = Unimplemented("no such call"); },
       "RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket "
       "/reg/disk.sock, err: no such call",
       false},
      {"the type", [this] { plugins_.At(kSocket).info.type = "TapePlugin"; },
       "RegisterPlugin error -- no handler registered for plugin type: TapePlugin at socket "
       "/reg/disk.sock",
       true},
      {"the name", [this] { plugins_.At(kSocket).info.name.clear(); },
       "RegisterPlugin error -- plugin validation failed with err: the name is empty", true},
      {"the versions", [this] { csi_.validate = InvalidArgument("not 1.x"); },
       "RegisterPlugin error -- plugin validation failed with err: not 1.x", true},
      {"the registration", [this] { csi_.register_error = Unavailable("the API server is away"); },
       "RegisterPlugin error -- plugin registration failed with err: the API server is away", true},
      {"the report", [this] { plugins_.At(kSocket).notify = Unavailable("it is gone"); },
       "RegisterPlugin error -- failed to send registration status at socket /reg/disk.sock, err: "
       "it is gone",
       false},
  };
  Start();
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    plugins_.At(kSocket) = {.info = Disk("/csi/disk.sock")};
    csi_.validate = csi_.register_error = OkStatus();
    Reports().clear();
    c.set();
    Create(kSocket);
    EXPECT_TRUE(LastWarning().starts_with(c.error)) << LastWarning();
    EXPECT_EQ(LastReport(), c.reported ? c.error : "none");
    EXPECT_TRUE(csi_.endpoints.empty());
    EXPECT_TRUE(registry_.GetPlugins().empty());
    Remove(kSocket);
  }
}

TEST_F(PluginRegistryTest, APluginThatAnswersLateIsTriedAgainWithGrowingDelays) {
  plugins_.At(kSocket).takes = 1001ms;
  Start();
  Create(kSocket);
  EXPECT_EQ(Infos(), 1);
  loop_.Advance(900ms);  // its second is over
  EXPECT_THAT(LastWarning(), testing::HasSubstr("using RPC GetInfo at socket /reg/disk.sock"));
  for (const Duration wait :
       {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16000ms, 32000ms, 64000ms, 122000ms, 122000ms}) {
    const int before = Infos();
    loop_.Advance(wait + 1s);  // the delay and the second of the call
    EXPECT_EQ(Infos(), before + 1);
  }
  EXPECT_EQ(Warnings(), 1u) << "the same error is logged once";
  plugins_.At(kSocket).takes = 900ms;
  loop_.Advance(124s);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
}

TEST_F(PluginRegistryTest, ASuccessResetsTheDelay) {
  plugins_.At(kSocket).get_info = Unavailable("starting");
  Start();
  Create(kSocket);
  loop_.Advance(60s);
  plugins_.At(kSocket).get_info = OkStatus();
  loop_.Advance(122s);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
  plugins_.At(kSocket).get_info = Unavailable("starting again");
  Create(kSocket);
  const int before = Infos();
  loop_.Advance(500ms);
  EXPECT_EQ(Infos(), before + 1);
}

TEST_F(PluginRegistryTest, ASocketCreatedAgainDoesNotWaitForTheDelay) {
  plugins_.At(kSocket).get_info = Unavailable("starting");
  Start();
  Create(kSocket);
  loop_.Advance(5min);
  plugins_.At(kSocket).get_info = OkStatus();
  Create(kSocket);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
}

TEST_F(PluginRegistryTest, ARefusedPluginIsTriedAgain) {
  csi_.validate = InvalidArgument("not 1.x");
  Start();
  Create(kSocket);
  csi_.validate = OkStatus();
  loop_.Advance(500ms);
  EXPECT_EQ(LastReport(), "");
  EXPECT_EQ(csi_.endpoints.size(), 1u);
}

TEST_F(PluginRegistryTest, APluginThatHangsDelaysNoOther) {
  plugins_.At(kSocket).hangs = true;
  plugins_.At(kOther).info = {.type = kDraPlugin, .name = "gpu", .endpoint = "/dra/gpu.sock"};
  Start();
  files_.MakeSocket(kSocket);
  Create(kOther);
  EXPECT_EQ(dra_.endpoints.size(), 1u);
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 1);
}

TEST_F(PluginRegistryTest, ThePluginHasItsAnswerOnlyWhenTheHandlerHasDone) {
  csi_.withholds = true;
  Start();
  Create(kSocket);
  loop_.Advance(4min);
  EXPECT_TRUE(Reports().empty());
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 1);
  EXPECT_EQ(registry_.GetPlugins().size(), 1u);
  csi_.AnswerAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(Reports(), std::vector<Status>{OkStatus()});
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 0);
}

TEST_F(PluginRegistryTest, AHandlerWithoutAnAnswerIsAFailureThatIsUndone) {
  csi_.withholds = true;
  Start();
  Create(kSocket);
  loop_.Advance(5min);
  EXPECT_EQ(LastReport(),
            "RegisterPlugin error -- plugin registration failed with err: no answer of its "
            "handler");
  EXPECT_EQ(csi_.de_registers, 1);
  csi_.withholds = false;
  csi_.AnswerAll();  // late answers change nothing
  loop_.Advance(1s);
  EXPECT_EQ(csi_.registers, 2);
  EXPECT_EQ(LastReport(), "");
  EXPECT_EQ(registry_.GetPlugins().size(), 1u);
}

TEST_F(PluginRegistryTest, WithoutALimitAHandlerMayAnswerAfterADay) {
  PluginRegistry patient(
      {.env = env_,
       .files = files_,
       .client = plugins_,
       .make_watcher = [this] { return std::make_unique<fs::FakeFileWatcher>(files_); },
       .handlers = {{kCsiPlugin, &csi_}},
       .directory = kDirectory,
       .limits = {.registration = std::nullopt}});
  csi_.withholds = true;
  patient.Start();
  Create(kSocket);
  loop_.Advance(24h);
  EXPECT_EQ(csi_.registers, 1);
  EXPECT_TRUE(Reports().empty());
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 1);
  csi_.AnswerAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(Reports(), std::vector<Status>{OkStatus()});
}

TEST_F(PluginRegistryTest, ASocketThatGoesDuringItsRegistrationIsDeRegistered) {
  csi_.withholds = true;
  Start();
  Create(kSocket);
  Remove(kSocket);
  EXPECT_EQ(csi_.de_registers, 1);
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 0);
  csi_.AnswerAll();
  loop_.RunUntilIdle();
  EXPECT_TRUE(Reports().empty());
  EXPECT_TRUE(csi_.endpoints.empty());
  EXPECT_TRUE(registry_.GetPlugins().empty());
}

TEST_F(PluginRegistryTest, ASocketCreatedAgainWhileItIsAskedIsAskedAlone) {
  plugins_.At(kSocket).hangs = true;
  Start();
  Create(kSocket);
  plugins_.At(kSocket).hangs = false;
  Create(kSocket);
  EXPECT_EQ(csi_.registers, 1);
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 0);
  loop_.Advance(5min);
  EXPECT_EQ(csi_.registers, 1);
}

TEST_F(PluginRegistryTest, AnUpgradeToAnotherEndpointKeepsTheNewVersion) {
  plugins_.At(kOther).info = Disk("/csi/disk-2.sock");
  Start();
  Create(kSocket);
  Create(kOther);
  Remove(kSocket);
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/csi/disk-2.sock"}}));
  ASSERT_EQ(registry_.GetPlugins().size(), 1u);
  EXPECT_EQ(registry_.GetPlugins()[0].socket, kOther);
}

TEST_F(PluginRegistryTest, AnUpgradeAtTheSameEndpointKeepsTheNewVersion) {
  plugins_.At(kOther).info = Disk("/csi/disk.sock");
  Start();
  Create(kSocket);
  Create(kOther);
  Remove(kSocket);
  EXPECT_EQ(csi_.de_registers, 0);
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/csi/disk.sock"}}));
  Remove(kOther);
  EXPECT_TRUE(csi_.endpoints.empty());
}

TEST_F(PluginRegistryTest, AVersionThatWaitsForItsPredecessorIsTriedWhenThatIsGone) {
  plugins_.At(kOther).info = Disk("/csi/disk-2.sock");
  Start();
  Create(kSocket);
  csi_.validate = InvalidArgument("already registered");
  Create(kOther);
  loop_.Advance(3min);
  EXPECT_EQ(LastReport(kOther),
            "RegisterPlugin error -- plugin validation failed with err: already registered");
  csi_.validate = OkStatus();
  Remove(kSocket);
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/csi/disk-2.sock"}}));
}

TEST_F(PluginRegistryTest, AFailedDeRegistrationIsTriedAgain) {
  Start();
  Create(kSocket);
  csi_.de_register_error = Unavailable("the API server is away");
  Remove(kSocket);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
  csi_.de_register_error = OkStatus();
  loop_.Advance(500ms);
  EXPECT_TRUE(csi_.endpoints.empty());
}

TEST_F(PluginRegistryTest, AFailedDeRegistrationEndsWhenThePluginIsBack) {
  Start();
  Create(kSocket);
  csi_.de_register_error = Unavailable("the API server is away");
  Remove(kSocket);
  Create(kSocket);
  const int before = csi_.de_registers;
  csi_.de_register_error = OkStatus();
  loop_.Advance(10min);
  EXPECT_EQ(csi_.de_registers, before);
  EXPECT_EQ(csi_.endpoints, (Endpoints{{"disk", "/csi/disk.sock"}}));
}

TEST_F(PluginRegistryTest, APluginThatCannotBeNotifiedIsDeRegisteredAndTriedAgain) {
  plugins_.At(kSocket).notify = Unavailable("it is gone");
  Start();
  Create(kSocket);
  EXPECT_EQ(csi_.registers, 1);
  EXPECT_EQ(csi_.de_registers, 1);
  EXPECT_TRUE(csi_.endpoints.empty());
  plugins_.At(kSocket).notify = OkStatus();
  loop_.Advance(500ms);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
}

TEST_F(PluginRegistryTest, ARestartRegistersEverythingAgain) {
  Start();
  Create(kSocket);
  FakeHandler handler;
  PluginRegistry next(
      {.env = env_,
       .files = files_,
       .client = plugins_,
       .make_watcher = [this] { return std::make_unique<fs::FakeFileWatcher>(files_); },
       .handlers = {{kCsiPlugin, &handler}},
       .directory = kDirectory});
  next.Start();
  Settle();
  EXPECT_EQ(handler.endpoints, (Endpoints{{"disk", "/csi/disk.sock"}}));
}

TEST_F(PluginRegistryTest, TheEndOfTheRegistryDropsAnswersUnderWay) {
  FakeHandler handler;
  handler.withholds = true;
  plugins_.At(kOther).hangs = true;
  files_.MakeSocket(kSocket);
  files_.MakeSocket(kOther);
  {
    PluginRegistry short_lived(
        {.env = env_,
         .files = files_,
         .client = plugins_,
         .make_watcher = [this] { return std::make_unique<fs::FakeFileWatcher>(files_); },
         .handlers = {{kCsiPlugin, &handler}},
         .directory = kDirectory});
    short_lived.Start();
    Settle();
    EXPECT_EQ(handler.registers, 1);
  }
  EXPECT_EQ(plugins_.SeenBy(kSocket).open, 0);
  handler.AnswerAll();
  loop_.Advance(10min);
  EXPECT_TRUE(Reports().empty());
}

TEST_F(PluginRegistryTest, ADirectoryThatCannotBeReadDeRegistersNothing) {
  Start();
  Create(kSocket);
  files_.Fail(kDirectory, Unavailable("the disk is away"));
  loop_.Advance(10min);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
  EXPECT_EQ(csi_.de_registers, 0);
}

TEST_F(PluginRegistryTest, AFileSystemThatHangsEndsTheAttempt) {
  exec::FakeLoop& loop = loop_;
  plugins_.At(kOther).info = {.type = kDraPlugin, .name = "gpu", .endpoint = "/dra/gpu.sock"};
  Start();
  files_.MakeSocket(kSocket);
  // The strand of the dial is busy for a minute.
  strands_.Run("plugins/dial/" + kSocket, [&loop] { loop.scheduler().Charge(1min); });
  Create(kOther);
  EXPECT_EQ(dra_.endpoints.size(), 1u);
  loop_.Advance(10s);
  EXPECT_THAT(LastWarning(), testing::HasSubstr("the file system does not answer"));
  loop_.Advance(3min);
  EXPECT_EQ(csi_.endpoints.size(), 1u);
}

TEST_F(PluginRegistryTest, MetricsCountSocketsAndPluginsByPath) {
  Start();
  EXPECT_THAT(Scrape(), testing::Not(testing::HasSubstr("plugin_manager_total_plugins{")));
  csi_.validate = InvalidArgument("not 1.x");
  Create(kSocket);
  const std::string desired =
      "plugin_manager_total_plugins{socket_path=\"/reg/disk.sock\",state=\"desired_state_of_"
      "world\"} 1";
  const std::string actual =
      "plugin_manager_total_plugins{socket_path=\"/reg/disk.sock\",state=\"actual_state_of_"
      "world\"} 1";
  EXPECT_THAT(Scrape(), testing::HasSubstr(desired));
  EXPECT_THAT(Scrape(), testing::Not(testing::HasSubstr(actual)));
  csi_.validate = OkStatus();
  loop_.Advance(1s);
  EXPECT_THAT(Scrape(), testing::HasSubstr(actual));
  Remove(kSocket);
  EXPECT_THAT(Scrape(), testing::Not(testing::HasSubstr("socket_path")));
}

}  // namespace
}  // namespace splitlet::plugins
