#include "services/pod-worker/records/disk_records.h"

#include <functional>

#include "libs/bus/bus.h"
#include "libs/kube/pod_bytes.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kSchema = 1;
constexpr const char* kAddresses = "addresses";  // key of the one file of the node

fs::RecordStore::Options ThisBoot(const std::string& run_dir, const char* kind) {
  return {.directory = fmt::format("{}/pod-worker/{}", run_dir, kind),
          .this_boot_only = true,
          .schema = kSchema,
          .reserve_directory = run_dir + "/pod-worker/reserve"};
}

/// Nothing of the pod is started any more: what is saved of it is for its end.
bool Ends(const v1::SavedWorker& saved) { return saved.state() != v1::SYNCING; }
bool Ends(const v1::SavedPod& saved) { return saved.evicted() || saved.has_terminal_status(); }

template <class Record>
Status SaveRecord(const fs::RecordStore& store, const Record& saved, bool sync) {
  const std::string key = bus::KeyOf(saved.uid());
  const std::string bytes = saved.SerializeAsString();
  return Ends(saved) ? store.SaveForEnd(key, bytes, sync) : store.Save(key, bytes, sync);
}

RestartState ToState(const v1::SavedPodRestarts& saved, Duration max) {
  RestartState state{CrashBackoff(max), {saved.replacing().begin(), saved.replacing().end()}};
  for (const auto& entry : saved.entries())
    state.backoff.Restore(entry.key(), {Duration{entry.delay_ns()}, FromProto(entry.advanced_at()),
                                        entry.exited_id()});
  for (const auto& hook : saved.pre_stops())
    state.pre_stops[hook.container_id()] = FromProto(hook.begun_at());
  return state;
}

/// The cost of a lost file.
enum class Loss {
  kPod,    // the state of a pod, which no other process knows
  kDelay,  // a delay; as kPod if a later version wrote the file
  kHold,   // a hold, which is short
  kNode    // values that status publishes again
};

/// Why the content of a record cannot be used; empty: it can.
template <class Record>
std::string FlawOf(const Record&) {
  return "";
}
std::string FlawOf(const v1::SavedWorker& saved) {
  for (const auto* grant : {&saved.grant(), &saved.next()})
    if (const auto pod = kube::PodBytes::Check(grant->pod()); !pod.ok())
      return fmt::format("the pod of a grant: {}", Message(pod.status()));
  return "";
}

/// Parses every record of a store; a record that cannot be used becomes a problem, or an unknown
/// pod.
template <class Record, class Take>
Status ReadStore(const fs::RecordStore& store, Loss loss, DiskRecords::All& all, const Take& take) {
  auto read = store.ReadAll();
  if (!read.ok()) return read.status();
  const auto note = [&](const std::string& key, const std::string& reason, bool newer) {
    all.problems.push_back(fmt::format("{}: {}", key, reason));
    const bool of_pod = loss == Loss::kPod || loss == Loss::kDelay;
    if (!of_pod || (loss == Loss::kDelay && !newer)) return;
    auto& unknown = all.unknown[key];
    unknown.why = reason;
    unknown.stores.push_back(&store);
  };
  for (const auto& bad : read->unreadable) note(bad.key, bad.reason, bad.newer);
  for (const auto& saved : read->records) {
    Record parsed;
    const std::string flaw =
        parsed.ParseFromString(saved.bytes) ? FlawOf(parsed) : "does not parse";
    flaw.empty() ? take(saved.key, std::move(parsed)) : note(saved.key, flaw, false);
  }
  return OkStatus();
}

/// Half of the records of a pod is worth nothing: a grant without its terminal status starts it
/// again.
void LeaveOutUnknown(DiskRecords::All& all) {
  const auto unknown = [&all](const auto& saved) {
    return all.unknown.contains(bus::KeyOf(saved.uid()));
  };
  std::erase_if(all.workers, unknown);
  std::erase_if(all.permanent, unknown);
  std::erase_if(all.probes, unknown);
  std::erase_if(all.restarts,
                [&all](const auto& entry) { return all.unknown.contains(entry.first); });
  std::erase_if(all.started_attempts, [&all](const auto& entry) {
    return all.unknown.contains(bus::KeyOf(entry.first));
  });
}

}  // namespace

