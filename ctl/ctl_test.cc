#include <gtest/gtest.h>

#include "ctl/commands/doctor.h"
#include "ctl/show/describe.h"
#include "ctl/show/pods.h"
#include "ctl/show/processes.h"
#include "ctl/show/trace.h"
#include "ctl/test_time.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/process_view.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

int64_t Before(Duration d) { return ToNanos(kNow - d); }

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Pods.

operate::PodView ViewOf(const std::string& spec, const std::string& status) {
  operate::PodView view{.uid = "u1", .name = "web", .name_space = "default", .source = "file"};
  view.pod = std::make_shared<kube::Pod>();
  const std::string text =
      "{\"metadata\": {\"name\": \"web\", \"namespace\": \"default\", \"uid\": \"u1\"}, "
      "\"spec\": " +
      spec + ", \"status\": " + status + "}";
  const auto decoded = kube::DecodeInto(text, "pod", kube::Strictness::kStrict, *view.pod);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  view.has_status = true;
  view.seen_at_wall_ns = Before(5min);
  return view;
}

constexpr const char* kTwo = R"({"containers": [{"name": "a"}, {"name": "b"}]})";
constexpr const char* kInit =
    R"({"initContainers": [{"name": "i"}, {"name": "j"}], "containers": [{"name": "a"}]})";
constexpr const char* kSidecar =
    R"({"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}], "containers": [{"name": "a"}]})";

const struct {
  const char* name;
  const char* spec;
  const char* status;
  const char* want;  // status ready/total restarts
} kStatusCases[] = {
    {"nothing reported yet", kTwo, R"({"phase": "Pending"})", "Pending 0/2 0"},
    {"both run, one is ready", kTwo,
     R"({"phase": "Running", "containerStatuses": [
          {"name": "a", "ready": true, "restartCount": 1, "state": {"running": {}}},
          {"name": "b", "ready": false, "restartCount": 2, "state": {"running": {}}}]})",
     "Running 1/2 3"},
    {"the first container that waits names the state", kTwo,
     R"({"phase": "Running", "containerStatuses": [
          {"name": "a", "ready": false, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
          {"name": "b", "ready": true, "state": {"running": {}}}]})",
     "CrashLoopBackOff 1/2 0"},
    {"an image that cannot be pulled", kTwo,
     R"({"phase": "Pending", "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]})",
     "ImagePullBackOff 0/2 0"},
    {"completed", kTwo,
     R"({"phase": "Succeeded", "containerStatuses": [
          {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
          {"name": "b", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]})",
     "Completed 0/2 0"},
    {"one completed, the other runs, and the pod is ready", kTwo,
     R"({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
          {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
          {"name": "b", "ready": true, "state": {"running": {}}}]})",
     "Running 1/2 0"},
    {"one completed, the other runs, and the pod is not ready", kTwo,
     R"({"phase": "Running", "containerStatuses": [
          {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
          {"name": "b", "ready": true, "state": {"running": {}}}]})",
     "NotReady 1/2 0"},
    {"an exit without a reason", kTwo,
     R"({"phase": "Failed", "containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 3}}}]})",
     "ExitCode:3 0/2 0"},
    {"killed by a signal", kTwo,
     R"({"phase": "Failed", "containerStatuses": [{"name": "a", "state": {"terminated": {"signal": 9}}}]})",
     "Signal:9 0/2 0"},
    {"evicted", kTwo, R"({"phase": "Failed", "reason": "Evicted"})", "Evicted 0/2 0"},
    {"rejected", kTwo, R"({"phase": "Failed", "reason": "OutOfcpu"})", "OutOfcpu 0/2 0"},
    {"the first init container runs", kInit,
     R"({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}},
          {"name": "j", "state": {"waiting": {"reason": "PodInitializing"}}}]})",
     "Init:0/2 0/1 0"},
    {"the second init container waits for its turn", kInit,
     R"({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 0}}},
          {"name": "j", "restartCount": 4, "state": {"waiting": {"reason": "PodInitializing"}}}]})",
     "Init:1/2 0/1 4"},
    {"an init container fails again and again", kInit,
     R"({"phase": "Pending", "initContainerStatuses": [
          {"name": "i", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]})",
     "Init:CrashLoopBackOff 0/1 2"},
    {"an init container failed", kInit,
     R"({"phase": "Failed", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]})",
     "Init:Error 0/1 0"},
    {"an init container failed without a reason", kInit,
     R"({"phase": "Failed", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 1}}}]})",
     "Init:ExitCode:1 0/1 0"},
    {"restarts of init containers are forgotten when they are done", kInit,
     R"({"phase": "Running", "initContainerStatuses": [
          {"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
          {"name": "j", "state": {"terminated": {"exitCode": 0}}}],
          "containerStatuses": [{"name": "a", "ready": true, "restartCount": 1, "state": {"running": {}}}]})",
     "Running 1/1 1"},
    {"a sidecar counts as a container", kSidecar,
     R"({"phase": "Running", "initContainerStatuses": [
          {"name": "s", "started": true, "ready": true, "restartCount": 2, "state": {"running": {}}},
          {"name": "i", "state": {"terminated": {"exitCode": 0}}}],
          "containerStatuses": [{"name": "a", "ready": true, "restartCount": 1, "state": {"running": {}}}]})",
     "Running 2/2 3"},
    {"a sidecar that has not started holds the pod up", kSidecar,
     R"({"phase": "Pending", "initContainerStatuses": [{"name": "s", "started": false, "state": {"running": {}}}]})",
     "Init:0/2 0/2 0"},
};

