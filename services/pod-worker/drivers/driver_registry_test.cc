#include "services/pod-worker/drivers/driver_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <optional>

#include "libs/bus/fake_bus.h"
#include "libs/fs/fake_file_system.h"
#include "libs/plugins/fake_plugins.h"
#include "libs/plugins/plugin_registry.h"
#include "services/pod-worker/drivers/fake_drivers.h"
#include "splitlet/v1/records.pb.h"

/// The registry of drivers below the registry of plugins, with status beside them.

namespace splitlet::pod_worker {
namespace {

using plugins::Plugin;
using testing::ElementsAre;

const std::string kOne = "/reg/one.sock", kTwo = "/reg/two.sock";
const std::string kNotFailed = "RegisterPlugin error -- plugin registration failed with err: ";

class Drivers : public testing::Test {
 protected:
  struct Process {
    explicit Process(Drivers& test)
        : owner(test.all_.NewOwner("pod-worker")),
          loop(test.all_, owner),
          strands(loop),
          registrars(test.clock_, loop),
          bus(test.network_, "pod-worker", loop),
          podstatus(*bus::ViewOf<v1::PodStatusRecord>(bus, "podstatus")),
          env{.clock = test.clock_,
              .loop = loop,
              .strands = strands,
              .log = test.log_,
              .metrics = metrics},
          drivers(
              {.env = env,
               .podstatus = podstatus,
               .has_api_server = test.has_api_server_,
               .connect =
                   [this, &test](const std::string& /*driver*/, const std::string& socket) {
                     return test.csi_.Connect(test.clock_, loop, socket);
                   },
               .on_changed =
                   [this, &test] {
                     test.shown_.Clear();
                     drivers.FillNode(test.shown_);
                   },
               .limit_period = [&test](const std::string& /*driver*/) { return test.period_; }}),
          sockets({.env = env,
                   .files = test.files_,
                   .client = registrars,
                   .make_watcher =
                       [&test] { return std::make_unique<fs::FakeFileWatcher>(test.files_); },
                   .handlers = {{plugins::kCsiPlugin, &drivers}},
                   .directory = "/reg",
                   .limits = {.registration = std::nullopt}}) {
      for (const auto& [socket, plugin] : test.plugins_) registrars.At(socket).info = plugin;
    }
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    prometheus::Registry metrics;
    plugins::FakePlugins registrars;
    bus::FakeBus bus;
    bus::View<v1::PodStatusRecord> podstatus;
    exec::Env env;
    DriverRegistry drivers;
    plugins::PluginRegistry sockets;
  };

  Drivers() { EXPECT_TRUE(files_.MakeDirs("/reg", 0750).ok()); }
  ~Drivers() override {
    if (process_) Kill();
  }

  /// A driver with its registrar.
  void Add(const std::string& socket, const std::string& version,
           const std::string& endpoint = "/csi/disk.sock") {
    plugins_[socket] = {.type = plugins::kCsiPlugin,
                        .name = "disk",
                        .endpoint = endpoint,
                        .versions = {"1.0.0", version}};
    csi_.At(endpoint).info = {
        .node_id = "id of " + version, .max_volumes = 25, .topology = {{"example.com/zone", "a"}}};
    if (process_) process_->registrars.At(socket).info = plugins_[socket];
    files_.MakeSocket(socket);
    Settle();
  }
  void Remove(const std::string& socket) {
    ASSERT_TRUE(files_.Remove(socket).ok());
    Settle();
  }
  void Start() {
    shown_.Clear();
    process_.emplace(*this);
    process_->loop.Post([this] {
      process_->podstatus.OnChange([this](const auto&) { process_->drivers.OnNode(); });
      process_->drivers.Start();
      process_->sockets.Start();
    });
    Settle();
  }
  void Kill() {
    all_.Drop(process_->owner);
    process_.reset();
  }
  /// Inspections pause for 100 ms.
  void Settle() { all_.Advance(150ms); }
  /// status writes the drivers that it is shown, or cannot.
  void Record(const std::string& error = {}) {
    v1::PodStatusRecord record;
    for (const auto& driver : shown_.csi_drivers()) {
      v1::CsiDriverOutcome& outcome = *record.mutable_node()->add_csi_drivers();
      *outcome.mutable_driver() = driver;
      outcome.set_error(error);
    }
    EXPECT_TRUE(podstatus_.Put("node", record).ok());
    Settle();
  }
  /// NotifyRegistrationStatus calls to the plugin: "" is success.
  std::vector<std::string> Reports(const std::string& socket = kOne) {
    std::vector<std::string> texts;
    for (const Status& report : process_->registrars.SeenBy(socket).reports)
      texts.push_back(Message(report));
    return texts;
  }
  std::string ShownId() const {
    if (shown_.csi_drivers_size() != 1) return fmt::format("{} drivers", shown_.csi_drivers_size());
    return shown_.csi_drivers(0).node_id();
  }
  int64_t ShownNumber() const { return shown_.csi_drivers(0).registration(); }
  std::string FindError() const { return Message(process_->drivers.Find("disk").status()); }

