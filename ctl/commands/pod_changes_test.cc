#include "ctl/commands/pod_changes.h"

#include <gtest/gtest.h>

#include "ctl/test_time.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::ctl {
namespace {

operate::PodView PhaseOf(const std::string& name, const std::string& phase) {
  operate::PodView view{.uid = "uid-" + name, .name = name, .name_space = "default"};
  view.pod = std::make_shared<kube::Pod>();
  view.pod->mutable_metadata()->set_name(name);
  view.pod->mutable_spec()->add_containers()->set_name("a");
  view.pod->mutable_status()->set_phase(phase);
  view.has_status = true;
  view.seen_at_wall_ns = ToNanos(kNow - 5min);
  return view;
}

TEST(PodChanges, RowsOfWhatChangedUnderOneHeader) {
  PodChanges changes({});
  EXPECT_EQ(changes.Take({PhaseOf("web", "Pending")}, kNow),
            "NAME   READY   STATUS    RESTARTS   AGE\n"
            "web    0/1     Pending   0          5m\n");
  EXPECT_EQ(changes.Take({PhaseOf("web", "Pending")}, kNow + 1h), "") << "it is older, that is all";
  EXPECT_EQ(changes.Take({PhaseOf("web", "Running"), PhaseOf("db", "Pending")}, kNow),
            "web    0/1     Running   0          5m\n"
            "db     0/1     Pending   0          5m\n");
  EXPECT_EQ(changes.Take({PhaseOf("db", "Pending")}, kNow), "");
  EXPECT_EQ(changes.Take({PhaseOf("db", "Pending"), PhaseOf("web", "Running")}, kNow),
            "web    0/1     Running   0          5m\n")
      << "it came back";
}

TEST(PodChanges, ObjectsWhereObjectsAreAskedFor) {
  const operate::PodView pending = PhaseOf("web", "Pending"), running = PhaseOf("web", "Running");
  PodChanges json({.output = "json"});
  EXPECT_EQ(json.Take({pending}, kNow), PodJson(pending));
  EXPECT_EQ(json.Take({pending}, kNow), "");
  EXPECT_EQ(json.Take({running}, kNow), PodJson(running));
  const operate::PodView changed = PhaseOf("web", "Running");
  changed.pod->mutable_status()->set_message("why");
  EXPECT_EQ(json.Take({changed}, kNow), PodJson(changed)) << "what no column shows changed";
  PodChanges yaml({.output = "yaml"});
  EXPECT_EQ(yaml.Take({pending, running}, kNow),
            "---\n" + PodYaml(pending) + "---\n" + PodYaml(running));
  PodChanges names({.output = "name"});
  EXPECT_EQ(names.Take({pending}, kNow), "pod/web\n");
  EXPECT_EQ(names.Take({running}, kNow), "");
  EXPECT_EQ(PodChanges({.output = "json"}).Take({}, kNow), "");
}

}  // namespace
}  // namespace splitlet::ctl
