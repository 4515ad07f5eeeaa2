#include "services/gc/collect/containers/removal_scope.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

v1::DesiredRecord Desired(v1::DesiredRecord::State state, int64_t incarnation = 1) {
  v1::DesiredRecord record;
  record.set_state(state);
  record.set_incarnation(incarnation);
  return record;
}

v1::WorkerRecord Worker(v1::WorkerState state, bool evicted = false) {
  v1::WorkerRecord record;
  record.set_state(state);
  record.set_incarnation(1);
  record.set_evicted(evicted);
  return record;
}

/// The pod's source has removed it.
v1::WorkerRecord RemovedWorker(v1::WorkerState state) {
  v1::WorkerRecord record = Worker(state);
  record.set_removed(true);
  return record;
}

struct FateCase {
  const char* name;
  ScopeInput in;
  Scope want;
};

void Check(const std::vector<FateCase>& cases) {
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ComputeScope(c.in), c.want);
  }
}

/// All records that a case may show.
struct Records {
  v1::DesiredRecord wanted = Desired(v1::DesiredRecord::WANTED);
  v1::DesiredRecord next_life = Desired(v1::DesiredRecord::WANTED, 2);
  v1::DesiredRecord removed = Desired(v1::DesiredRecord::REMOVED);
  v1::WorkerRecord syncing = Worker(v1::SYNCING);
  v1::WorkerRecord terminated = Worker(v1::TERMINATED);
  v1::WorkerRecord finished = Worker(v1::FINISHED);
  v1::WorkerRecord finished_removed = RemovedWorker(v1::FINISHED);
  v1::WorkerRecord deleted_by_server = [] {
    v1::WorkerRecord record = RemovedWorker(v1::FINISHED);
    record.set_source(std::string(kube::kApiSource));
    return record;
  }();
  v1::WorkerRecord ending_removed = RemovedWorker(v1::TERMINATED);
  v1::WorkerRecord evicted = Worker(v1::TERMINATED, true);
  v1::WorkerRecord evicting = Worker(v1::TERMINATING, true);
};
using D = Seen<v1::DesiredRecord>;
using W = Seen<v1::WorkerRecord>;

TEST(PodFate, OfPodsThatAreKnown) {
  const Records r;
  Check({
      {"a running pod is wanted",
       {D{true, &r.wanted}, W{true, &r.syncing}, true, true},
       {RemovalScope::kWanted}},
      {"a pod that has no worker yet is wanted",
       {D{true, &r.wanted}, {}, true, true},
       {RemovalScope::kWanted}},
      {"a removed pod that still runs is wanted",
       {D{true, &r.removed}, W{true, &r.syncing}, true, true},
       {RemovalScope::kWanted}},
      {"a removed pod that is only terminated is wanted",
       {D{true, &r.removed}, W{true, &r.terminated}, true, true},
       {RemovalScope::kWanted}},
      {"removed and finished is gone, also in stale views",
       {D{true, &r.removed}, W{true, &r.finished}, false, true},
       {RemovalScope::kEverything}},
      {"finished while the object stays keeps the newest",
       {D{true, &r.wanted}, W{true, &r.finished}, true, true},
       {RemovalScope::kWanted}},
      {"finished and dropped by its source is gone",
       {{}, W{true, &r.finished}, true, true},
       {RemovalScope::kEverything, true}},
      {"finished and not shown by an incomplete view keeps the newest",
       {{}, W{true, &r.finished}, false, true},
       {RemovalScope::kWanted}},
      {"finished, and removed as its worker says, is gone whatever is incomplete",
       {{}, W{true, &r.finished_removed}, false, true},
       {RemovalScope::kEverything}},
      {"removed as its worker says and not finished is wanted",
       {{}, W{true, &r.ending_removed}, true, true},
       {RemovalScope::kWanted}},
      {"the next incarnation of a removed pod is wanted",
       {D{true, &r.next_life}, W{true, &r.finished_removed}, false, true},
       {RemovalScope::kWanted}},
      {"what an API server has deleted and still shows is wanted",
       {D{true, &r.wanted}, W{true, &r.finished_removed}, true, true},
       {RemovalScope::kWanted}},
      {"so it is while the server is away",
       {D{true, &r.wanted}, W{true, &r.deleted_by_server}, false, true},
       {RemovalScope::kWanted}},
      {"a removed one that an incomplete view still shows is gone",
       {D{true, &r.wanted}, W{true, &r.finished_removed}, false, true},
       {RemovalScope::kEverything}},
      {"the next incarnation of the UID is wanted",
       {D{true, &r.next_life}, W{true, &r.finished}, true, true},
       {RemovalScope::kWanted}},
  });
}

TEST(PodFate, OfFinishedPodsWhileTheNodeIsShortOfRoom) {
  const Records r;
  v1::WorkerRecord with_the_node = r.finished;
  with_the_node.set_shutdown_boot(7);
  const D wanted{true, &r.wanted};
  const auto short_of_disk = [](const D& desired, const W& worker) {
    return ScopeInput{.desired = desired,
                      .worker = worker,
                      .views_complete = true,
                      .ours = true,
                      .short_of_disk = true};
  };
  Check({
      {"what it left in the runtime may go",
       short_of_disk(wanted, {true, &r.finished}),
       {RemovalScope::kRuntimeOnly}},
      {"a pod that is only terminated keeps the newest",
       short_of_disk(wanted, {true, &r.terminated}),
       {RemovalScope::kWanted}},
      {"so does one that runs", short_of_disk(wanted, {true, &r.syncing}), {RemovalScope::kWanted}},
      {"one that ended with the node lives again",
       short_of_disk(wanted, {true, &with_the_node}),
       {RemovalScope::kWanted}},
      {"so does the next incarnation of the UID",
       short_of_disk({true, &r.next_life}, {true, &r.finished}),
       {RemovalScope::kWanted}},
      {"an evicted pod loses its logs, too",
       short_of_disk(wanted, {true, &r.evicted}),
       {RemovalScope::kKeepDirectory}},
      {"a removed one everything",
       short_of_disk({true, &r.removed}, {true, &r.finished}),
       {RemovalScope::kEverything}},
  });
}

TEST(PodFate, OfEvictedUnknownAndUnmanagedPods) {
  const Records r;
  Check({
      {"an evicted pod that has ended loses its content",
       {D{true, &r.wanted}, W{true, &r.evicted}, false, true},
       {RemovalScope::kKeepDirectory}},
      {"an evicted pod that still ends keeps it",
       {D{true, &r.wanted}, W{true, &r.evicting}, true, true},
       {RemovalScope::kWanted}},
      {"in no view is gone", {{}, {}, true, true}, {RemovalScope::kEverything, true, true}},
      {"in no view, of which some are incomplete, keeps the newest",
       {{}, {}, false, true},
       {RemovalScope::kWanted}},
      {"made by another program is unmanaged", {{}, {}, true, false}, {RemovalScope::kUnmanaged}},
      {"made by another program may be taken over",
       {{}, {}, true, false, true},
       {RemovalScope::kEverything, true, true}},
      {"made by another program and adopted is managed",
       {D{true, &r.wanted}, W{true, &r.syncing}, true, false},
       {RemovalScope::kWanted}},
      {"a record that cannot be read is unknown",
       {D{true, nullptr}, W{true, &r.finished}, true, true},
       {RemovalScope::kUnknown}},
      {"a worker that cannot be read is unknown",
       {D{true, &r.removed}, W{true, nullptr}, true, true},
       {RemovalScope::kUnknown}},
  });
}

}  // namespace
}  // namespace splitlet::gc