TEST(PodStatusColumn, SaysWhatKubectlSays) {
  for (const auto& c : kStatusCases) {
    SCOPED_TRACE(c.name);
    const PodRow row = MakePodRow(ViewOf(c.spec, c.status), kNow);
    EXPECT_EQ(fmt::format("{} {}/{} {}", row.status, row.ready, row.total, row.restarts), c.want);
  }
}

TEST(PodStatusColumn, EndingAndUnknownPods) {
  operate::PodView view = ViewOf(kTwo, R"({"phase": "Running"})");
  view.removed = true;
  EXPECT_EQ(MakePodRow(view, kNow).status, "Terminating");
  operate::PodView over = ViewOf(kTwo, R"({"phase": "Failed", "reason": "Evicted"})");
  over.removed = true;
  EXPECT_EQ(MakePodRow(over, kNow).status, "Evicted") << "what has ended does not end any more";
  operate::PodView silent = ViewOf(kTwo, "{}");
  silent.has_status = false;
  EXPECT_EQ(MakePodRow(silent, kNow).status, "Unknown");
}

TEST(Picking, PrefersThePodThatStays) {
  operate::PodView old = ViewOf(kTwo, "{}"), successor = old, unrelated = old;
  old.removed = true;
  successor.uid = "u2";
  unrelated.uid = "u3";
  unrelated.name = "other";
  EXPECT_EQ(PickPod({old, successor, unrelated}, "web").value_or(operate::PodView{}).uid, "u2");
  EXPECT_EQ(PickPod({old, successor}, "u1").value_or(operate::PodView{}).uid, "u1");
  EXPECT_EQ(PickPod({old, unrelated}, "default/web").value_or(operate::PodView{}).uid, "u1")
      << "the only one, though it ends";
  EXPECT_EQ(PickPod({unrelated}, "web").status().code(), StatusCode::kNotFound);
  unrelated.name = "web";
  EXPECT_EQ(Message(PickPod({successor, unrelated}, "web").status()),
            "\"web\" matches several pods, name one by its UID: default/web (u2) default/web (u3)");
}

