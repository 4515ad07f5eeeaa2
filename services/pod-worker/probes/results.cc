#include "services/pod-worker/probes/results.h"

#include <memory>

#include "splitlet/v1/pod_worker_records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kPutAgain = 1s;

v1::SavedProbes ToRecord(const std::string& uid,
                         const std::map<ProbeResults::Key, ProbeResults::Kept>& probes) {
  v1::SavedProbes saved;
  saved.set_uid(uid);
  for (const auto& [key, kept] : probes) {
    auto& entry = *saved.add_entries();
    entry.set_container_id(key.first);
    entry.set_kind(std::string(NameOf(key.second)));
    if (kept.state.result) entry.set_result(*kept.state.result);
    entry.set_last(kept.state.last);
    entry.set_row(kept.state.row);
    entry.set_on_hold(kept.state.on_hold);
    ToProto(kept.due, *entry.mutable_due());
  }
  return saved;
}

ProbeResultsById ResultsIn(const v1::SavedProbes& saved) {
  ProbeResultsById results;
  for (const auto& entry : saved.entries())
    if (const auto kind = ProbeKindOf(entry.kind()); kind && entry.has_result())
      results[entry.container_id()][*kind] = entry.result();
  return results;
}

/// A liveness probe failed, or a startup probe has a result.
bool Decides(const ProbeResultsById& before, const ProbeResultsById& now) {
  for (const auto& [id, results] : now) {
    for (const auto& [kind, success] : results) {
      if (ResultOf(before, id, kind) == success || kind == ProbeKind::kReadiness) continue;
      if (kind == ProbeKind::kStartup || !success) return true;
    }
  }
  return false;
}

}  // namespace

void ProbeResults::OnRead(const v1::SavedProbes& saved) {
  Pod& pod = pods_[saved.uid()];
  for (const auto& entry : saved.entries()) {
    const auto kind = ProbeKindOf(entry.kind());
    if (!kind) continue;
    ProbeState state{.last = entry.last(), .row = entry.row(), .on_hold = entry.on_hold()};
    if (entry.has_result()) state.result = entry.result();
    pod.probes[{entry.container_id(), *kind}] = {state, FromProto(entry.due())};
  }
  pod.published = ResultsIn(saved);
}

const ProbeResults::Kept* ProbeResults::Find(const std::string& uid, const Key& key) const {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return nullptr;
  const auto kept = pod->second.probes.find(key);
  return kept == pod->second.probes.end() ? nullptr : &kept->second;
}

const ProbeResultsById& ProbeResults::Of(const std::string& uid) const {
  static const ProbeResultsById kNone;
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? kNone : pod->second.published;
}

void ProbeResults::Set(const std::string& uid, const Key& key, Kept kept) {
  pods_[uid].probes[key] = kept;
  Save(uid);
}

void ProbeResults::Retain(const std::string& uid, const std::set<std::string>& container_ids) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  std::erase_if(pod->second.probes,
                [&](const auto& entry) { return !container_ids.contains(entry.first.first); });
  std::erase_if(pod->second.published,
                [&](const auto& entry) { return !container_ids.contains(entry.first); });
}

void ProbeResults::Forget(const std::string& uid) {
  if (pods_.erase(uid) == 0) return;
  deps_.env.strands.Run(RecordsStrand(uid), [this, uid] {
    deps_.env.log.LogIfError(deps_.records.ForgetProbes(uid),
                             "remove the saved probe results of a pod");
  });
}

/// One save at a time; changes during a save go into the next one.
void ProbeResults::Save(const std::string& uid) {
  Pod& pod = pods_[uid];
  pod.again = true;
  if (pod.saving) return;
  pod.saving = true;
  pod.again = false;
  auto record = std::make_shared<const v1::SavedProbes>(ToRecord(uid, pod.probes));
  asker_.Ask(
      RecordsStrand(uid),
      [&records = deps_.records, record] { return records.SaveProbes(*record); },
      [this, record](const Status& status) { OnSaved(*record, status); });
}

void ProbeResults::OnSaved(const v1::SavedProbes& saved, const Status& status) {
  const std::string& uid = saved.uid();
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;  // Forget removes its file after this save
  Pod& pod = found->second;
  pod.saving = false;
  if (!status.ok()) {
    const std::string why(Message(status));
    if (std::exchange(pod.error, why) != why)
      deps_.env.log.Error("cannot save probe results of a pod, will save again",
                          {KV("podUID", uid), KV("err", status)});
    pod.saving = true;
    asker_.RunAfter(kPutAgain, [this, uid] {
      const auto same = pods_.find(uid);
      if (same == pods_.end()) return;
      same->second.saving = false;
      Save(uid);
    });
    return;
  }
  pod.error.clear();
  ProbeResultsById results = ResultsIn(saved);
  // Containers that Retain forgot during the save stay forgotten.
  std::erase_if(results, [&](const auto& entry) {
    return std::ranges::none_of(
        pod.probes, [&](const auto& probe) { return probe.first.first == entry.first; });
  });
  const ProbeResultsById before = std::exchange(pod.published, std::move(results));
  const bool changed = before != pod.published;
  const bool decides = Decides(before, pod.published);
  if (pod.again) Save(uid);
  if (changed) deps_.on_published(uid, decides);
}

}  // namespace splitlet::pod_worker
