#include "libs/cri/observe.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/text.h"
#include "libs/cri/incarnation.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/restart_policy.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::cri {
namespace {

std::string Find(const StringMap& map, std::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? "" : ToText(found->second);
}

// 0 if absent or not a number.
int64_t FindNumber(const StringMap& map, std::string_view key) {
  const std::string text = Find(map, key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

bool IsIp(const std::string& text) {
  in6_addr bytes{};
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

v1::ContainerRecord::State ToRecord(ContainerState state) {
  switch (state) {
    case ContainerState::kCreated: return v1::ContainerRecord::CREATED;
    case ContainerState::kRunning: return v1::ContainerRecord::RUNNING;
    case ContainerState::kExited: return v1::ContainerRecord::EXITED;
    case ContainerState::kUnknown: return v1::ContainerRecord::UNKNOWN;
  }
  UNREACHABLE();
}

const v1::SandboxRecord* FindUnchanged(const v1::ObservedPod* known, const Sandbox& listed) {
  if (known == nullptr || listed.state != SandboxState::kReady) return nullptr;
  for (const auto& record : known->sandboxes()) {
    if (record.id() != listed.id.str()) continue;
    const bool told_all = record.host_network() || !record.ips().empty();
    return told_all && record.state() == v1::SandboxRecord::READY ? &record : nullptr;
  }
  return nullptr;
}

const v1::SandboxRecord* FindEnded(const v1::ObservedPod* known, const Sandbox& listed) {
  if (known == nullptr || listed.state == SandboxState::kReady) return nullptr;
  for (const auto& record : known->sandboxes())
    if (record.id() == listed.id.str()) return &record;
  return nullptr;
}

/// Limit of a user's groups in a record.
constexpr size_t kMaxGroups = 1024;

/// The runtime may learn the reason of an exit late: OOM events and exits arrive separately.
constexpr Duration kReasonSettles = std::chrono::seconds{10};

const v1::ContainerRecord* FindUnchanged(const v1::ObservedPod* known, const Container& listed,
                                         WallTime now) {
  const bool exited = listed.state == ContainerState::kExited;
  if (known == nullptr || (!exited && listed.state != ContainerState::kRunning)) return nullptr;
  for (const auto& record : known->containers()) {
    if (record.id() != listed.id.str()) continue;
    const bool settled =
        !exited || ToNanos(now) - record.finished_at_ns() > Duration(kReasonSettles).count();
    return settled && record.state() == ToRecord(listed.state) ? &record : nullptr;
  }
  return nullptr;
}

}  // namespace

v1::SandboxRecord ToRecord(const Sandbox& sandbox) {
  v1::SandboxRecord record;
  record.set_id(ToText(sandbox.id.str()));
  record.set_attempt(sandbox.attempt);
  record.set_state(sandbox.state == SandboxState::kReady ? v1::SandboxRecord::READY
                                                         : v1::SandboxRecord::NOT_READY);
  record.set_created_at_ns(sandbox.created_at_ns);
  for (const auto& ip : sandbox.ips) record.add_ips(ToText(ip));
  record.set_host_network(sandbox.host_network);
  record.set_node_annotation(Find(sandbox.annotations, kube::kNodeAnnotation));
  record.set_source_annotation(Find(sandbox.annotations, kube::kConfigSource));
  record.set_runtime_handler(ToText(sandbox.runtime_handler));
  record.set_incarnation(IncarnationOf(sandbox.annotations));
  return record;
}

v1::ContainerRecord ToRecord(const Container& container) {
  v1::ContainerRecord record;
  record.set_id(ToText(container.id.str()));
  record.set_sandbox_id(ToText(container.sandbox_id.str()));
  const std::string name = Find(container.labels, kube::kContainerNameLabel);
  record.set_name(name.empty() ? ToText(container.name) : name);
  record.set_attempt(container.attempt);
  record.set_state(ToRecord(container.state));
  record.set_created_at_ns(container.created_at_ns);
  const bool exited = container.state == ContainerState::kExited;
  if (container.state != ContainerState::kCreated)
    record.set_started_at_ns(container.started_at_ns);
  if (exited) {
    record.set_finished_at_ns(container.finished_at_ns);
    record.set_exit_code(container.exit_code);
    record.set_reason(ToText(container.reason));
    record.set_message(ToText(container.message, kMaxMessageBytes));
  }
  record.set_image(ToText(container.image));
  record.set_image_ref(ToText(container.image_ref));
  record.set_image_id(
      ToText(container.image_id.empty() ? container.image_ref : container.image_id));
  record.set_log_path(ToText(container.log_path));
  const StringMap& notes = container.annotations;
  record.set_hash(Find(notes, kube::kContainerHash));
  record.set_restart_count(static_cast<int32_t>(FindNumber(notes, kube::kContainerRestartCount)));
  const int64_t deletion_grace = FindNumber(notes, kube::kPodDeletionGracePeriod);
  record.set_grace_period_seconds(
      deletion_grace > 0 ? deletion_grace : FindNumber(notes, kube::kPodTerminationGracePeriod));
  record.set_termination_message_path(Find(notes, kube::kTerminationMessagePath));
  record.set_termination_message_policy(Find(notes, kube::kTerminationMessagePolicy));
  record.set_incarnation(IncarnationOf(notes));
  if (container.user) {
    auto& user = *record.mutable_user();
    user.set_uid(container.user->uid);
    user.set_gid(container.user->gid);
    const auto& groups = container.user->supplemental_groups;
    for (size_t i = 0; i < std::min(groups.size(), kMaxGroups); ++i)
      user.add_supplemental_groups(groups[i]);
  }
  if (container.resources) {
    auto& resources = *record.mutable_resources();
    resources.set_cpu_request_millis(container.resources->cpu_request_millis);
    resources.set_cpu_limit_millis(container.resources->cpu_limit_millis);
    resources.set_memory_limit_bytes(container.resources->memory_limit_bytes);
  }
  return record;
}

StatusOr<std::string> Observer::RuntimeName(const Deadline& deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (!runtime_name_.empty()) return runtime_name_;
  }
  ASSIGN_OR_RETURN(const RuntimeInfo info, deps_.reader.Version(deadline), "Version");
  const std::lock_guard lock(mutex_);
  runtime_name_ = info.name;
  return info.name;
}

StatusOr<PodListing> Observer::List(const std::string& uid, const Deadline& deadline) {
  // Taken before the calls, because the time must not be later than the answers.
  PodListing listing{.listed_at = deps_.clock.Now()};
  ASSIGN_OR_RETURN(listing.sandboxes, deps_.reader.ListPodSandbox(uid, deadline), "ListPodSandbox");
  ASSIGN_OR_RETURN(listing.containers, deps_.reader.ListContainers({.pod_uid = uid}, deadline),
                   "ListContainers");
  return listing;
}

StatusOr<v1::ObservedPod> Observer::Observe(const std::string& uid, const Deadline& deadline,
                                            const v1::ObservedPod* known,
                                            const PodListing* listing) {
  v1::ObservedPod pod;
  pod.set_uid(ToText(uid));
  ASSIGN_OR_RETURN(const std::string name, RuntimeName(deadline), "runtime");
  pod.set_runtime_name(ToText(name));
  PodListing own;
  if (listing == nullptr) {
    auto listed = List(uid, deadline);
    if (!listed.ok()) return listed.status();
    own = *std::move(listed);
  }
  const auto& [listed_at, sandboxes, containers] = listing == nullptr ? own : *listing;
  pod.mutable_listed_at()->set_boot(listed_at.boot);
  pod.mutable_listed_at()->set_monotonic_ns(listed_at.monotonic.count());
  if (!sandboxes.empty()) {
    pod.set_name(ToText(sandboxes.front().pod_name));
    pod.set_namespace_(ToText(sandboxes.front().pod_namespace));
  } else if (!containers.empty()) {
    pod.set_name(Find(containers.front().labels, kube::kPodNameLabel));
    pod.set_namespace_(Find(containers.front().labels, kube::kPodNamespaceLabel));
  }
  RETURN_IF_ERROR(AddSandboxes(sandboxes, {deadline, known}, pod), "sandboxes");
  RETURN_IF_ERROR(AddContainers(containers, {deadline, known}, pod), "containers");
  return pod;
}

Status Observer::AddSandboxes(const std::vector<Sandbox>& listed, const Look& look,
                              v1::ObservedPod& pod) {
  for (const Sandbox& sandbox : listed) {
    // The known record of an older sandbox may hold addresses that the sandbox has lost.
    const auto* unchanged = pod.sandboxes().empty() ? FindUnchanged(look.known, sandbox) : nullptr;
    if (unchanged != nullptr) {
      *pod.add_sandboxes() = *unchanged;
      continue;
    }
    if (const auto* ended = FindEnded(look.known, sandbox)) {
      v1::SandboxRecord& record = *pod.add_sandboxes();
      record = *ended;
      record.set_state(v1::SandboxRecord::NOT_READY);
      record.clear_ips();
      continue;
    }
    const auto status = deps_.reader.PodSandboxStatus(sandbox.id, look.deadline);
    if (status.status().code() == StatusCode::kNotFound) continue;  // removed since the listing
    RETURN_IF_ERROR(status.status(), "PodSandboxStatus {}", sandbox.id);
    v1::SandboxRecord record = ToRecord(*status);
    // Only the newest sandbox, while it is ready, has the pod's addresses.
    const bool newest = pod.sandboxes().empty();
    const bool valid = std::all_of(status->ips.begin(), status->ips.end(), IsIp);
    if (!newest || status->state != SandboxState::kReady || !valid) record.clear_ips();
    *pod.add_sandboxes() = std::move(record);
  }
  return OkStatus();
}

Status Observer::AddContainers(const std::vector<Container>& listed, const Look& look,
                               v1::ObservedPod& pod) {
  for (const Container& container : listed) {
    if (const auto* unchanged = FindUnchanged(look.known, container, deps_.clock.WallNow())) {
      *pod.add_containers() = *unchanged;
      continue;
    }
    auto status = deps_.reader.ContainerStatus(container.id, look.deadline);
    if (status.status().code() == StatusCode::kNotFound) continue;  // removed since the listing
    RETURN_IF_ERROR(status.status(), "ContainerStatus {}", container.id);
    // ContainerStatus of CRI does not name the sandbox.
    if (status->sandbox_id.empty()) status->sandbox_id = container.sandbox_id;
    if (deps_.read_tail) status->message = ResolveMessage(*status, deps_.read_tail);
    *pod.add_containers() = ToRecord(*status);
  }
  return OkStatus();
}

StatusOr<v1::ObservedPod> ObservePod(Reader& reader, const std::string& uid, const Clock& clock,
                                     const Deadline& deadline) {
  return Observer({reader, clock, {}}).Observe(uid, deadline);
}

bool RestartsAll(const kube::Container& container, const v1::ContainerRecord& record) {
  return record.state() == v1::ContainerRecord::EXITED && !IsLost(record) &&
         kube::RestartsAllAfterExit(container, record.exit_code());
}

SandboxCheck CheckSandbox(const kube::Pod& pod, const v1::ObservedPod& observed) {
  const auto& sandboxes = observed.sandboxes();
  if (sandboxes.empty()) return SandboxCheck::kAbsent;
  const auto is_ready = [](const v1::SandboxRecord& sandbox) {
    return sandbox.state() == v1::SandboxRecord::READY;
  };
  const v1::SandboxRecord& newest = sandboxes[0];
  if (!is_ready(newest) || std::count_if(sandboxes.begin(), sandboxes.end(), is_ready) > 1)
    return SandboxCheck::kNotReady;
  if (newest.host_network() != pod.spec().host_network()) return SandboxCheck::kOtherNetwork;
  const bool has_address = newest.host_network() || newest.ips_size() > 0;
  return has_address ? SandboxCheck::kUsable : SandboxCheck::kNoAddress;
}

}  // namespace splitlet::cri