TEST(Picking, WhatOneProcessStillRemembersGivesWay) {
  operate::PodView finished = ViewOf(kTwo, "{}"), wanted = finished, unknown = finished;
  finished.worker = std::make_shared<v1::WorkerRecord>();
  finished.worker->set_state(v1::FINISHED);
  wanted.uid = "u2";
  wanted.desired = std::make_shared<v1::DesiredRecord>();
  unknown.uid = "u3";
  EXPECT_EQ(PickPod({finished, wanted, unknown}, "web").value_or(operate::PodView{}).uid, "u2");
  EXPECT_EQ(PickPod({finished, unknown}, "web").value_or(operate::PodView{}).uid, "u3")
      << "config-source did not answer";
  EXPECT_EQ(PickPod({finished}, "web").value_or(operate::PodView{}).uid, "u1");
  EXPECT_EQ(PickPod({finished, wanted}, "u1").value_or(operate::PodView{}).uid, "u1");
  operate::PodView again = wanted;
  again.worker = finished.worker;
  EXPECT_EQ(PickPod({finished, again}, "web").value_or(operate::PodView{}).uid, "u2")
      << "a later incarnation of a pod that has ended";
}

operate::PodView RestartedView() {
  return ViewOf(
      R"({"nodeName": "n1", "containers": [{"name": "a"}]})",
      R"({"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": [{"name": "a", "ready": true,
                   "restartCount": 3, "state": {"running": {}},
                   "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-11-21T11:58:00Z"}}}]})");
}

TEST(PodTables, HaveTheColumnsOfKubectl) {
  EXPECT_EQ(PodTable({RestartedView()}, kNow, {}),
            "NAME   READY   STATUS    RESTARTS     AGE\n"
            "web    1/1     Running   3 (2m ago)   5m\n");
  EXPECT_EQ(PodTable({RestartedView()}, kNow, {.wide = true, .namespaces = true, .header = false}),
            "default     web    1/1     Running   3 (2m ago)   5m    10.1.2.3   n1     <none>      "
            "     <none>\n");
}

TEST(PodObjects, AreThoseOfTheApi) {
  const operate::PodView view =
      ViewOf(R"({"containers": [{"name": "a", "image": "x"}]})", R"({"phase": "Running"})");
  const auto pod = kube::Decode(PodJson(view), "out", kube::Strictness::kStrict);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->kind, "Pod");
  EXPECT_EQ(pod->As<kube::Pod>()->status().phase(), "Running");
  EXPECT_TRUE(kube::Decode(PodYaml(view), "out", kube::Strictness::kStrict).ok());
  EXPECT_TRUE(PodYaml(view).starts_with("apiVersion: v1\nkind: Pod\n")) << PodYaml(view);
}

TEST(PodObjects, AnEndingPodHasADeletionTime) {
  operate::PodView view =
      ViewOf(R"({"terminationGracePeriodSeconds": 40, "containers": [{"name": "a"}]})",
             R"({"phase": "Running"})");
  EXPECT_TRUE(Has(PodJson(view), R"("creationTimestamp": "2026-11-21T11:55:00Z")"))
      << PodJson(view);
  EXPECT_FALSE(Has(PodJson(view), "deletion")) << PodJson(view);
  view.removed = true;
  view.removed_at_wall_ns = Before(10s);
  EXPECT_TRUE(Has(PodJson(view), R"("deletionTimestamp": "2026-11-21T12:00:30Z")"))
      << PodJson(view);
  EXPECT_TRUE(Has(PodJson(view), R"("deletionGracePeriodSeconds": 40)")) << PodJson(view);
  EXPECT_TRUE(Has(PodListJson({view}), R"("deletionTimestamp": "2026-11-21T12:00:30Z")"));
  EXPECT_TRUE(Has(PodListYaml({view}), "deletionGracePeriodSeconds: 40"));
  view.removed_at_wall_ns = 0;
  EXPECT_FALSE(Has(PodJson(view), "deletionTimestamp")) << "no time is made up";
}

TEST(PodObjects, ListsHoldWholeObjects) {
  const operate::PodView view =
      ViewOf(R"({"containers": [{"name": "a"}]})", R"({"phase": "Running"})");
  const std::string json = PodListJson({view, view});
  EXPECT_TRUE(
      json.starts_with("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            "
                       "\"apiVersion\": \"v1\",\n"))
      << json;
  EXPECT_TRUE(Has(json, "        },\n        {\n")) << json;
  EXPECT_TRUE(Has(json, "    ],\n    \"kind\": \"List\",")) << json;
  const std::string yaml = PodListYaml({view});
  EXPECT_TRUE(yaml.starts_with("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n")) << yaml;
  EXPECT_TRUE(Has(PodListJson({}), "\"items\": [],")) << PodListJson({});
  EXPECT_TRUE(Has(PodListYaml({}), "items: []\nkind: List")) << PodListYaml({});
}

