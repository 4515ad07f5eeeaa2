#include "services/pod-worker/volumes/csi/mount_desk.h"

#include <utility>

namespace splitlet::pod_worker {

SetUpResult MountDesk::Mount(const PodVolumeKey& key, Wish wish, bool for_start) {
  bool mounted = false;
  auto failed = pods_.With([&](Pods& pods) -> std::optional<SetUpResult> {
    pods.released.erase(key.pod_uid);
    Mounting& entry = pods.mounting[key];
    mounted = entry.mounted;
    auto why = std::exchange(entry.failed, std::nullopt);
    if (why && !(mounted && for_start)) return why;
    entry.waits = !mounted;
    return std::nullopt;
  });
  if (failed) return *std::move(failed);
  if (mounted && for_start) return Progress::kDone;
  Post([this, key, mounted, wish = std::move(wish)]() mutable {
    inbox_.on_wish(key, std::move(wish), mounted);
  });
  return mounted ? Progress::kDone : Progress::kUnderWay;
}

StatusOr<Progress> MountDesk::Unmount(const PodVolumeKey& key, const std::string& directory) {
  bool is_new = false;
  const auto answer = pods_.With([&](Pods& pods) -> std::optional<Status> {
    pods.mounting.erase(key);
    const auto [at, added] = pods.leaving.try_emplace(key);
    is_new = added;
    auto given = at->second.answer;
    if (given) pods.leaving.erase(at);
    return given;
  });
  if (answer) return Done(*answer);
  if (is_new) Post([this, key, directory] { inbox_.on_unmount(key, directory); });
  return Progress::kUnderWay;
}

StatusOr<Progress> MountDesk::Release(const std::string& uid) {
  bool is_new = false;
  const Progress progress = pods_.With([&](Pods& pods) {
    const bool released = pods.released.erase(uid) > 0;
    if (released)
      std::erase_if(pods.mounting, [&uid](const auto& one) { return one.first.pod_uid == uid; });
    const auto first = pods.mounting.lower_bound({uid, ""});
    if (first == pods.mounting.end() || first->first.pod_uid != uid) return Progress::kDone;
    is_new = pods.releasing.insert(uid).second;
    return Progress::kUnderWay;
  });
  if (is_new) Post([this, uid] { inbox_.on_release(uid); });
  return progress;
}

/// A pod that does not wait is woken too when its volume is mounted: it may have had a failure as
/// its answer before.
void MountDesk::OnMounted(const PodVolumeKey& key, const SetUpResult& result) {
  const bool wakes = pods_.With([&](Pods& pods) {
    const auto found = pods.mounting.find(key);
    if (found == pods.mounting.end()) return false;
    Mounting& entry = found->second;
    const bool was_mounted = entry.mounted;
    const bool waits = std::exchange(entry.waits, false);
    if (!result.ok()) {
      entry.failed = result;
      return waits;
    }
    entry.mounted = true;
    entry.failed.reset();
    return waits || !was_mounted;
  });
  if (wakes) inbox_.wake(key.pod_uid);
}

void MountDesk::OnUnmounted(const PodVolumeKey& key, const Status& result) {
  pods_.With([&](Pods& pods) { pods.leaving[key].answer = result; });
  inbox_.wake(key.pod_uid);
}

void MountDesk::OnReleased(const std::string& uid) {
  pods_.With([&](Pods& pods) {
    pods.releasing.erase(uid);
    pods.released.insert(uid);
  });
  inbox_.wake(uid);
}

}  // namespace splitlet::pod_worker
