#include "services/sync-loop/grants/next_call.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

bool Has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

/// "wanted", "removed ending", ... of incarnation 5, generation 7.
PodDigest PodAs(const std::string& text) {
  using State = PodDigest::State;
  PodDigest pod;
  pod.state = Has(text, "wanted")        ? State::kWanted
              : Has(text, "removed")     ? State::kRemoved
              : Has(text, "unconfirmed") ? State::kUnconfirmed
              : Has(text, "mirror")      ? State::kMirror
                                         : State::kUnknown;
  pod.ending = Has(text, "ending");
  pod.terminal = Has(text, "terminal");
  pod.incarnation = Has(text, "unnumbered") ? 0 : 5;
  pod.generation = 7;
  return pod;
}

/// "syncing 5/7": incarnation and generation, generation 0 without a grant. "syncing 5/6 refuses
/// 7".
WorkerDigest WorkerAs(const std::string& text) {
  using State = WorkerDigest::State;
  WorkerDigest worker;
  worker.state = Has(text, "syncing")       ? State::kSyncing
                 : Has(text, "terminating") ? State::kTerminating
                 : Has(text, "terminated")  ? State::kTerminated
                 : Has(text, "finished")    ? State::kFinished
                                            : State::kUnknown;
  char slash = 0;
  std::string word;
  std::istringstream(text) >> word >> worker.incarnation >> slash >> worker.generation;
  worker.granted = worker.generation > 0;
  if (const size_t at = text.find("refuses "); at != std::string::npos)
    worker.refused_generation = std::stoll(text.substr(at + std::string("refuses ").size()));
  return worker;
}

Admission AdmissionIn(const std::string& text) {
  if (!Has(text, "admitted")) return Admission::kNone;
  return Has(text, "preempted") ? Admission::kPreempted : Admission::kAdmitted;
}

std::string Print(const NextCall& call) {
  constexpr const char* kNames[] = {"", "create", "update", "sync", "kill"};
  if (call.kind == NextCall::Kind::kNone) return "";
  return fmt::format("{} {}/{}", kNames[static_cast<int>(call.kind)], call.incarnation,
                     call.generation);
}

/// `more`: "admitted" (this incarnation), "known" (a missing worker means none), "running",
/// "preempted", "due".
const struct {
  const char *name, *pod, *worker, *more, *want;
} kNextCalls[] = {
    {"admitted, no worker", "wanted", "", "admitted known", "create 5/7"},
    {"a missing worker is unknown", "wanted", "", "admitted", ""},
    {"not admitted", "wanted", "", "known", ""},
    {"without an incarnation, not admitted", "wanted unnumbered", "", "known", ""},
    {"admitted in an earlier incarnation only", "wanted", "finished 4/3", "known", ""},
    {"not granted", "wanted", "syncing 5/0", "admitted", "create 5/7"},
    {"not granted, and refused whenever it comes", "wanted", "syncing 5/0 refuses 7",
     "admitted known", ""},
    {"an older generation was refused", "wanted", "syncing 5/0 refuses 6", "admitted known",
     "create 5/7"},
    {"an earlier incarnation was refused", "wanted", "finished 4/0 refuses 9", "admitted known",
     "create 5/7"},
    {"refused, and removed", "removed", "syncing 5/0 refuses 7", "admitted known", "kill 5/0"},
    {"an update that is refused", "wanted", "syncing 5/6 refuses 7", "admitted known", ""},
    {"an update that is refused, and due", "wanted", "syncing 5/6 refuses 7", "admitted known due",
     "sync 5/6"},
    {"lower generation", "wanted", "syncing 5/6", "admitted known", "update 5/7"},
    {"granted and quiet", "wanted", "syncing 5/7", "admitted running", ""},
    {"granted and due", "wanted", "syncing 5/7", "admitted running due", "sync 5/7"},
    {"terminating and due", "wanted ending", "terminating 5/7", "admitted running due", ""},
    {"terminating, lower generation", "wanted ending", "terminating 5/6", "admitted", "update 5/7"},
    {"terminated", "wanted", "terminated 5/6", "admitted due", ""},
    {"finished", "wanted ending", "finished 5/6", "admitted due", ""},
    {"an earlier incarnation still runs", "wanted", "syncing 4/3", "known running", "kill 4/0"},
    {"an earlier incarnation ends", "wanted", "terminating 4/3", "admitted running", ""},
    {"an earlier incarnation has ended", "wanted", "finished 4/3", "admitted", "create 5/7"},
    {"the worker knows a later incarnation", "removed", "syncing 6/9", "admitted running", ""},
    {"removed, worker syncs", "removed", "syncing 5/7", "admitted running", "kill 5/0"},
    {"removed, worker ends it", "removed", "terminating 5/7", "admitted running", ""},
    {"removed, never granted", "removed", "", "known", ""},
    {"removed, no worker, yet it runs", "removed", "", "known running", "kill 5/0"},
    {"removed, worker unknown, it runs", "removed", "", "running", ""},
    {"deleted before it was granted", "wanted ending", "", "admitted known", ""},
    {"deleted while granted", "wanted ending", "syncing 5/6", "admitted", "update 5/7"},
    {"terminal in the API, nothing runs", "wanted terminal", "", "known", ""},
    {"terminal in the API, and it runs", "wanted terminal", "", "known running", "kill 5/0"},
    {"another client wrote that it failed", "wanted terminal", "syncing 5/7", "admitted running",
     "kill 5/0"},
    {"as status wrote", "wanted terminal", "terminated 5/7", "admitted", ""},
    {"terminal, and ends", "wanted ending terminal", "terminating 5/6", "admitted", "update 5/7"},
    {"preempted", "wanted", "syncing 5/7", "admitted preempted", "kill 5/0"},
    {"preempted before its grant", "wanted", "", "admitted known preempted", "kill 5/0"},
    {"preempted and ending", "wanted", "terminating 5/7", "admitted preempted due", ""},
    {"unconfirmed", "unconfirmed", "syncing 5/6", "admitted running due", ""},
    {"mirror", "mirror", "", "known", ""},
    {"state unknown", "?", "syncing 5/6", "admitted running due", ""},
    {"worker not understood", "wanted", "? 5/6", "admitted running due", ""},
};