TEST(Describing, ShowsContainersProcessesAndEvents) {
  operate::PodView view = RestartedView();
  view.worker = std::make_shared<v1::WorkerRecord>();
  view.worker->set_state(v1::SYNCING);
  view.worker->set_granted(true);
  view.worker->set_sync_error("pull image: no route");
  view.worker->set_admission_reason("waits for the pull of image \"x\" since 2026-01-01T00:00:00Z");
  auto event = std::make_shared<v1::EventRecord>();
  event->set_type("Warning");
  event->set_reason("BackOff");
  event->set_message("Back-off restarting");
  event->set_component("pod-worker");
  event->set_count(4);
  event->set_first_wall_ns(Before(10min));
  event->set_last_wall_ns(Before(30s));
  const std::string text = DescribePod(view, {event}, kNow);
  for (const char* part :
       {"Name:             web\n", "Status:           Running\n", "IP:               10.1.2.3\n",
        "Restart Count:  3\n", "Last State:     Terminated\n", "Exit Code:    1\n",
        "pod-worker:     SYNCING, granted\n", "sync error:   pull image: no route\n",
        "waiting:      waits for the pull of image \"x\" since 2026-01-01T00:00:00Z\n",
        "30s (x4 over 10m)   pod-worker   Back-off restarting\n"})
    EXPECT_TRUE(Has(text, part)) << part << "\nin\n" << text;
  EXPECT_TRUE(Has(DescribePod(view, {}, kNow), "Events:           <none>\n"));
}

// Processes.

operate::ProcessView RunningProcess() {
  operate::ProcessView view{.name = "pleg", .info = std::make_shared<v1::ProcessInfo>()};
  view.info->set_name("pleg");
  view.info->set_pid(42);
  view.info->set_version("0.1.0");
  view.info->set_started_at_wall_ns(Before(90s));
  view.info->set_live(true);
  view.info->set_ready(true);
  view.info->set_bus_connected(true);
  view.info->set_metrics_address("127.0.0.1:4000");
  view.info->set_restarts(2);
  return view;
}

void AddViewTo(operate::ProcessView& process, const std::string& table, const std::string& state,
               bool complete) {
  auto& view = *process.info->add_views();
  view.set_table(table);
  view.set_state(state);
  view.set_complete(complete);
}

TEST(ProcessLists, HaveAllThatANodeCanHave) {
  EXPECT_EQ(ListOfProcesses(), "config-source, sync-loop, pod-worker, pleg, status, gc, node-api");
}

TEST(ProcessTables, OneThatIsDownHidesNoOther) {
  const operate::ProcessView down{.name = "gc",
                                  .problem = "gc does not run (nothing listens on run/gc/rpc.sock)",
                                  .restarts = 7};
  EXPECT_EQ(ProcessTable({RunningProcess(), down}, kNow),
            "NAME   PID   VERSION   STARTED   RESTARTS   HEALTH   BUS         VIEWS   LAST ERROR\n"
            "pleg   42    0.1.0     90s ago   2          ok       connected   -       -\n"
            "gc     -     -         -         7          down     -           -       -\n"
            "\ngc is down: gc does not run (nothing listens on run/gc/rpc.sock)\n");
}

TEST(ProcessTables, OneThatRefusesIsNotCalledDown) {
  const operate::ProcessView refused{
      .name = "gc", .problem = "gc refuses user 7, groups 7: it is for user 0", .refused = true};
  EXPECT_EQ(ProcessTable({refused}, kNow),
            "NAME   PID   VERSION   STARTED   RESTARTS   HEALTH    BUS   VIEWS   LAST ERROR\n"
            "gc     -     -         -         0          refused   -     -       -\n"
            "\ngc refuses user 7, groups 7: it is for user 0\n");
}

