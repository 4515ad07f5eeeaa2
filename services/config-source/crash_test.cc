#include <fmt/ranges.h>

#include <set>

#include "services/config-source/config_source_fixture.h"

/// Killed at each of its fail points, at each time it passes them, config-source ends in the same
/// state as one that was never killed, and shows its readers nothing in between that would harm a
/// pod.

namespace splitlet::config_source {
namespace {

class Crashes : public TestNode {
 public:
  Crashes() {
    config.static_pod_url = "http://host/pods";
    fetcher.AnswerBody(Manifest("remote"));
    FailPoints::SetCurrent(&points_);
    all.SetAfterStep([this](const auto& step, bool crashed) {
      if (crashed && process != nullptr && step.owner == process->owner) died_ = true;
    });
    desired.OnChange([this](const auto& change) { Check(change); });
  }
  ~Crashes() { FailPoints::SetCurrent(nullptr); }

  /// The process dies where it passes `point` for the nth time.
  void CrashAt(const std::string& point, int n) {
    const std::string term =
        n == 1 ? "1*crash->off" : fmt::format("{}*delay(1ms)->1*crash->off", n - 1);
    ASSERT_TRUE(points_.Set(point, term).ok());
  }
  /// As RunFor, with a supervisor that starts a dead process again.
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
  /// The work of a node: pods are added, changed, broken, removed and added again; workers follow.
  void Live() {
    Write("/state/config-source/broken", "garbage");
    Write("/m/a.yaml", Manifest("a"));
    Write("/m/fixed.yaml", Manifest("fixed", "nginx:1", "uid-fixed"));
    Write("/m/gone.yaml", Manifest("gone"));
    Start();
    RunSupervised(5s);
    Follow();
    Write("/m/fixed.yaml", Manifest("fixed", "nginx:2", "uid-fixed"));
    Write("/m/a.yaml", "half");
    Delete("/m/gone.yaml");
    RunSupervised(5s);
    Follow();
    RunSupervised(5s);
    Write("/m/gone.yaml", Manifest("gone"));
    fetcher.AnswerBody("");
    RunSupervised(80s);            // killed between them, it needs two more empty answers
    for (int i = 0; i < 6; ++i) {  // killed while it forgets, it must hear it once more
      Follow();
      RunSupervised(3s);
      TakeBack();
      RunSupervised(3s);
    }
  }
  /// Names with state, image and problem: what must be the same whatever died.
  std::string State() {
    std::vector<std::string> lines;
    desired.ForEach([&](const std::string& key, const auto& record) {
      kube::Pod pod;
      EXPECT_TRUE(pod.ParseFromString(record->pod()));
      lines.push_back(fmt::format("{} {} {} {} {}", key, record->name(),
                                  static_cast<int>(record->state()),
                                  pod.spec().containers(0).image(), record->problem()));
    });
    std::sort(lines.begin(), lines.end());
    return fmt::format("{}\ncomplete: {}\nfacts: {}\ndiscarded: {}", fmt::join(lines, "\n"),
                       fmt::join(desired.completeness().scopes, " "), Count("/state/config-source"),
                       Count("/state/config-source-discarded"));
  }
  const std::vector<std::string>& harm() const { return harm_; }
  FailPoints& points() { return points_; }

  int deaths = 0;

