#include "services/pod-worker/api_objects/claim_lookups.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "libs/apiclient/client.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kClaimRetry = 1s;

/// The part of an answer that matters to a pod.
std::string Digest(const ClaimLookups::Found& found) {
  const auto& [claim, volume, may_use] = found;
  return fmt::format("{} {} {}", claim.ok() ? (*claim)->status().phase() : Message(claim.status()),
                     claim.ok() ? (*claim)->spec().volume_name() : "",
                     volume.ok() ? (*volume)->spec().claim_ref().uid() : Message(volume.status()));
}

bool IsForOnePod(const ClaimLookups::Found& found) {
  if (!found.volume.ok()) return false;
  const auto& modes = (*found.volume)->spec().access_modes();
  return modes.size() == 1 && modes[0] == "ReadWriteOncePod";
}

}  // namespace

void ClaimLookups::Hold(const Pod& pod, const std::set<std::string>& names) {
  std::set<ObjectName> wanted;
  for (const auto& name : names) wanted.insert({pod.name_space, name});
  auto before = std::exchange(names_[pod.uid], wanted);
  for (const auto& name : wanted) {
    Entry& entry = entries_[name];
    if (entry.number == 0) entry.number = ++last_number_;
    entry.pods[pod.uid] = pod.order;
    before.erase(name);
  }
  for (const auto& name : before) {
    const auto found = entries_.find(name);
    Entry& entry = found->second;
    entry.pods.erase(pod.uid);
    if (entry.pods.empty()) {
      entries_.erase(found);
    } else if (entry.user == pod.uid) {
      entry.user.clear();
      Report(entry, true);
    }
  }
  if (wanted.empty()) names_.erase(pod.uid);
}

bool ClaimLookups::IsBound(const Entry& entry) {
  const auto& [claim, volume, may_use] = entry.found;
  return claim.ok() && volume.ok() && (*claim)->status().phase() == "Bound" &&
         (*volume)->spec().claim_ref().uid() == (*claim)->metadata().uid();
}

bool ClaimLookups::Refresh(const std::string& uid) {
  const auto names = names_.find(uid);
  if (names == names_.end()) return true;
  const Clock::Time now = deps_.context.clock.Now();
  bool all = true;
  for (const auto& name : names->second) {
    Entry& entry = entries_.at(name);
    const bool waits = entry.answered && now - entry.answered_at < kClaimRetry;
    if (!entry.asking && !IsBound(entry) && !waits) Ask(name, entry);
    all = all && entry.answered;
  }
  return all;
}

void ClaimLookups::Ask(const ObjectName& name, Entry& entry) {
  entry.asking = true;
  auto into = std::make_shared<Claim>();
  deps_.calls.Get(fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}",
                              apiclient::Escaped(name.name_space), apiclient::Escaped(name.name)),
                  into, [this, name, number = entry.number, into](const Status& status) {
                    if (!status.ok()) return OnClaim(name, number, status);
                    OnClaim(name, number, ObjectPtr<Claim>(into));
                  });
}

ClaimLookups::Entry* ClaimLookups::Find(const ObjectName& name, uint64_t number) {
  const auto found = entries_.find(name);
  return found == entries_.end() || found->second.number != number ? nullptr : &found->second;
}

/// An error does not replace a known claim.
void ClaimLookups::OnClaim(const ObjectName& name, uint64_t number,
                           StatusOr<ObjectPtr<Claim>> claim) {
  Entry* const entry = Find(name, number);
  if (entry == nullptr) return;
  const bool answered = claim.ok() || claim.status().code() == StatusCode::kNotFound;
  if (answered || !entry->found.claim.ok()) entry->found.claim = std::move(claim);
  const auto& known = entry->found.claim;
  const std::string volume = known.ok() ? (*known)->spec().volume_name() : std::string();
  if (!answered || volume.empty()) return OnAnswered(*entry);
  auto into = std::make_shared<PersistentVolume>();
  deps_.calls.Get("/api/v1/persistentvolumes/" + apiclient::Escaped(volume), into,
                  [this, name, number, into](const Status& status) {
                    if (!status.ok()) return OnVolume(name, number, status);
                    OnVolume(name, number, ObjectPtr<PersistentVolume>(into));
                  });
}

void ClaimLookups::OnVolume(const ObjectName& name, uint64_t number,
                            StatusOr<ObjectPtr<PersistentVolume>> volume) {
  Entry* const entry = Find(name, number);
  if (entry == nullptr) return;
  entry->found.volume = std::move(volume);
  OnAnswered(*entry);
}

void ClaimLookups::OnAnswered(Entry& entry) {
  entry.asking = false;
  entry.answered = true;
  entry.answered_at = deps_.context.clock.Now();
  std::string now = Digest(entry.found);
  const bool changed = entry.reported != now;
  entry.reported = std::move(now);
  Report(entry, changed);
}

void ClaimLookups::Report(const Entry& entry, bool changed) {
  const auto pods = entry.pods;
  for (const auto& [uid, order] : pods) deps_.on_answer(uid, changed);
}

std::map<std::string, ClaimLookups::Found> ClaimLookups::Of(const std::string& uid) {
  std::map<std::string, Found> all;
  const auto names = names_.find(uid);
  if (names == names_.end()) return all;
  for (const auto& name : names->second) {
    Entry& entry = entries_.at(name);
    if (entry.user.empty() && IsForOnePod(entry.found))
      entry.user = std::ranges::min_element(entry.pods, {}, [](const auto& pod) {
                     return pod.second;
                   })->first;
    Found& found = all[name.name] = entry.found;
    found.may_use = entry.user.empty() || entry.user == uid;
  }
  return all;
}

}  // namespace splitlet::pod_worker
