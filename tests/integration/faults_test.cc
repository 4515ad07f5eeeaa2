// Runtime calls that fail, are slow or lose their answer; lost messages of the bus; and a disk with
// errors. Afterwards each pod exists once, and its restarts are real exits.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

constexpr auto kAfterFaults = 240s;  // back-offs of 10, 20 and 40 s, on a loaded machine

std::string ImageOf(const std::string& pod) { return fmt::format("splitlet.local/{}:1", pod); }

/// With its own image, so that each pod pulls, and with a grace period that leaves time for failed
/// stops; afterwards the sandbox is stopped with its containers.
std::string YamlOfFaultedPod(const std::string& pod) {
  std::string yaml = PodYaml(pod, "sleep 1000");
  const std::string grace = "terminationGracePeriodSeconds: 2";
  yaml.replace(yaml.find(grace), grace.size(), "terminationGracePeriodSeconds: 60");
  const std::string image = "splitlet.local/busybox:1";
  return yaml.replace(yaml.find(image), image.size(), ImageOf(pod));
}

struct FaultedCall {
  std::string pod, method, term;
};

/// One pod for each mutating call and each kind of failure.
std::vector<FaultedCall> EachCallEachWay() {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"error", "3*error UNAVAILABLE"}, {"slow", "3*delay 2s"}, {"lost", "3*lose UNAVAILABLE"}};
  std::vector<FaultedCall> calls;
  for (const std::string method :
       {"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer",
        "StopContainer", "RemoveContainer", "PullImage"}) {
    std::string lower = method;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return static_cast<char>(std::tolower(c)); });
    for (const auto& [way, term] : ways)
      calls.push_back({fmt::format("{}-{}", lower, way), method, term});
  }
  return calls;
}

class Faults : public IntegrationTest {
 protected:
  /// Like ExpectExactly, but waits longer; also checks the restart count of each pod's container.
  void ExpectEachOnce(const std::vector<std::string>& pods, int restarts) {
    std::string odd;
    const auto settled = [&] {
      odd.clear();
      for (const auto& pod : pods) {
        const int seen = RestartsOf(pod);
        if (!node_->IsRunning(pod) || seen != restarts) odd += fmt::format("{}#{} ", pod, seen);
      }
      return odd.empty();
    };
    ASSERT_TRUE(WaitFor(kAfterFaults, settled))
        << "not running with restart count " << restarts << ": " << odd;
    ExpectExactly(pods);
  }
  /// All pods' containers exit now.
  void ExitAll(const std::vector<std::string>& pods) {
    fake_cri::Control control(control_);
    for (const auto& pod : pods) ASSERT_TRUE(control.ExitContainer(pod, "app", 1).ok()) << pod;
  }
  void ExpectNoViolation() {
    const auto list = fake_cri::Control(control_).List();
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_NE(list->find("\"violations\":[]"), std::string::npos)
        << list->substr(list->find("\"violations\""));
  }
  /// Pods start, exit, and are removed.
  void IncarnationsOfPods() {
    const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
    for (const auto& name : names) node_->PutManifest(name + ".yaml", PodYaml(name, "sleep 1000"));
    ASSERT_NO_FATAL_FAILURE(ExpectEachOnce(names, 0));
    ASSERT_NO_FATAL_FAILURE(ExitAll(names));
    ASSERT_NO_FATAL_FAILURE(ExpectEachOnce(names, 1));
    for (const auto& name : {"a", "b", "c"}) node_->RemoveManifest(std::string(name) + ".yaml");
    node_->PutManifest("f.yaml", PodYaml("f", "sleep 1000"));
    ASSERT_TRUE(WaitFor(kAfterFaults, [&] { return view_->Running().size() == 3; }))
        << view_->Describe();
    ExpectExactly({"d", "e", "f"});
    ExpectNoViolation();
  }
};

