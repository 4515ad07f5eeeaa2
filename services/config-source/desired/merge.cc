#include "services/config-source/desired/merge.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <set>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"
#include "libs/kube/same_pod.h"

namespace splitlet::config_source {
namespace {

const std::string kLocalKeys[] = {std::string(kube::kConfigSource),
                                  std::string(kube::kConfigMirror), std::string(kube::kConfigSeen)};

/// The fields whose change is a change of the pod, without the status.
kube::Pod Comparable(const kube::Pod& pod) {
  kube::Pod out;
  *out.mutable_spec() = pod.spec();
  auto& meta = *out.mutable_metadata();
  const auto& from = pod.metadata();
  *meta.mutable_labels() = from.labels();
  *meta.mutable_annotations() = from.annotations();
  for (const auto& key : kLocalKeys) meta.mutable_annotations()->erase(key);
  if (from.has_deletion_timestamp()) *meta.mutable_deletion_timestamp() = from.deletion_timestamp();
  if (from.has_deletion_grace_period_seconds())
    meta.set_deletion_grace_period_seconds(from.deletion_grace_period_seconds());
  return out;
}

kube::Pod OnlyStatus(const kube::Pod& pod) {
  kube::Pod out;
  *out.mutable_status() = pod.status();
  return out;
}

/// Versions are numbers that grow. A saved pod may have an earlier one.
bool IsLaterVersion(const kube::ObjectMeta& before, const kube::ObjectMeta& after) {
  const auto number = [](const std::string& text) {
    uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  return number(after.resource_version()) > number(before.resource_version());
}

/// A stored record that cannot be parsed counts as changed. With `versions`, a pod of a later
/// version is put again even if it means the same: in between it may have been different, so
/// readers must drop what they concluded from the older version.
std::optional<Operation> ClassifyBytes(const std::string& stored, const std::string& wanted,
                                       bool versions) {
  const auto before = kube::ParsePod(stored), after = kube::ParsePod(wanted);
  if (!before.ok() || !after.ok()) return Operation::kUpdate;
  const auto operation = Classify(*before, *after);
  if (operation || !versions || !IsLaterVersion(before->metadata(), after->metadata()))
    return operation;
  return Operation::kReconcile;
}

std::optional<Operation> OperationFor(const DesiredPod* known, const WantedPod& wanted) {
  const SourcePod& pod = *wanted.pod;
  // The server forbids turning a pod into a mirror pod, or back.
  if (known != nullptr && known->IsMirror() != pod.mirror) return std::nullopt;
  if (known == nullptr || known->IsRemoved()) return Operation::kAdd;
  if (known->pod == pod.bytes) return std::nullopt;
  if (known->baseline != nullptr &&
      (known->baseline == pod.bytes || *known->baseline == *pod.bytes))
    return std::nullopt;
  // An unconfirmed pod stays unconfirmed.
  const bool versions = known->source == kube::kApiSource && !wanted.unconfirmed;
  return ClassifyBytes(*known->pod, *pod.bytes, versions);
}

}  // namespace

std::string_view OperationName(Operation operation) {
  switch (operation) {
    case Operation::kRemove: return "REMOVE";
    case Operation::kAdd: return "ADD";
    case Operation::kUpdate: return "UPDATE";
    case Operation::kDelete: return "DELETE";
    case Operation::kReconcile: return "RECONCILE";
  }
  UNREACHABLE();
}

std::vector<std::string> OperationNames() {
  std::vector<std::string> names;
  for (const auto operation : {Operation::kRemove, Operation::kAdd, Operation::kUpdate,
                               Operation::kDelete, Operation::kReconcile})
    names.emplace_back(OperationName(operation));
  return names;
}

std::optional<Operation> Classify(const kube::Pod& stored, const kube::Pod& wanted) {
  if (kube::IsSamePod(Comparable(stored), Comparable(wanted))) {
    if (kube::IsSamePod(OnlyStatus(stored), OnlyStatus(wanted))) return std::nullopt;
    return Operation::kReconcile;
  }
  return wanted.metadata().has_deletion_timestamp() ? Operation::kDelete : Operation::kUpdate;
}

std::string DuplicateReason(const std::string& name) {
  return fmt::format("due to duplicate pod name \"{}\", ignoring", name);
}

MergeResult ComputeMerge(const DesiredPods& desired, const std::string& source,
                         const SourceSet& set) {
  MergeResult result;
  std::set<std::string> names, uids;
  for (const WantedPod& wanted : set.pods) {
    const SourcePod& pod = *wanted.pod;
    if (!names.insert(kube::FullName(pod.name, pod.name_space)).second) {
      result.ignored.push_back({wanted.pod, true, DuplicateReason(pod.name)});
      continue;
    }
    const auto at = desired.find(pod.uid);
    const DesiredPod* entry = at == desired.end() ? nullptr : &at->second;
    const bool other_source = entry != nullptr && !entry->IsRemoved() && entry->source != source;
    if (other_source || !uids.insert(pod.uid).second) {
      result.ignored.push_back({wanted.pod, false,
                                fmt::format("metadata.uid {} belongs to another pod of source {}",
                                            pod.uid, other_source ? entry->source : source)});
      continue;
    }
    if (const auto operation = OperationFor(entry, wanted))
      result.changes.push_back({*operation, pod.uid, wanted.pod});
  }
  for (const auto& [uid, entry] : desired) {
    const bool stays = entry.IsRemoved() || entry.source != source || uids.contains(uid) ||
                       set.undecided.contains(uid);
    if (!stays) result.changes.push_back({Operation::kRemove, uid, nullptr});
  }
  std::ranges::stable_sort(result.changes, {}, &Change::operation);
  return result;
}

std::string FormatSeen(WallTime time) {
  const auto since_epoch = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const std::time_t whole = seconds.count();
  std::tm local{};
  localtime_r(&whole, &local);
  const long offset = local.tm_gmtoff / 60;
  const std::string zone = offset == 0
                               ? "Z"
                               : fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+',
                                             std::labs(offset) / 60, std::labs(offset) % 60);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}{}", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     (since_epoch - seconds).count(), zone);
}