TEST(ProcessTables, HealthAndViewsAreInWords) {
  operate::ProcessView view = RunningProcess();
  AddViewTo(view, "desired", "live", true);
  AddViewTo(view, "runtime", "stale", true);
  AddViewTo(view, "workers", "live", false);
  view.info->set_ready(false);
  view.info->set_reason("the runtime does not answer");
  view.info->set_last_error("\"it broke\"");
  view.info->set_last_error_wall_ns(Before(30s));
  const std::string text = ProcessTable({view}, kNow);
  EXPECT_TRUE(Has(text, "not ready   connected   1/3 live   30s ago: \"it broke\"")) << text;
  EXPECT_TRUE(Has(text, "pleg is not ready: the runtime does not answer\n")) << text;
  EXPECT_TRUE(Has(text, "pleg views: runtime stale, workers incomplete\n")) << text;
  view.info->add_notes("metrics are not served: the port is taken");
  EXPECT_TRUE(Has(ProcessTable({view}, kNow), "pleg: metrics are not served: the port is taken\n"));
  view.info->set_live(false);
  EXPECT_TRUE(Has(ProcessTable({view}, kNow), " hung "));
}

TEST(ProcessJsons, KeepTheContract) {
  const operate::ProcessView down{.name = "gc", .problem = "away", .restarts = 7};
  const std::string json = ProcessJson({RunningProcess(), down}, kNow);
  EXPECT_TRUE(json.starts_with(
      "[\n    {\n        \"name\": \"pleg\",\n        \"pid\": 42,\n        \"restarts\": 2,\n"
      "        \"healthy\": true,\n        \"uptimeSeconds\": 90,\n"
      "        \"metricsAddress\": \"127.0.0.1:4000\",\n"))
      << json;
  EXPECT_TRUE(
      Has(json,
          "        \"name\": \"gc\",\n        \"pid\": null,\n        \"restarts\": 7,\n      "
          "  \"healthy\": false,\n"
          "        \"uptimeSeconds\": 0,\n        \"metricsAddress\": \"\",\n"))
      << json;
  EXPECT_EQ(ProcessJson({}, kNow), "[]\n");
}

TEST(SourceTables, ShowWhatIsWrongWhere) {
  v1::Sources sources;
  v1::Source& file = *sources.add_sources();
  file.set_name("file");
  file.set_path("/m");
  file.set_reason("not listed yet");
  file.set_pods(2);
  v1::SourceProblem& problem = *file.add_problems();
  problem.set_where("web.yaml");
  problem.set_reason("spec.containers: required value (line 4)");
  problem.set_since_wall_ns(Before(5s));
  EXPECT_EQ(SourceTable(sources, kNow),
            "NAME   PATH   COMPLETE   PODS   PROBLEMS\n"
            "file   /m     no         2      1\n"
            "\nfile is not complete: not listed yet\n"
            "\nSOURCE   SINCE   WHERE      REASON\n"
            "file     5s      web.yaml   spec.containers: required value (line 4)\n");
  EXPECT_TRUE(
      Has(SourceJson(sources),
          R"x("where": "web.yaml", "reason": "spec.containers: required value (line 4)")x"));
}

// Traces.

TEST(Tracing, IsInOrderAndInMilliseconds) {
  const std::string text = TraceText({{kNow + 120ms, "pleg", "runtime: app running", ""},
                                      {kNow, "config-source", "desired: wanted by file", ""},
                                      {kNow + 1500us, "sync-loop", "admission: admitted", ""}});
  EXPECT_EQ(text,
            "TIME (UTC)     +MS     WHO             WHAT\n"
            "12:00:00.000   0.0     config-source   desired: wanted by file\n"
            "12:00:00.001   1.5     sync-loop       admission: admitted\n"
            "12:00:00.120   120.0   pleg            runtime: app running\n");
  EXPECT_EQ(TraceText({}), "");
}

TEST(Tracing, LinesOfOneTraceHaveItsMark) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_EQ(TraceText({{kNow, "config-source", "desired: wanted by file", trace},
                       {kNow + 1ms, "sync-loop", "admission: admitted", trace},
                       {kNow + 2ms, "pleg", "runtime: app running", ""}}),
            "TIME (UTC)     +MS   WHO             TRACE      WHAT\n"
            "12:00:00.000   0.0   config-source   4bf92f35   desired: wanted by file\n"
            "12:00:00.001   1.0   sync-loop       4bf92f35   admission: admitted\n"
            "12:00:00.002   2.0   pleg            -          runtime: app running\n"
            "trace 4bf92f3577b34da6a3ce929d0e0e4736\n");
}