  FakeClock clock_;
  exec::Scheduler all_{clock_};
  exec::FakeLoop other_loop_{all_, all_.NewOwner("others")};
  FakeLogSink sink_;
  Log log_{sink_};
  bus::FakeBusNetwork network_{clock_, 1};
  bus::FakeBus status_bus_{network_, "status", other_loop_};
  bus::Table<v1::PodStatusRecord> podstatus_ =
      *bus::Own<v1::PodStatusRecord>(status_bus_, "podstatus");
  fs::FakeFileSystem files_{clock_};
  FakeDrivers csi_;
  std::map<std::string, Plugin> plugins_;  // by socket
  bool has_api_server_ = true;
  LimitTimers::Period period_;
  v1::WorkerNode shown_;
  std::optional<Process> process_;
};

TEST_F(Drivers, ARegistrarIsAnsweredWhenStatusHasRecordedTheDriver) {
  Start();
  EXPECT_EQ(FindError(), "driver name disk not found in the list of registered CSI drivers");
  Add(kOne, "1.9.0");
  ASSERT_EQ(shown_.csi_drivers_size(), 1);
  const auto& driver = shown_.csi_drivers(0);
  EXPECT_EQ(driver.name(), "disk");
  EXPECT_EQ(driver.node_id(), "id of 1.9.0");
  EXPECT_EQ(driver.max_volumes(), 25);
  EXPECT_EQ(driver.topology().at("example.com/zone"), "a");
  EXPECT_NE(driver.registration(), 0);
  EXPECT_EQ(FindError(), "") << "volumes use the driver from its registration on";
  EXPECT_THAT(Reports(), ElementsAre());
  Record();
  EXPECT_THAT(Reports(), ElementsAre(""));
  all_.Advance(10min);
  EXPECT_EQ(csi_.At("/csi/disk.sock").asked, 1);
}

TEST_F(Drivers, WithoutAnApiServerARegistrarIsAnsweredAtOnce) {
  has_api_server_ = false;
  Start();
  Add(kOne, "1.9.0");
  EXPECT_THAT(Reports(), ElementsAre(""));
  EXPECT_EQ(ShownId(), "id of 1.9.0");
  all_.Advance(10min);
  EXPECT_FALSE(shown_.csi_drivers_known()) << "no Node has drivers to remove";
}

TEST_F(Drivers, ADriverThatStatusCannotRecordIsRefusedAndTriedAgain) {
  Start();
  Add(kOne, "1.9.0");
  const int64_t first = ShownNumber();
  Record("error updating Node object with CSI driver node info: no");
  EXPECT_THAT(Reports(),
              ElementsAre(kNotFailed + "error updating Node object with CSI driver node info: no"));
  EXPECT_EQ(ShownId(), "0 drivers");
  EXPECT_EQ(FindError(), "driver name disk not found in the list of registered CSI drivers");
  all_.Advance(500ms);
  ASSERT_EQ(ShownId(), "id of 1.9.0");
  EXPECT_GT(ShownNumber(), first);
  Record();
  EXPECT_EQ(Reports().back(), "");
}

TEST_F(Drivers, TheOutcomeOfAnEarlierRegistrationDoesNotCount) {
  Start();
  Add(kOne, "1.9.0");
  const v1::WorkerNode before = shown_;
  Remove(kOne);
  Add(kOne, "1.9.0");
  const v1::WorkerNode after = shown_;
  shown_ = before;
  Record("as of the first registration");
  EXPECT_THAT(Reports(), ElementsAre());
  Record();
  EXPECT_THAT(Reports(), ElementsAre());
  EXPECT_EQ(FindError(), "");
  shown_ = after;
  Record();
  EXPECT_THAT(Reports(), ElementsAre(""));
}

TEST_F(Drivers, WhileStatusIsAwayARegistrarWaitsWithoutALimit) {
  Start();
  Add(kOne, "1.9.0");
  all_.Advance(1h);
  EXPECT_THAT(Reports(), ElementsAre());
  EXPECT_EQ(process_->registrars.SeenBy(kOne).infos, 1);
  EXPECT_EQ(FindError(), "");
  Record();
  EXPECT_THAT(Reports(), ElementsAre(""));
}

TEST_F(Drivers, ADriverThatDoesNotDescribeTheNodeIsRefused) {
  const struct {
    const char* name;
    Status error;
    bool hangs;
    Duration after;
    std::string want;
  } kCases[] = {
      {"no id",
       InvalidArgument("error adding CSI driver node info: driverNodeID must not be empty"), false,
       0s, "error adding CSI driver node info: driverNodeID must not be empty"},
      {"an error", Internal("no disk"), false, 0s, "no disk"},
      {"a hang", OkStatus(), true, 2min, "Deadline Exceeded"},
  };
  Start();
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    csi_.At("/csi/disk.sock").error = c.error;
    csi_.At("/csi/disk.sock").hangs = c.hangs;
    Add(kOne, "1.9.0");
    all_.Advance(c.after);
    EXPECT_EQ(Reports().back(), kNotFailed + c.want);
    EXPECT_EQ(ShownId(), "0 drivers");
    Remove(kOne);
  }
}

TEST_F(Drivers, ADriverThatHangsDelaysNoOther) {
  Start();
  csi_.At("/csi/disk.sock").hangs = true;
  Add(kOne, "1.9.0");
  plugins_[kTwo] = process_->registrars.At(kTwo).info = {.type = plugins::kCsiPlugin,
                                                         .name = "share",
                                                         .endpoint = "/csi/share.sock",
                                                         .versions = {"1.0.0"}};
  csi_.At("/csi/share.sock").info.node_id = "share's";
  files_.MakeSocket(kTwo);
  Settle();
  EXPECT_EQ(ShownId(), "share's");
  Record();
  EXPECT_THAT(Reports(kTwo), ElementsAre(""));
  EXPECT_THAT(Reports(kOne), ElementsAre());
}

TEST_F(Drivers, AnEqualVersionAtASecondSocketWaitsUntilTheFirstIsGone) {
  Start();
  Add(kOne, "1.9.0");
  Record();
  Add(kTwo, "1.9.0", "/csi/second.sock");
  EXPECT_THAT(
      Reports(kTwo),
      ElementsAre("RegisterPlugin error -- plugin validation failed with err: validation "
                  "failed for CSI Driver disk at endpoint /csi/second.sock: "
                  "kubernetes.io/csi: ValidatePlugin for CSI driver \"disk\" failed. Another "
                  "driver with the same name is already registered with a higher supported "
                  "version: \"1.9.0\""));
  EXPECT_EQ(csi_.At("/csi/second.sock").asked, 0);
  Remove(kOne);
  EXPECT_EQ(csi_.At("/csi/second.sock").asked, 1);
  Record();
  EXPECT_EQ(Reports(kTwo).back(), "");
}

TEST_F(Drivers, AHigherVersionReplacesALowerOneAndOutlivesItsSocket) {
  Start();
  std::vector<std::string> serving;
  process_->drivers.OnServing([&](const std::string& name) { serving.push_back(name); });
  Add(kOne, "1.9.0");
  Record();
  const auto old = *process_->drivers.Find("disk");
  Add(kTwo, "1.10.0", "/csi/new.sock");
  EXPECT_EQ(ShownId(), "id of 1.10.0");
  Record();
  EXPECT_THAT(Reports(kTwo), ElementsAre(""));
  const auto now = *process_->drivers.Find("disk");
  EXPECT_NE(now, old);
  EXPECT_THAT(serving, ElementsAre("disk", "disk"));
  Remove(kOne);
  EXPECT_EQ(ShownId(), "id of 1.10.0");
  EXPECT_EQ(*process_->drivers.Find("disk"), now);
  EXPECT_EQ(serving.size(), 2u);
  Remove(kTwo);
  EXPECT_EQ(ShownId(), "0 drivers");
  EXPECT_EQ(serving.size(), 3u);
}

TEST_F(Drivers, AHigherVersionThatFailsGivesTheNameBack) {
  Start();
  Add(kOne, "1.9.0");
  Record();
  const int64_t number = ShownNumber();
  csi_.At("/csi/new.sock").hangs = true;
  Add(kTwo, "1.10.0", "/csi/new.sock");
  EXPECT_EQ(ShownId(), "id of 1.9.0") << "the CSINode keeps the driver until the new one is known";
  all_.Advance(2min);
  EXPECT_EQ(Reports(kTwo).back(), kNotFailed + "Deadline Exceeded");
  EXPECT_EQ(ShownNumber(), number);
  EXPECT_EQ(FindError(), "");
}

TEST_F(Drivers, AHigherVersionThatGoesGivesTheNameBack) {
  Start();
  Add(kOne, "1.9.0");
  Record();
  const auto old = *process_->drivers.Find("disk");
  Add(kTwo, "1.10.0", "/csi/new.sock");
  Record();
  Remove(kTwo);
  EXPECT_EQ(ShownId(), "id of 1.9.0");
  EXPECT_EQ(*process_->drivers.Find("disk"), old);
}

TEST_F(Drivers, ALowerVersionIsRefused) {
  Start();
  Add(kOne, "1.9.0");
  Record();
  Add(kTwo, "1.8.0", "/csi/old.sock");
  EXPECT_THAT(Reports(kTwo).back(), testing::HasSubstr("is already registered"));
  EXPECT_EQ(ShownId(), "id of 1.9.0");
}

TEST_F(Drivers, ADriverIsRemovedFromTheNodeOnlyWhenThoseOfAnEarlierStartAreBack) {
  Start();
  EXPECT_FALSE(shown_.csi_drivers_known());
  Add(kOne, "1.9.0");
  Record();
  EXPECT_FALSE(shown_.csi_drivers_known());
  all_.Advance(DriverRegistry::kSettled);
  EXPECT_TRUE(shown_.csi_drivers_known());
  EXPECT_EQ(ShownId(), "id of 1.9.0");
}

/// Killed between any two of its steps: the next start registers the driver from its socket, and an
/// outcome of the first start does not count.
TEST_F(Drivers, KilledAtAnyStepTheNextStartRegistersTheDriver) {
  Add(kOne, "1.9.0");
  int unseen = 0, seen = 0;
  for (int steps = 0; steps < 60; ++steps) {
    SCOPED_TRACE(steps);
    shown_.Clear();
    process_.emplace(*this);
    process_->loop.Post([this] {
      process_->podstatus.OnChange([this](const auto&) { process_->drivers.OnNode(); });
      process_->sockets.Start();
    });
    for (int i = 0; i < steps; ++i)
      if (!all_.RunOne()) break;
    const v1::WorkerNode before = shown_;
    ++(before.csi_drivers().empty() ? unseen : seen);
    Kill();
    all_.Advance(1s);
    Start();
    ASSERT_EQ(ShownId(), "id of 1.9.0");
    const v1::WorkerNode after = shown_;
    shown_ = before;
    Record("of the first start");
    EXPECT_THAT(Reports(), ElementsAre());
    shown_ = after;
    Record();
    EXPECT_THAT(Reports(), ElementsAre(""));
    Kill();
    podstatus_.Remove("node");
    Settle();
  }
  EXPECT_GT(unseen, 3);
  EXPECT_GT(seen, 3);
}

TEST_F(Drivers, TheLimitOfVolumesIsReadAgainEachPeriod) {
  Start();
  Add(kOne, "1.9.0");
  Record();
  const int64_t number = ShownNumber();
  auto& driver = csi_.At("/csi/disk.sock");
  driver.info.max_volumes = 7;
  driver.info.node_id = "another";
  all_.Advance(1h);
  EXPECT_EQ(driver.asked, 1) << "no period";
  period_ = 10s;
  process_->drivers.OnLimitPeriods();
  all_.Advance(9s);
  EXPECT_EQ(shown_.csi_drivers(0).max_volumes(), 25) << "first after one period";
  all_.Advance(1s);
  EXPECT_EQ(shown_.csi_drivers(0).max_volumes(), 7);
  EXPECT_EQ(ShownId(), "id of 1.9.0");
  EXPECT_EQ(ShownNumber(), number);
  EXPECT_EQ(Reports().size(), 1u);
  all_.Advance(1min);
  EXPECT_EQ(driver.asked, 8);
  period_ = 60s;
  process_->drivers.OnLimitPeriods();
  all_.Advance(1min);
  EXPECT_EQ(driver.asked, 9);
  period_.reset();
  process_->drivers.OnLimitPeriods();
  all_.Advance(1h);
  EXPECT_EQ(driver.asked, 9);
  driver.info.max_volumes = 8;
  process_->drivers.RefreshLimit("disk");
  process_->drivers.RefreshLimit("unknown");
  Settle();
  EXPECT_EQ(shown_.csi_drivers(0).max_volumes(), 8);
}

TEST_F(Drivers, ALimitThatCannotBeReadStaysAndIsLoggedOnce) {
  period_ = 10s;
  Start();
  Add(kOne, "1.9.0");
  Record();
  csi_.At("/csi/disk.sock").error = Unavailable("busy");
  all_.Advance(1min);
  EXPECT_EQ(shown_.csi_drivers(0).max_volumes(), 25);
  EXPECT_EQ(FindError(), "");
  EXPECT_EQ(std::ranges::count_if(sink_.lines(),
                                  [](const auto& line) { return line.level == LogLevel::kWarn; }),
            1);
  csi_.At("/csi/disk.sock").error = OkStatus();
  csi_.At("/csi/disk.sock").hangs = true;
  all_.Advance(1min);
  EXPECT_EQ(csi_.At("/csi/disk.sock").asked, 8) << "one call at a time";
  Remove(kOne);
  all_.Advance(1h);
  EXPECT_EQ(csi_.At("/csi/disk.sock").asked, 8) << "no driver, no timer";
}

TEST_F(Drivers, AtTheEndNoRegistrarIsAnswered) {
  Start();
  csi_.At("/csi/disk.sock").hangs = true;
  Add(kOne, "1.9.0");
  process_->drivers.BeginStop();
  all_.Advance(5min);
  EXPECT_THAT(Reports(), ElementsAre());
  EXPECT_EQ(ShownId(), "0 drivers");
  Status answer;
  process_->drivers.Register(plugins_[kOne], [&](const Status& status) { answer = status; });
  EXPECT_EQ(answer.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace splitlet::pod_worker
