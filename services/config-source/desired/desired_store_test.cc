#include "services/config-source/desired/desired_store.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

class StoreTest : public testing::TestWithParam<const char*> {
 protected:
  /// A call on the loop, and all that follows from it.
  void Run(const std::function<void()>& call) {
    loop_.Post(call);
    all_.Advance(1s);
  }

  FakeClock clock_;
  exec::Scheduler all_{clock_};
  fs::FakeFileSystem files_{clock_};
  bus::FakeBusNetwork network_{clock_, 1};
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  ConfigMetrics metrics_{registry_};
  exec::Scheduler::Owner owner_ = all_.NewOwner("config-source");
  exec::FakeLoop loop_{all_, owner_};
  exec::FakeStrands strands_{loop_};
  bus::FakeBus bus_{network_, "config-source", loop_};
  DesiredStore store_{
      {.env =
           {.clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = registry_},
       .records = std::make_shared<fs::RecordStore>(
           files_, clock_, fs::RecordStore::Options{.directory = "/records"}),
       .table = *bus::Own<v1::DesiredRecord>(bus_, "desired"),
       .metrics = metrics_},
      [](const std::string&) {}};
};

/// "app.v1" is no key of a table, so a hash names its file and its record.
INSTANTIATE_TEST_SUITE_P(OfAUid, StoreTest, testing::Values("fixed", "app.v1"),
                         [](const auto& info) { return info.index == 0 ? "Key" : "NoKey"; });

TEST_P(StoreTest, AWantedPodWithABrokenFileIsKnownByItsKey) {
  const std::string uid = GetParam();
  const RecordKey key = RecordKey::OfUid(uid);
  ASSERT_TRUE(files_.MakeDirs("/records", 0755).ok());
  ASSERT_TRUE(files_.Replace("/records/" + key.name(), "garbage", {}).ok());
  Run([&] { store_.Load([] {}); });
  ASSERT_EQ(store_.Broken(), std::vector<RecordKey>{key});
  EXPECT_TRUE(store_.IsUnknown(uid));
  Status aside = OkStatus();
  Run([&] {
    store_.Set(uid,
               {.name = "web", .incarnation = 1, .pod = std::make_shared<const std::string>()});
    store_.PutAside(key, [&aside](const auto& path) { aside = path.status(); });
    EXPECT_TRUE(store_.Broken().empty()) << "a source wants the pod";
  });
  EXPECT_EQ(aside.code(), StatusCode::kUnavailable) << "the save in flight replaces the file";
  EXPECT_TRUE(store_.IsPut(uid));
  EXPECT_TRUE(store_.unreadable().empty());
  EXPECT_FALSE(files_.List("/records-discarded").ok());
  EXPECT_GT(files_.Read("/records/" + key.name(), 1000).value_or("").size(), 10u);
}

}  // namespace
}  // namespace splitlet::config_source