TEST(Tracing, TablesGiveTheTimesTheyHold) {
  operate::PodView view = ViewOf(kTwo, R"({"phase": "Running", "conditions": [
      {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T11:59:00Z"}]})");
  view.runtime = std::make_shared<v1::RuntimeRecord>();
  auto& container = *view.runtime->mutable_pod()->add_containers();
  container.set_name("app");
  container.set_state(v1::ContainerRecord::EXITED);
  container.set_exit_code(3);
  container.set_created_at_ns(Before(10s));
  container.set_finished_at_ns(Before(1s));
  const std::string text = TraceText(LinesOf(view));
  EXPECT_TRUE(Has(text, "app (attempt 0) created\n")) << text;
  EXPECT_TRUE(Has(text, "app (attempt 0) exited 3\n")) << text;
  EXPECT_FALSE(Has(text, "started")) << "a time that is not known makes no line";
  EXPECT_TRUE(Has(text, "status    condition Ready=True since then\n")) << text;
}

// Doctor.

TEST(DoctorsJudgement, SaysWhatToDo) {
  using Grade = Finding::Grade;
  EXPECT_EQ(JudgeCgroups(true, false).grade, Grade::kOk);
  EXPECT_EQ(JudgeCgroups(false, true).grade, Grade::kNote);
  EXPECT_EQ(JudgeCgroups(false, false).grade, Grade::kBad);
  EXPECT_EQ(JudgeDisk("/s", 100, 50).grade, Grade::kOk);
  EXPECT_EQ(JudgeDisk("/s", 100, 14).grade, Grade::kNote);
  EXPECT_EQ(JudgeDisk("/s", 100, 4).grade, Grade::kBad);
  EXPECT_EQ(JudgeDisk("/s", 0, 0).grade, Grade::kBad);
  operate::ProcessView view = RunningProcess();
  EXPECT_EQ(JudgeProcess(view).grade, Grade::kOk);
  EXPECT_TRUE(NotesOf(view).empty());
  view.info->add_notes("metrics are not served: the port is taken");
  view.info->add_notes("the file of pod uid-1 cannot be read (no header)");
  EXPECT_EQ(JudgeProcess(view).grade, Grade::kOk);
  view.info->add_notes("/etc/objects/web.yaml: metadata.nam: unknown field (line 3)");
  ASSERT_EQ(NotesOf(view).size(), 3u);
  EXPECT_TRUE(Has(NotesOf(view)[2].to_do, "docs/behaviour/objects.md"));
  EXPECT_EQ(NotesOf(view)[0].grade, Grade::kNote);
  EXPECT_TRUE(Has(NotesOf(view)[0].to_do, "ss -ltnp"));
  EXPECT_EQ(NotesOf(view)[1].found, "the file of pod uid-1 cannot be read (no header)");
  EXPECT_TRUE(Has(NotesOf(view)[1].to_do, "docs/safety.md"));
  EXPECT_TRUE(NotesOf({.name = "gc", .problem = "away"}).empty());
  view.info->clear_notes();
  view.info->set_restarts(5);
  EXPECT_EQ(JudgeProcess(view).grade, Grade::kNote);
  view.info->set_ready(false);
  EXPECT_EQ(JudgeProcess(view).grade, Grade::kBad);
  EXPECT_TRUE(Has(JudgeProcess(view, /*compose=*/true).to_do, "--force-recreate"));
  EXPECT_EQ(JudgeProcess({.name = "gc", .problem = "away"}).found, "away");
  EXPECT_TRUE(Has(JudgeProcess({.name = "gc", .problem = "away"}, true).to_do, "up -d starts"));
  EXPECT_EQ(DoctorText({JudgeCgroups(true, false), JudgeCgroups(false, false)}),
            "ok    cgroups         version 2\n"
            "BAD   cgroups         none mounted at /sys/fs/cgroup\n"
            "                      -> mount -t cgroup2 none /sys/fs/cgroup\n"
            "\n2 checks, 1 bad, 0 notes\n");
}

TEST(DoctorsJudgement, WhatAProcessSaysOfItselfIsToNote) {
  operate::ProcessView view = RunningProcess();
  EXPECT_TRUE(NotesOf(view).empty());
  view.info->add_notes("the file of pod uid-1 cannot be read (no header)");
  ASSERT_EQ(NotesOf(view).size(), 1u);
  EXPECT_EQ(NotesOf(view)[0].grade, Finding::Grade::kNote);
  EXPECT_TRUE(Has(ProcessTable({view}, kNow), "pleg: the file of pod uid-1 cannot be read"));
  EXPECT_TRUE(Has(ProcessJson({view}, kNow), "\"notes\": [\"the file of pod uid-1"));
  EXPECT_TRUE(NotesOf({.name = "gc", .problem = "away"}).empty());
}

// Control characters from a pod are shown escaped, never sent to the terminal.

bool Obeys(std::string_view text) {
  return std::ranges::any_of(text,
                             [](char c) {
                               const auto byte = static_cast<unsigned char>(c);
                               return byte == 0x7F || (byte < 0x20 && c != '\n');
                             }) ||
         Has(std::string(text), "\u009b") || Has(std::string(text), "\u202e");
}

TEST(Terminals, ShowWhatAPodChose) {
  const std::string evil = "\x1B]0;x\x07\u009b2J\u202e\r";
  operate::PodView view = ViewOf(kTwo, R"({"phase": "Failed"})");
  view.name = view.name_space = view.uid = evil;
  view.pod->mutable_status()->set_reason(evil);
  view.pod->mutable_status()->set_message("first\n" + evil);
  (*view.pod->mutable_metadata()->mutable_annotations())[evil] = evil;
  auto& status = *view.pod->mutable_status()->add_container_statuses();
  status.set_name(view.pod->spec().containers(0).name());
  status.mutable_state()->mutable_terminated()->set_message(evil);
  view.pod->mutable_spec()->mutable_containers(0)->set_image(evil);
  view.pod->mutable_spec()->mutable_containers(0)->add_command(evil);
  view.worker = std::make_shared<v1::WorkerRecord>();
  view.worker->set_sync_error(evil);
  auto event = std::make_shared<v1::EventRecord>();
  event->set_reason(evil);
  event->set_message(evil);
  event->set_first_wall_ns(Before(10s));
  operate::ProcessView process = RunningProcess();
  process.info->set_ready(false);
  process.info->set_reason(evil);
  process.info->set_last_error(evil);
  process.info->add_notes(evil);
  v1::Sources sources;
  auto& source = *sources.add_sources();
  source.set_path(evil);
  source.set_reason(evil);
  source.add_problems()->set_reason(evil);
  const operate::BusEvent said{
      .at = kNow, .process = evil, .topic = evil, .text = evil, .trace_id = evil};
  const std::pair<const char*, std::string> kTexts[] = {
      {"describe", DescribePod(view, {event}, kNow)},
      {"pods", PodTable({view}, kNow, {.wide = true, .namespaces = true})},
      {"processes", ProcessTable({process}, kNow)},
      {"sources", SourceTable(sources, kNow)},
      {"doctor", DoctorText(NotesOf(process))},
      {"events", operate::EventLine(said)},
      {"trace", TraceText({LineOf(said)})},
      {"trace of events", TraceText(LinesOf({event}))},
  };
  for (const auto& [name, text] : kTexts) {
    EXPECT_FALSE(Obeys(text)) << name << ": " << text;
    EXPECT_TRUE(Has(text, "\\x1b]0;x\\x07")) << name << ": " << text;
  }
  EXPECT_TRUE(Has(kTexts[0].second, "first\n                  \\x1b"))
      << "line breaks stay, indented";
  EXPECT_TRUE(Has(PodJson(view), R"(\u001b]0;x\u0007)")) << "programs get it as it is";
}

}  // namespace
}  // namespace splitlet::ctl