TEST_F(Faults, EachCallThatFailsOrIsSlowOrLosesItsAnswerLeavesEachPodOnce) {
  StartNode();
  fake_cri::Control control(control_);
  const auto calls = EachCallEachWay();
  const auto set_faults = [&] {
    for (const auto& call : calls)
      ASSERT_TRUE(control.Fault(call.method, call.pod, call.term).ok()) << call.pod;
  };
  std::vector<std::string> pods;
  for (const auto& call : calls) pods.push_back(call.pod);

  set_faults();
  for (const auto& pod : pods) node_->PutManifest(pod + ".yaml", YamlOfFaultedPod(pod));
  ASSERT_NO_FATAL_FAILURE(ExpectEachOnce(pods, 0));
  set_faults();
  ASSERT_NO_FATAL_FAILURE(ExitAll(pods));
  ASSERT_NO_FATAL_FAILURE(ExpectEachOnce(pods, 1));
  set_faults();
  for (const auto& pod : pods) node_->RemoveManifest(pod + ".yaml");
  ASSERT_TRUE(WaitFor(kAfterFaults, [&] {
    return view_->Running().empty() && view_->ReadySandboxes().empty() && node_->Pods().empty();
  })) << view_->Describe();
  EXPECT_TRUE(WaitFor(kAfterFaults, [&] {
    node_->RunGc(false).status().IgnoreError();  // the next run removes what this one could not
    return view_->Sandboxes().empty() && view_->Containers().empty();
  })) << view_->Describe();
  ExpectNoViolation();
  for (const auto& call : calls) {
    const auto count = control.Send("calls " + call.method);
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_GE(std::stoul(*count), pods.size() + 3) << call.method << " never failed";
  }
}

TEST_F(Faults, AThirdOfAllMessagesLostDelaysPodsAndNothingElse) {
  StartNode();
  for (const char* process : {"config-source", "sync-loop", "pod-worker", "pleg"})
    for (const char* point : {"bus.publish.before", "bus.signal.before"})
      ASSERT_TRUE(node_->SetFault(process, point, "33%drop").ok());
  IncarnationsOfPods();
}

TEST_F(Faults, AFifthOfAllMessagesLateDelaysPodsAndNothingElse) {
  StartNode();
  for (const char* process : {"config-source", "sync-loop", "pod-worker", "pleg"})
    for (const char* point : {"bus.publish.before", "bus.signal.before"})
      ASSERT_TRUE(node_->SetFault(process, point, "20%delay(700ms)").ok());
  IncarnationsOfPods();
}

class SilentProcess : public Faults, public testing::WithParamInterface<const char*> {};

TEST_P(SilentProcess, WhoseMessagesAreAllLostIsStillHeardByLists) {
  StartNode();
  for (const char* point : {"bus.publish.before", "bus.signal.before"})
    ASSERT_TRUE(node_->SetFault(GetParam(), point, "drop").ok());
  IncarnationsOfPods();
}

INSTANTIATE_TEST_SUITE_P(Bus, SilentProcess,
                         testing::Values("config-source", "sync-loop", "pod-worker", "pleg"),
                         [](const auto& param) { return harness::Identifier(param.param); });

TEST_F(Faults, PodWorkerWhoseDiskRefusesStartsNothingAndGoesOnWhenItIsHealed) {
  StartNode();
  node_->PutManifest("old.yaml", PodYaml("old", "sleep 1000"));
  ExpectExactly({"old"});
  const auto before = view_->RunningOf("old").at(0).id;
  ASSERT_TRUE(
      node_->SetFault("pod-worker", "fs.save-fact.before", "return(unavailable,disk full)").ok());
  node_->PutManifest("new.yaml", PodYaml("new", "sleep 1000"));
  EXPECT_TRUE(harness::HoldsFor(
      8s, [&] { return view_->RunningOf("new").empty() && view_->RunningOf("old").size() == 1; }));
  EXPECT_EQ(node_->keeper().RestartsOf("pod-worker"), 0);
  ASSERT_TRUE(node_->SetFault("pod-worker", "fs.save-fact.before", "off").ok());
  ASSERT_NO_FATAL_FAILURE(ExpectEachOnce({"new", "old"}, 0));
  EXPECT_EQ(view_->RunningOf("old").at(0).id, before);
}

