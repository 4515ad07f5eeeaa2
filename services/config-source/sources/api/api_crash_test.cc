#include <gtest/gtest.h>

#include <set>

#include "services/config-source/sources/api/api_fixture.h"

/// Killed at each of its fail points while pods of an API server come, change and go, config-source
/// ends in the same state as one that was never killed, and never shows what was over as wanted.

namespace splitlet::config_source {
namespace {

class ApiCrashes : public ApiNode {
 public:
  ApiCrashes() {
    FailPoints::SetCurrent(&points_);
    all.SetAfterStep([this](const auto& step, bool crashed) {
      if (crashed && process != nullptr && step.owner == process->owner) died_ = true;
    });
    desired.OnChange([this](const auto& change) { Check(change); });
  }
  ~ApiCrashes() { FailPoints::SetCurrent(nullptr); }

  void CrashAt(const std::string& point, int n) {
    const std::string term =
        n == 1 ? "1*crash->off" : fmt::format("{}*delay(1ms)->1*crash->off", n - 1);
    ASSERT_TRUE(points_.Set(point, term).ok());
  }
  void Live() {
    PutNode();
    PutPod(ApiPod("a"));
    PutPod(ApiPod("gone"));
    kube::Pod mirror = ApiPod("static-node-a");
    (*mirror.mutable_metadata()->mutable_annotations())["kubernetes.io/config.mirror"] = "h";
    PutPod(mirror);
    Start();
    RunSupervised(5s);
    Follow();
    kube::Pod pod = AtServer("a");
    pod.mutable_status()->set_phase("Running");
    PutPod(pod);
    RunSupervised(3s);
    pod = AtServer("a");
    pod.mutable_spec()->mutable_containers(0)->set_image("nginx:2");
    PutPod(pod);
    server.Delete(PathOf("gone"));
    RunSupervised(3s);
    Follow();
    server.SetAway(true);
    RunSupervised(20s);
    server.Remove(PathOf("gone"));
    PutPod(ApiPod("late"));
    server.SetAway(false);
    RunSupervised(60s);
    for (int i = 0; i < 3; ++i) {
      Follow();
      RunSupervised(3s);
    }
    server.Remove(PathOf("static-node-a"));
    RunSupervised(20s);
  }
  std::string State() const {
    std::vector<std::string> lines;
    desired.ForEach([&](const std::string&, const auto& record) {
      const kube::Pod pod = PodIn(*record);
      lines.push_back(fmt::format("{} {} {} {}", record->name(), static_cast<int>(record->state()),
                                  pod.spec().containers(0).image(), pod.status().phase()));
    });
    std::sort(lines.begin(), lines.end());
    return fmt::format("{}\ncomplete: {}", fmt::join(lines, "\n"),
                       fmt::join(desired.completeness().scopes, " "));
  }
  const std::vector<std::string>& harm() const { return harm_; }

  int deaths = 0;

 private:
  void RunSupervised(Duration duration) {
    for (Duration past{0}; past < duration; past += 10ms) {
      if (died_) {
        died_ = false;
        ++deaths;
        Kill();
        Start();
      }
      RunFor(10ms);
    }
  }
  void Follow() {
    std::vector<v1::DesiredRecord> records;
    desired.ForEach([&](const std::string&, const auto& record) { records.push_back(*record); });
    for (const auto& record : records) {
      if (record.state() == v1::DesiredRecord::MIRROR) continue;
      const bool over = record.state() == v1::DesiredRecord::REMOVED ||
                        PodIn(record).metadata().has_deletion_timestamp();
      PutWorker(record, over ? v1::FINISHED : v1::SYNCING);
    }
  }
  void Check(const bus::View<v1::DesiredRecord>::Change& change) {
    if (change.after == nullptr) return;
    const auto& now = *change.after;
    auto& last = last_[change.key];
    if (now.incarnation() < last.incarnation || now.generation() < last.generation)
      harm_.push_back(now.name() + " went back in time");
    if (last.removed && now.state() != v1::DesiredRecord::REMOVED)
      harm_.push_back(now.name() + " is wanted again");
    if (now.name() == "static-node-a" && now.state() != v1::DesiredRecord::MIRROR)
      harm_.push_back("a mirror pod is shown as one to run");
    last = {now.incarnation(), now.generation(), now.state() == v1::DesiredRecord::REMOVED};
  }
  struct Seen {
    int64_t incarnation = 0, generation = 0;
    bool removed = false;
  };
  FailPoints points_{FailPoints::Actions{.crash = [] { throw exec::Scheduler::CrashedHere{}; },
                                         .delay = [](int64_t) {}}};
  std::map<std::string, Seen> last_;
  std::vector<std::string> harm_;
  bool died_ = false;
};

TEST(ApiSourceCrash, AtEveryFailPointEndsAsIfNothingHadHappened) {
  std::string want;
  {
    ApiCrashes never;
    never.Live();
    ASSERT_EQ(never.deaths, 0);
    ASSERT_TRUE(never.harm().empty()) << never.harm().front();
    want = never.State();
  }
  ASSERT_NE(want.find("a 1 nginx:2 Running"), std::string::npos) << want;
  ASSERT_EQ(want.find("static-node-a"), std::string::npos) << want;
  int deaths = 0;
  for (const char* point : {"config-source.read-facts", "config-source.save-fact.before",
                            "config-source.save-fact.after", "config-source.put.before",
                            "config-source.put.after", "config-source.remove.before",
                            "config-source.remove.after", "config-source.complete.before"}) {
    for (const int n : {1, 2, 5}) {
      SCOPED_TRACE(fmt::format("killed at {}, pass {}", point, n));
      ApiCrashes node;
      node.CrashAt(point, n);
      node.Live();
      deaths += node.deaths;
      EXPECT_EQ(node.State(), want);
      EXPECT_TRUE(node.harm().empty()) << node.harm().front();
    }
  }
  EXPECT_GE(deaths, 15);
}

}  // namespace
}  // namespace splitlet::config_source
