#include "services/pod-worker/sync/resync_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Calls the test for each pod that is due; the rest of the loop is not asked for here.
class DuePods final : public PodAdvancer {
 public:
  using OnDue =
      std::function<void(const std::string& uid, std::shared_ptr<const cri::PodListing> listing)>;
  explicit DuePods(OnDue on_due) : on_due_(std::move(on_due)) {}
  void Advance(const std::string& uid) override { on_due_(uid, nullptr); }
  void AdvanceAfter(const std::string&, Duration) override {}
  void AdvanceWith(const std::string& uid,
                   std::shared_ptr<const cri::PodListing> listing) override {
    on_due_(uid, std::move(listing));
  }
  void OnPodChanged(const std::string&) override {}
  void OnStepEnded(Worker&, bool) override {}
  void OnSeen(Worker&, const v1::ObservedPod&) override {}
  void OnRuntimeAnswer(const std::string&) override {}
  bool IsHeld(const std::string&) const override { return false; }

 private:
  OnDue on_due_;
};

class Looks : public testing::Test {
 protected:
  void SetUp() override {
    runtime_.AddImage("busybox");
    for (const char* uid : {"a", "b", "c"}) {
      const cri::TestPod pod{.name = uid, .uid = uid};
      const Deadline soon = After(clock_, 120s);
      const auto sandbox = runtime_.RunPodSandbox(pod.Config(), "", soon);
      ASSERT_TRUE(sandbox.ok());
      ASSERT_TRUE(
          runtime_.CreateContainer(*sandbox, pod.ContainerConfig("app", 0), pod.Config(), soon)
              .ok());
    }
  }
  size_t Listings() const {
    return runtime_.Calls("ListPodSandbox") + runtime_.Calls("ListContainers");
  }
  /// "a 1 1": the sandboxes and containers that its listing shows; "a": it had none.
  std::vector<std::string> TakeSeen() { return std::exchange(seen_, {}); }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  std::function<void(std::string_view method)> on_call_ = [](std::string_view) {};
  cri::FakeRuntime runtime_{clock_,
                            {.intercept = [this](std::string_view method, const std::string&) {
                              on_call_(method);
                              return OkStatus();
                            }}};
  cri::Observer observer_{{runtime_, clock_, nullptr}};
  Random random_{1};
  std::vector<std::string> seen_;
  std::vector<Clock::Time> listed_at_;
  std::function<void(const std::string& uid)> on_look_ = [](const std::string&) {};
  DuePods pods_{[this](const std::string& uid, const auto& listing) {
    seen_.push_back(listing == nullptr ? uid
                                       : fmt::format("{} {} {}", uid, listing->sandboxes.size(),
                                                     listing->containers.size()));
    if (listing != nullptr) listed_at_.push_back(listing->listed_at);
    on_look_(uid);
  }};
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  ResyncTimer resyncs_{
      {.env =
           {.clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = registry_},
       .observer = observer_,
       .random = random_,
       .request_timeout = 120s,
       .period = 60s,
       .pods = pods_}};
};

TEST_F(Looks, ThoseThatAreWantedTogetherShareAListing) {
  for (const char* uid : {"a", "b", "gone"}) resyncs_.AddNow(uid);
  loop_.RunUntilIdle();
  EXPECT_THAT(TakeSeen(), ElementsAre("a 1 1", "b 1 1", "gone 0 0"));
  EXPECT_EQ(Listings(), 2u);
}

TEST_F(Looks, OneAloneListsItsPodByItself) {
  resyncs_.AddNow("a");
  loop_.RunUntilIdle();
  EXPECT_THAT(TakeSeen(), ElementsAre("a"));
  EXPECT_EQ(Listings(), 0u);
}

TEST_F(Looks, AListingBeginsAfterTheLookWasAskedFor) {
  Clock::Time asked;
  on_call_ = [&](std::string_view method) {
    if (method != "ListPodSandbox" || asked) return;
    clock_.Advance(1s);
    asked = clock_.Now();
    loop_.Post([&] {
      resyncs_.AddNow("b");
      resyncs_.AddNow("c");
    });
  };
  resyncs_.AddNow("a");
  resyncs_.AddNow("b");
  loop_.RunUntilIdle();
  EXPECT_THAT(TakeSeen(), ElementsAre("a 1 1", "b 1 1", "c 1 1"));
  ASSERT_EQ(listed_at_.size(), 3u);
  EXPECT_LT(listed_at_[0], asked);
  EXPECT_GE(listed_at_[1], asked);
  EXPECT_GE(listed_at_[2], asked);
  EXPECT_EQ(Listings(), 4u);
}

TEST_F(Looks, AListingSaysNothingOfAPodThatWasLookedAtMeanwhile) {
  resyncs_.AddNow("a");
  resyncs_.AddNow("b");
  resyncs_.AddNow("c");
  on_look_ = [this](const std::string& uid) {
    if (uid == "a") resyncs_.Forget("b");
  };
  loop_.RunUntilIdle();
  EXPECT_THAT(TakeSeen(), ElementsAre("a 1 1", "c 1 1"));
}

TEST_F(Looks, AfterAListingThatFailedEachPodIsListedByItself) {
  runtime_.AddFault({.method = "ListContainers", .times = 1});
  resyncs_.AddNow("a");
  resyncs_.AddNow("b");
  loop_.RunUntilIdle();
  EXPECT_THAT(TakeSeen(), ElementsAre("a", "b"));
}

TEST_F(Looks, ComeInAFewBatchesAndEachPodOnceInItsPeriod) {
  constexpr int kPods = 300;
  std::map<std::string, std::vector<Clock::Time>> looks;
  on_look_ = [&](const std::string& uid) {
    looks[uid].push_back(clock_.Now());
    resyncs_.Add(uid);
  };
  for (int i = 0; i < kPods; ++i) resyncs_.Add(fmt::format("pod-{}", i));
  loop_.Advance(600s);
  EXPECT_EQ(looks.size(), static_cast<size_t>(kPods));
  for (const auto& [uid, times] : looks) {
    ASSERT_GE(times.size(), 6u) << uid;
    for (size_t i = 1; i < times.size(); ++i) {
      EXPECT_GE(times[i] - times[i - 1], 60s) << uid;
      EXPECT_LE(times[i] - times[i - 1], 90s) << uid;
    }
  }
  EXPECT_LE(Listings(), 2u * 60);
}

TEST_F(Looks, AForgottenOneIsNotDue) {
  resyncs_.Add("a");
  resyncs_.Add("b");
  resyncs_.Forget("a");
  loop_.Advance(100s);
  EXPECT_THAT(TakeSeen(), ElementsAre("b"));
  resyncs_.AddNow("a");
  resyncs_.Forget("a");
  loop_.Advance(100s);
  EXPECT_THAT(TakeSeen(), IsEmpty());
}

TEST(NextBatch, IsTheEndOfASixthOfThePeriod) {
  const struct {
    const char* name;
    Duration now, wait, want;
  } kCases[] = {
      {"within a sixth: its end", 1003s, 60s, 1070s},
      {"at an end: there", 1000s, 60s, 1060s},
      {"a moment later: the next end", 1000s, 60s + 1ns, 1070s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(NextBatch({1, c.now}, c.wait, 60s).monotonic, c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