// Damages a file under a running pod: the pod keeps running, other pods are served, and root can
// repair it.

constexpr const char* kGarbage = "not what was written";

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Case {
  const char* process;
  const char* store;  // folder under the node's directory
  bool unknown;       // until then nothing is done for the pod
};

class Unreadable : public IntegrationTest, public testing::WithParamInterface<Case> {
 protected:
  std::string FileOf(const std::string& uid) const {
    return fmt::format("{}/{}/{}", node_->dir(), GetParam().store, uid);
  }
  void Damage(const std::string& uid) const {
    ASSERT_TRUE(std::filesystem::exists(FileOf(uid))) << FileOf(uid);
    std::ofstream(FileOf(uid)) << kGarbage;
  }
  bool IsNoted(const std::string& uid) const {
    return node_->Ctl({"get", "processes"}).output.find("record discard " + uid) !=
           std::string::npos;
  }
};

TEST_P(Unreadable, ItsPodStaysAsItIsUntilRootDiscardsTheFileAndGoesOnUnharmed) {
  StartNode();
  for (const char* name : {"a", "b"})
    node_->PutManifest(std::string(name) + ".yaml", PodYaml(name, "sleep 1000"));
  ExpectExactly({"a", "b"});
  const auto before = view_->RunningOf("a").at(0).id;
  const std::string uid = node_->Pod("a")->uid;
  Damage(uid);
  node_->KillAndAwait(GetParam().process);
  ASSERT_TRUE(WaitFor(kSoon, [&] { return IsNoted(uid); })) << node_->Ctl({"doctor"}).output;
  EXPECT_NE(node_->Ctl({"doctor"}).output.find("record discard " + uid), std::string::npos);

  node_->PutManifest("c.yaml", PodYaml("c", "sleep 1000"));
  node_->RemoveManifest("b.yaml");
  ExpectExactly({"a", "c"});
  EXPECT_EQ(ContentOf(FileOf(uid)), kGarbage);
  EXPECT_EQ(view_->RunningOf("a").at(0).id, before);
  if (GetParam().unknown) {
    EXPECT_EQ(node_->Table<v1::WorkerRecord>("workers")[uid].state(), v1::WORKER_STATE_UNSPECIFIED);
  }

  const auto discard = node_->Ctl({"record", "discard", uid});
  EXPECT_EQ(discard.exit_code, 0) << discard.output;
  const std::string aside = fmt::format("{}/{}-discarded/{}", node_->dir(), GetParam().store, uid);
  EXPECT_NE(discard.output.find(aside), std::string::npos) << discard.output;
  EXPECT_EQ(ContentOf(aside), kGarbage);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return !IsNoted(uid); }));
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto worker = node_->Table<v1::WorkerRecord>("workers")[uid];
    return worker.state() == v1::SYNCING && worker.granted();
  })) << node_->LogTails();
  ExpectExactly({"a", "c"});
  EXPECT_EQ(view_->RunningOf("a").at(0).id, before);
  EXPECT_EQ(RestartsOf("a"), 0);
  node_->RemoveManifest("a.yaml");
  ExpectGone("a");
  EXPECT_NE(node_->Ctl({"record", "discard", uid}).exit_code, 0) << "all can be read";
}

INSTANTIATE_TEST_SUITE_P(Of, Unreadable,
                         testing::Values(Case{"pod-worker", "run/pod-worker/workers", true},
                                         Case{"pod-worker", "state/pod-worker/pods", true},
                                         Case{"sync-loop", "run/sync-loop/admission", false}),
                         [](const auto& test) {
                           std::string name = test.param.store;
                           std::erase_if(name, [](char c) { return c == '/' || c == '-'; });
                           return name;
                         });

}  // namespace
}  // namespace splitlet::integration