std::string RecordsStrand(const std::string& uid) {
  constexpr size_t kWriters = 8;
  return fmt::format("records/{}", std::hash<std::string>{}(uid) % kWriters);
}

DiskRecords::All::All() = default;
DiskRecords::All::~All() = default;
DiskRecords::All::All(All&&) noexcept = default;
DiskRecords::All& DiskRecords::All::operator=(All&&) noexcept = default;

DiskRecords::DiskRecords(fs::FileSystem& files, const Clock& clock, const std::string& run_dir,
                         const std::string& state_dir)
    : workers_(files, clock, ThisBoot(run_dir, "workers")),
      restarts_(files, clock, ThisBoot(run_dir, "restarts")),
      probes_(files, clock, ThisBoot(run_dir, "probes")),
      holds_(files, clock, ThisBoot(run_dir, "holds")),
      node_(files, clock, ThisBoot(run_dir, "node")),
      permanent_(files, clock,
                 {.directory = state_dir + "/pod-worker/pods",
                  .schema = kSchema,
                  .reserve_directory = state_dir + "/pod-worker/reserve"}),
      begun_(files, clock, {.directory = state_dir + "/pod-worker/begun", .schema = kSchema}) {}

StatusOr<DiskRecords::All> DiskRecords::ReadAll(Duration max_backoff) const {
  All all;
  RETURN_IF_ERROR(ReadStore<v1::SavedWorker>(workers_, Loss::kPod, all,
                                             [&](const std::string&, v1::SavedWorker saved) {
                                               all.workers.push_back(std::move(saved));
                                             }),
                  "read workers");
  RETURN_IF_ERROR(ReadStore<v1::SavedPodRestarts>(
                      restarts_, Loss::kDelay, all,
                      [&](const std::string& key, const v1::SavedPodRestarts& saved) {
                        all.restarts.emplace(
                            key, SavedRestarts{ToState(saved, max_backoff), saved.incarnation()});
                      }),
                  "read restarts");
  RETURN_IF_ERROR(ReadStore<v1::SavedProbes>(probes_, Loss::kDelay, all,
                                             [&](const std::string&, v1::SavedProbes saved) {
                                               all.probes.push_back(std::move(saved));
                                             }),
                  "read probes");
  RETURN_IF_ERROR(ReadStore<v1::SavedHold>(holds_, Loss::kHold, all,
                                           [&](const std::string& key, v1::SavedHold saved) {
                                             all.holds.emplace(key, std::move(saved));
                                           }),
                  "read holds");
  RETURN_IF_ERROR(ReadStore<v1::SavedNode>(node_, Loss::kNode, all,
                                           [&](const std::string&, const v1::SavedNode& saved) {
                                             all.node_ips.assign(saved.ips().begin(),
                                                                 saved.ips().end());
                                           }),
                  "read the node's addresses");
  RETURN_IF_ERROR(ReadStore<v1::SavedPod>(permanent_, Loss::kPod, all,
                                          [&](const std::string&, v1::SavedPod saved) {
                                            all.permanent.push_back(std::move(saved));
                                          }),
                  "read terminal statuses");
  RETURN_IF_ERROR(ReadStore<v1::SavedPod>(begun_, Loss::kPod, all,
                                          [&](const std::string&, const v1::SavedPod& saved) {
                                            all.started_attempts[saved.uid()] = {
                                                cri::FromProto(saved.started_attempts()),
                                                saved.incarnation()};
                                          }),
                  "read what has begun");
  LeaveOutUnknown(all);
  return all;
}

StatusOr<std::vector<std::string>> DiskRecords::PutAside(const std::string& key,
                                                         const All::Unknown& unknown) const {
  std::vector<std::string> paths;
  for (const fs::RecordStore* store : unknown.stores) {
    auto path = store->PutAside(key);
    if (path.status().code() == StatusCode::kNotFound) continue;
    RETURN_IF_ERROR(path, "put aside");
    paths.push_back(*std::move(path));
  }
  return paths;
}