TEST(NextCall, EveryDifferenceBetweenWantedAndWorker) {
  for (const auto& c : kNextCalls) {
    SCOPED_TRACE(c.name);
    const PodDigest pod = PodAs(c.pod);
    const WorkerDigest worker = WorkerAs(c.worker);
    const std::string more = c.more;
    EXPECT_EQ(Print(ComputeNextCall({.pod = &pod,
                                     .worker = std::string(c.worker).empty() ? nullptr : &worker,
                                     .admission = AdmissionIn(more),
                                     .worker_known = Has(more, "known"),
                                     .running = Has(more, "running"),
                                     .sync_due = Has(more, "due")})),
              c.want);
  }
  EXPECT_EQ(Print(ComputeNextCall({})), "") << "no record, no call";
}

TEST(RuntimeChange, OnlyWhatHasEndedMakesWork) {
  v1::RuntimeRecord before;
  auto* sandbox = before.mutable_pod()->add_sandboxes();
  sandbox->set_id("s");
  sandbox->set_state(v1::SandboxRecord::READY);
  auto* dead = before.mutable_pod()->add_containers();
  dead->set_id("dead");
  dead->set_state(v1::ContainerRecord::EXITED);
  auto* runs = before.mutable_pod()->add_containers();
  runs->set_id("runs");
  runs->set_state(v1::ContainerRecord::RUNNING);
  v1::RuntimeRecord removed = before;
  removed.mutable_pod()->mutable_containers()->DeleteSubrange(0, 1);
  EXPECT_FALSE(MakesWork(&before, removed));
  v1::RuntimeRecord died = before;
  died.mutable_pod()->mutable_containers(1)->set_state(v1::ContainerRecord::EXITED);
  EXPECT_TRUE(MakesWork(&before, died));
  EXPECT_TRUE(MakesWork(nullptr, before)) << "found dead";
  EXPECT_FALSE(MakesWork(nullptr, removed)) << "made and started";
  EXPECT_FALSE(MakesWork(&removed, removed));
  v1::RuntimeRecord without = removed;
  without.mutable_pod()->clear_containers();
  EXPECT_FALSE(MakesWork(&without, removed)) << "started";
  EXPECT_TRUE(MakesWork(&removed, without)) << "vanished while it ran";
  EXPECT_TRUE(MakesWork(&without, died)) << "started and died unseen";
}

}  // namespace
}  // namespace splitlet::sync_loop