std::shared_ptr<const std::string> StampPod(const std::string& wanted, const std::string* stored,
                                            const std::string& source, WallTime now) {
  auto pod = kube::ParsePod(wanted);
  CHECK(pod.ok(), "a source delivered bytes that are no pod");
  auto& annotations = *pod->mutable_metadata()->mutable_annotations();
  const StatusOr<kube::Pod> before =
      stored == nullptr ? NotFound("no pod") : kube::ParsePod(*stored);
  if (before.ok()) {
    for (const auto& key : kLocalKeys) {
      const auto& old = before->metadata().annotations();
      if (const auto at = old.find(key); at != old.end()) annotations[key] = at->second;
    }
  } else {
    annotations[std::string(kube::kConfigSeen)] = FormatSeen(now);
  }
  annotations[std::string(kube::kConfigSource)] = source;
  return std::make_shared<const std::string>(kube::SerializeStable(*pod));
}

std::shared_ptr<const std::string> WithStatus(const std::string& stored,
                                              const std::string& wanted) {
  auto newer = kube::ParsePod(wanted), pod = kube::ParsePod(stored);
  CHECK(newer.ok(), "a source delivered bytes that are no pod");
  if (!pod.ok()) return std::make_shared<const std::string>(wanted);
  *pod->mutable_status() = std::move(*newer->mutable_status());
  // The version names the state of the server that the status belongs to.
  if (newer->metadata().has_resource_version())
    pod->mutable_metadata()->set_resource_version(newer->metadata().resource_version());
  return std::make_shared<const std::string>(kube::SerializeStable(*pod));
}

}  // namespace splitlet::config_source