Status DiskRecords::SaveWorker(const v1::SavedWorker& saved) const {
  return Annotate(SaveRecord(workers_, saved, false), "save worker");
}

Status DiskRecords::SavePermanent(const v1::SavedPod& saved, bool sync) const {
  return Annotate(SaveRecord(permanent_, saved, sync), "save terminal status");
}

Status DiskRecords::SaveRestart(const std::string& uid, int64_t incarnation,
                                const RestartState& state) const {
  v1::SavedPodRestarts saved;
  saved.set_incarnation(incarnation);
  for (const auto& [key, entry] : state.backoff.entries()) {
    auto& to = *saved.add_entries();
    to.set_key(key);
    to.set_delay_ns(entry.delay.count());
    ToProto(entry.advanced_at, *to.mutable_advanced_at());
    to.set_exited_id(entry.exited_id);
  }
  for (const auto& id : state.replacing) saved.add_replacing(id);
  for (const auto& [id, begun_at] : state.pre_stops) {
    auto& to = *saved.add_pre_stops();
    to.set_container_id(id);
    ToProto(begun_at, *to.mutable_begun_at());
  }
  return Annotate(restarts_.Save(bus::KeyOf(uid), saved.SerializeAsString(), false),
                  "save restarts");
}

Status DiskRecords::SaveStartedAttempts(const std::string& uid, int64_t incarnation,
                                        const cri::StartedAttempts& begun) const {
  v1::SavedPod saved;
  saved.set_uid(uid);
  saved.set_incarnation(incarnation);
  cri::ToProto(begun, *saved.mutable_started_attempts());
  return Annotate(begun_.Save(bus::KeyOf(uid), saved.SerializeAsString(), false),
                  "save started attempts");
}

Status DiskRecords::SaveProbes(const v1::SavedProbes& saved) const {
  return Annotate(probes_.Save(bus::KeyOf(saved.uid()), saved.SerializeAsString(), false),
                  "save probes");
}

Status DiskRecords::SaveHold(const std::string& hold_id, const v1::SavedHold& saved) const {
  // A hold may use the reserve: gc's removals under the hold free space.
  return Annotate(holds_.SaveForEnd(hold_id, saved.SerializeAsString(), false), "save hold");
}

Status DiskRecords::SaveNodeIps(const std::vector<std::string>& ips) const {
  v1::SavedNode saved;
  for (const auto& ip : ips) saved.add_ips(ip);
  return Annotate(node_.Save(kAddresses, saved.SerializeAsString(), false),
                  "save the node's addresses");
}

Status DiskRecords::KeepRoom() const {
  for (const auto* store : {&workers_, &restarts_, &probes_, &holds_, &node_, &permanent_, &begun_})
    RETURN_IF_ERROR(store->KeepRoom(), "keep room");
  return OkStatus();
}

Status DiskRecords::GiveRoom() const {
  RETURN_IF_ERROR(workers_.GiveRoom(), "give room");
  return Annotate(permanent_.GiveRoom(), "give room");
}

Status DiskRecords::ForgetWorker(const std::string& uid) const {
  RETURN_IF_ERROR(ForgetProbes(uid), "probes");
  RETURN_IF_ERROR(restarts_.Forget(bus::KeyOf(uid)), "forget restarts");
  return Annotate(workers_.Forget(bus::KeyOf(uid)), "forget worker");
}

Status DiskRecords::ForgetProbes(const std::string& uid) const {
  return Annotate(probes_.Forget(bus::KeyOf(uid)), "forget probes");
}

Status DiskRecords::ForgetPermanent(const std::string& uid) const {
  RETURN_IF_ERROR(begun_.Forget(bus::KeyOf(uid)), "forget what has begun");
  return Annotate(permanent_.Forget(bus::KeyOf(uid)), "forget terminal status");
}

Status DiskRecords::ForgetHold(const std::string& hold_id) const {
  return Annotate(holds_.Forget(hold_id), "forget hold");
}

}  // namespace splitlet::pod_worker
