#include "ctl/commands/run_once.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "ctl/commands/doctor.h"
#include "ctl/show/processes.h"
#include "ctl/show/trace.h"
#include "ctl/test_time.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/process_view.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

using Outcome = OnceResult::Outcome;

operate::PodView ViewOf(const std::string& status) {
  operate::PodView view{.uid = "u1", .name = "web", .name_space = "default", .source = "file"};
  view.pod = std::make_shared<kube::Pod>();
  const std::string text =
      R"({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}, "status": )" +
      status + "}";
  const auto decoded = kube::DecodeInto(text, "pod", kube::Strictness::kStrict, *view.pod);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  view.has_status = true;
  return view;
}

TEST(RunOnce, EachOutcomeOfAPod) {
  const struct {
    const char* name;
    const char* status;
    Outcome want;
    const char* text;
  } kCases[] = {
      {"nothing is known yet", "{}", Outcome::kWaiting, "no status yet"},
      {"one of two runs",
       R"({"phase": "Running", "containerStatuses": [{"name": "a", "state": {"running": {}}}, {"name": "b", "state": {"waiting": {"reason": "ErrImagePull"}}}]})",
       Outcome::kWaiting, "ErrImagePull"},
      {"both run",
       R"({"phase": "Running", "containerStatuses": [{"name": "a", "state": {"running": {}}}, {"name": "b", "state": {"running": {}}}]})",
       Outcome::kUp, "Running"},
      {"it has ended well", R"({"phase": "Succeeded"})", Outcome::kUp, "Succeeded"},
      {"it has failed", R"({"phase": "Failed", "reason": "DeadlineExceeded"})", Outcome::kFailed,
       "failed: DeadlineExceeded"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const OnceResult result = JudgeOnce(ViewOf(c.status), kNow);
    EXPECT_EQ(result.outcome, c.want);
    EXPECT_EQ(result.text, c.text);
  }
}

TEST(RunOnce, APodThatIsRefusedOrHasNoRoomIsNoFailure) {
  operate::PodView view = ViewOf(R"({"phase": "Failed", "reason": "NodePorts"})");
  view.desired = std::make_shared<v1::DesiredRecord>();
  view.desired->set_incarnation(7);
  view.admission = std::make_shared<v1::AdmissionRecord>();
  view.admission->set_incarnation(7);
  view.admission->set_reason("NodePorts");
  view.admission->set_message("no free port");
  for (const auto decision : {v1::AdmissionRecord::REJECTED, v1::AdmissionRecord::WAITING}) {
    view.admission->set_decision(decision);
    const OnceResult result = JudgeOnce(view, kNow);
    EXPECT_EQ(result.outcome, Outcome::kRefused);
    EXPECT_EQ(result.text, "refused: NodePorts: no free port");
  }
  view.admission->set_incarnation(6);
  EXPECT_EQ(JudgeOnce(view, kNow).outcome, Outcome::kFailed)
      << "a decision about another incarnation";
}

TEST(RunOnce, WaitsForPodsOfManifestsOnly) {
  operate::PodView view = ViewOf("{}");
  EXPECT_TRUE(IsFromManifest(view));
  view.removed = true;
  EXPECT_FALSE(IsFromManifest(view));
  view.removed = false;
  view.source = "api";
  EXPECT_FALSE(IsFromManifest(view));
}

TEST(Tracing, CountsFromTheFirstExactLine) {
  // A line with a time in whole seconds may be from any moment of that second.
  const std::string text = TraceText({{kNow, "status", "condition Ready=True", "", false},
                                      {kNow + 400ms, "config-source", "desired: wanted", ""},
                                      {kNow + 410ms, "sync-loop", "admission: admitted", ""},
                                      {kNow + 1200ms, "pleg", "runtime: app exited", ""}});
  EXPECT_EQ(text,
            "TIME (UTC)     +MS     WHO             WHAT\n"
            "12:00:00.400   0.0     config-source   desired: wanted\n"
            "12:00:00.410   10.0    sync-loop       admission: admitted\n"
            "12:00:00.000   -       status          condition Ready=True\n"
            "12:00:01.200   800.0   pleg            runtime: app exited\n");
}

TEST(Tracing, LinesThatAreKnownToTheSecondOnlyHaveNoDistance) {
  EXPECT_EQ(TraceText({{kNow, "status", "condition Ready=True", "", false}}),
            "TIME (UTC)     +MS   WHO      WHAT\n"
            "12:00:00.000   -     status   condition Ready=True\n");
}

TEST(Tracing, IsOfOnePod) {
  EXPECT_TRUE(CheckOneName("web", {}).ok());
  EXPECT_TRUE(CheckOneName("web", {"default/web"}).ok());
  EXPECT_EQ(
      CheckOneName("web", {"shop/web", "default/web"}),
      InvalidArgument("\"web\" matches several pods, name one with its namespace: default/web "
                      "shop/web"));
}

TEST(DoctorsJudgement, ASocketWithoutPermissionIsNotAbsent) {
  EXPECT_EQ(JudgeNoSocket("/run/x.sock", EACCES).grade, Finding::Grade::kNote);
  EXPECT_EQ(JudgeNoSocket("/run/x.sock", EACCES).found, "this user may not use /run/x.sock");
  EXPECT_EQ(JudgeNoSocket("/run/x.sock", ENOENT).grade, Finding::Grade::kBad);
}

TEST(DoctorsJudgement, NamesArmedFailPoints) {
  v1::FaultList faults;
  auto& off = *faults.add_faults();
  off.set_name("a.before");
  off.set_term("off");
  EXPECT_EQ(JudgeFaults("pleg", faults).grade, Finding::Grade::kOk);
  auto& armed = *faults.add_faults();
  armed.set_name("b.after");
  armed.set_term("crash");
  const Finding finding = JudgeFaults("pleg", faults);
  EXPECT_EQ(finding.grade, Finding::Grade::kNote);
  EXPECT_EQ(finding.found, "fail points are armed: b.after = crash");
  EXPECT_EQ(finding.to_do, "splitletctl fault clear pleg");
}

TEST(DoctorsJudgement, AProcessThatListensAndIsSilentIsNotCalledDead) {
  const Finding silent = JudgeProcess({.name = "gc", .problem = "no answer", .listens = true});
  EXPECT_EQ(silent.grade, Finding::Grade::kBad);
  EXPECT_NE(silent.to_do.find("splitletctl process cont gc"), std::string::npos) << silent.to_do;
}

TEST(DoctorsJudgement, ARefusalIsAboutTheCaller) {
  const Finding refused = JudgeProcess(
      {.name = "gc", .problem = "gc refuses user 7, groups 7: it is for user 0", .refused = true});
  EXPECT_EQ(refused.grade, Finding::Grade::kBad);
  EXPECT_EQ(refused.found, "gc refuses user 7, groups 7: it is for user 0");
  EXPECT_EQ(refused.to_do, "run as root, or as the user that splitlet.users names ctl");
  EXPECT_EQ(JudgeNoBus(PermissionDenied("no")).grade, Finding::Grade::kNote);
  EXPECT_EQ(JudgeNoBus(PermissionDenied("no")).to_do, "run as root to check the bus too");
  EXPECT_EQ(JudgeNoBus(Unauthenticated("no")).grade, Finding::Grade::kBad);
  EXPECT_EQ(JudgeNoBus(Unavailable("no")).to_do.find("start nats-server"), 0u);
}

TEST(ProcessIds, BelongToAProgramOfThatName) {
  EXPECT_FALSE(operate::IsProcess(getpid(), "pleg")) << "this is a test";
  EXPECT_FALSE(operate::IsProcess(-1, "pleg"));
  EXPECT_EQ(operate::PidHere(getpid(), "/nowhere/rpc.sock", "pleg"), 0);
}

TEST(SourceProblems, NameTheirPlaceOnce) {
  v1::SourceProblem problem;
  problem.set_where("/m/bad.yaml");
  problem.set_reason("/m/bad.yaml: spec: Required value");
  EXPECT_EQ(ReasonOf(problem), "spec: Required value");
  problem.set_reason("no such file");
  EXPECT_EQ(ReasonOf(problem), "no such file");
}

}  // namespace
}  // namespace splitlet::ctl
