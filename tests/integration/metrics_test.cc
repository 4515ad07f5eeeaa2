// Names, kinds and labels of all metrics equal the lists in tests/integration/metrics/, so that no
// dashboard breaks unnoticed. tests/README.md explains how to regenerate the lists.

#include <cstdlib>
#include <set>
#include <sstream>

#include "libs/base/processes.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

using Shapes = std::set<std::string>;  // "splitlet_bus_lists_total counter kind,table"

/// Label names of `name{a="x",le="1"} 2`, without those of buckets and quantiles, which the kind
/// implies.
std::string LabelsOf(const std::string& sample) {
  std::set<std::string> labels;
  size_t at = sample.find('{');
  while (at != std::string::npos && sample[at] != '}') {
    const size_t equals = sample.find("=\"", ++at);
    if (equals == std::string::npos) break;
    const std::string label = sample.substr(at, equals - at);
    if (label != "le" && label != "quantile") labels.insert(label);
    at = equals + 2;
    while (at < sample.size() && sample[at] != '"') at += sample[at] == '\\' ? 2 : 1;
    ++at;  // at ',' or '}'
    if (at >= sample.size()) break;
  }
  std::string joined;
  for (const auto& label : labels) joined += (joined.empty() ? "" : ",") + label;
  return joined;
}

/// Parses Prometheus' text format, where the samples of a family follow its TYPE line.
Shapes ShapesOf(const std::string& text) {
  Shapes shapes;
  std::istringstream in(text);
  std::string family, kind;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line.substr(7));
      words >> family >> kind;
    } else if (!family.empty() && line.starts_with(family)) {
      const std::string labels = LabelsOf(line);
      shapes.insert(family + " " + kind + (labels.empty() ? "" : " " + labels));
    }
  }
  return shapes;
}

/// A line that begins with "? " is optional, because it counts a rare event.
struct MetricList {
  Shapes always, sometimes;
};

std::string ListPath(const std::string& process) {
  return harness::SourceDir() + "/tests/integration/metrics/" + process + ".txt";
}

MetricList ReadList(const std::string& process) {
  MetricList list;
  std::istringstream in(harness::ReadFile(ListPath(process)));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("? ")) {
      list.sometimes.insert(line.substr(2));
    } else if (!line.empty()) {
      list.always.insert(line);
    }
  }
  return list;
}

/// The metrics found; those marked "?" keep the mark.
void WriteList(const std::string& process, const Shapes& seen) {
  const MetricList old = ReadList(process);
  Shapes all = seen;
  all.insert(old.sometimes.begin(), old.sometimes.end());
  std::string text;
  for (const auto& shape : all) text += (old.sometimes.contains(shape) ? "? " : "") + shape + "\n";
  harness::WriteFile(ListPath(process), text);
}

/// Lines "- gone" and "+ new"; empty without a difference.
std::string DiffOf(const MetricList& list, const Shapes& seen) {
  std::string diff;
  for (const auto& shape : list.always)
    if (!seen.contains(shape)) diff += "  - " + shape + "\n";
  for (const auto& shape : seen)
    if (!list.always.contains(shape) && !list.sometimes.contains(shape))
      diff += "  + " + shape + "\n";
  return diff;
}

TEST(MetricShapes, OfTheTextFormat) {
  EXPECT_EQ(ShapesOf("# HELP a_total x\n# TYPE a_total counter\na_total{b=\"1, \\\"}\",a=\"\"} 2\n"
                     "# TYPE h histogram\nh_bucket{t=\"x\",le=\"+Inf\"} 1\nh_count{t=\"x\"} 1\n"
                     "# TYPE g gauge\ng 1\n"),
            (Shapes{"a_total counter a,b", "h histogram t", "g gauge"}));
}

TEST(MetricShapes, ADifferenceNamesWhatIsGoneAndWhatIsNew) {
  const MetricList list{{"a gauge", "b gauge"}, {"c counter"}};
  EXPECT_EQ(DiffOf(list, {"a gauge", "b gauge"}), "");
  EXPECT_EQ(DiffOf(list, {"a gauge", "b gauge x", "c counter"}), "  - b gauge\n  + b gauge x\n");
}

class Metrics : public IntegrationTest {
 protected:
  Shapes Scrape(const std::string& process) {
    return ShapesOf(node_->HttpGet(process, "/metrics"));
  }
  /// Some families have their first sample only after a while.
  Shapes SeenFor(Duration time, const std::string& process) {
    Shapes seen;
    WaitFor(time, [&] {
      seen.merge(Scrape(process));
      return false;
    });
    return seen;
  }
};

TEST_F(Metrics, AreThoseOfTheListsAfterThePodsLifeOfANode) {
  StartNode();
  fake_cri::Control control(control_);
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  node_->PutManifest("stays.yaml", PodYaml("stays", "sleep 1000"));
  ExpectExactly({"web", "stays"});
  ASSERT_TRUE(control.ExitContainer("web", "app", 1).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") == 1 && node_->IsRunning("web"); }));
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  const auto report = node_->RunGc(false);
  ASSERT_TRUE(report.ok()) << report.status();
  const bool update = std::getenv("SPLITLET_UPDATE_METRICS") != nullptr;
  for (const auto& process : ProcessNames()) {
    if (update) WriteList(process, SeenFor(5s, process));
    const MetricList list = ReadList(process);
    std::string diff;
    const bool same =
        WaitFor(kSoon, [&] { return (diff = DiffOf(list, Scrape(process))).empty(); });
    EXPECT_TRUE(same) << process << " differs from " << ListPath(process) << ":\n"
                      << diff << "If dashboards may break: SPLITLET_UPDATE_METRICS=1 and again.";
  }
}

}  // namespace
}  // namespace splitlet::integration