 private:
  size_t Count(const std::string& directory) {
    const auto entries = files.List(directory);
    return entries.ok() ? entries->size() : 0;
  }
  /// Workers run what is wanted and finish what is removed, which had ended well before.
  void Follow() {
    std::vector<v1::DesiredRecord> records;
    desired.ForEach([&](const std::string&, const auto& record) { records.push_back(*record); });
    for (const auto& record : records) {
      if (record.state() == v1::DesiredRecord::REMOVED)
        PutWorker(record, v1::FINISHED, "Succeeded");
      else
        PutWorker(record, v1::SYNCING);
      followed_.insert(record.uid());
    }
  }
  /// pod-worker removes its records of pods that no source wants any more.
  void TakeBack() {
    for (const auto& uid : followed_)
      if (!desired.Contains(bus::KeyOf(uid))) workers.Remove(bus::KeyOf(uid));
  }
  void Check(const bus::View<v1::DesiredRecord>::Change& change) {
    if (change.after == nullptr) return;
    const auto& now = *change.after;
    auto& [incarnation, generation, removed] = last_[change.key];
    if (now.incarnation() < incarnation || now.generation() < generation)
      harm_.push_back(change.key + " went back in time");
    if (now.incarnation() == incarnation && removed && now.state() != v1::DesiredRecord::REMOVED)
      harm_.push_back(change.key + " is wanted again in a finished incarnation");
    incarnation = now.incarnation();
    generation = now.generation();
    removed = now.state() == v1::DesiredRecord::REMOVED;
  }
  struct Seen {
    int64_t incarnation = 0, generation = 0;
    bool removed = false;
  };
  FailPoints points_{FailPoints::Actions{.crash = [] { throw exec::Scheduler::CrashedHere{}; },
                                         .delay = [](int64_t) {}}};
  std::map<std::string, Seen> last_;
  std::set<std::string> followed_;  // UIDs
  std::vector<std::string> harm_;
  bool died_ = false;
};

std::vector<std::string> PointsHere() {
  std::vector<std::string> names;
  for (const auto& info : FailPoints().List()) {
    const bool ours = info.name.starts_with("config-source.") || info.name.starts_with("fs.save") ||
                      info.name.starts_with("fs.forget") || info.name.starts_with("fs.put-fact");
    if (ours) names.push_back(info.name);
  }
  return names;
}

TEST(ConfigSourceCrash, AtEveryFailPointEndsAsIfNothingHadHappened) {
  Crashes never;
  never.Live();
  ASSERT_EQ(never.deaths, 0);
  ASSERT_TRUE(never.harm().empty());
  const std::string want = never.State();
  ASSERT_NE(want.find("nginx:2"), std::string::npos) << want;
  ASSERT_NE(want.find("discarded: 1"), std::string::npos) << want;
  const auto points = PointsHere();
  EXPECT_GE(points.size(), 14u);
  std::set<std::string> hit;
  for (const auto& point : points) {
    for (const int n : {1, 2, 3, 5, 8}) {
      SCOPED_TRACE(fmt::format("killed at {}, pass {}", point, n));
      Crashes node;
      node.CrashAt(point, n);
      node.Live();
      if (node.deaths > 0) hit.insert(point);
      EXPECT_EQ(node.State(), want);
      EXPECT_TRUE(node.harm().empty()) << node.harm().front();
    }
  }
  EXPECT_EQ(hit.size(), points.size());
}

TEST(ConfigSourceCrash, AgainAndAgainStillEndsWell) {
  Crashes never;
  never.Live();
  for (const auto& point : PointsHere()) {
    SCOPED_TRACE(point);
    Crashes node;
    ASSERT_TRUE(node.points().Set(point, "4*crash->off").ok());
    node.Live();
    EXPECT_GE(node.deaths, 1);
    EXPECT_EQ(node.State(), never.State());
    EXPECT_TRUE(node.harm().empty()) << node.harm().front();
  }
}

TEST(ConfigSourceCrash, CallsThatFailAreTriedAgain) {
  Crashes never;
  never.Live();
  for (const auto& point :
       {"config-source.read-facts", "config-source.save-fact.before",
        "config-source.save-fact.after", "config-source.forget-fact.before",
        "config-source.forget-fact.after", "config-source.discard-record.before",
        "config-source.discard-record.after", "config-source.list-manifests",
        "config-source.read-manifest", "config-source.fetch.before"}) {
    SCOPED_TRACE(point);
    Crashes node;
    ASSERT_TRUE(node.points().Set(point, "3*return(unavailable,busy)->off").ok());
    node.Live();
    EXPECT_EQ(node.State(), never.State());
    EXPECT_TRUE(node.harm().empty()) << node.harm().front();
  }
}

}  // namespace
}  // namespace splitlet::config_source
