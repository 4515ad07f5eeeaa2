#include "services/pod-worker/cgroups/pod_cgroups.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/unfinished.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint64_t kMaxMark = 4096;

}  // namespace

PodCgroups::PodCgroups(Deps deps, CgroupSettings settings)
    : deps_(std::move(deps)), settings_(std::move(settings)) {
  if (deps_.kernel == nullptr || !settings_.layout) return;
  tree_.emplace(*deps_.kernel, *settings_.layout, deps_.slices);
  deps_.metrics.cgroup_version.Add({}).Set(settings_.layout->version == cgroup::Version::kV2 ? 2
                                                                                             : 1);
}

Status PodCgroups::EnforceReserved() const {
  for (const ReservedCgroup& each : settings_.reserved) {
    const std::string path = cgroup::CgroupfsPath(each.name);
    const std::string what =
        fmt::format("Failed to enforce {} Reserved Cgroup Limits on \"{}\"", each.of, path);
    ASSIGN_OR_RETURN(const bool there, tree_->Exists(each.name), "{}", what);
    if (!there) return FailedPrecondition("{}: \"{}\" cgroup does not exist", what, path);
    RETURN_IF_ERROR(tree_->Set(each.name, each.limits), "{}", what);
  }
  return OkStatus();
}

Status PodCgroups::LimitAll() const {
  if (!settings_.enabled || !tree_) return OkStatus();
  const cgroup::Name node = InTree(cgroup::NodeName(settings_.root));
  RETURN_IF_ERROR(tree_->Make(node), "{}", cgroup::CgroupfsPath(node));
  RETURN_IF_ERROR(Measured("update", [&] { return tree_->Set(node, settings_.node_limits); }),
                  "Failed to update Node Allocatable Limits \"{}\"", cgroup::CgroupfsPath(node));
  return OkStatus();
}

Status PodCgroups::Prepare() const {
  deps_.log.LogIfError(fs::RemoveUnfinished(deps_.files, deps_.marks_dir),
                       "remove marks of cgroups that were being written");
  if (!settings_.enabled) return OkStatus();
  if (!tree_) return FailedPrecondition("no whole hierarchy of cgroups is mounted");
  const cgroup::Name root = InTree(settings_.root);
  ASSIGN_OR_RETURN(const bool there, tree_->Exists(root), "cgroupRoot");
  if (!there)
    return InvalidArgument("invalid configuration: cgroupRoot: there is no cgroup {}",
                           cgroup::CgroupfsPath(root));
  const cgroup::Name node = InTree(cgroup::NodeName(settings_.root));
  RETURN_IF_ERROR(tree_->Make(node), "{}", cgroup::CgroupfsPath(node));
  RETURN_IF_ERROR(EnforceReserved(), "enforceNodeAllocatable");
  // The cgroups of an earlier start keep the shares that suit the running pods.
  ASSIGN_OR_RETURN(
      const bool shared,
      tree_->Exists(InTree(cgroup::QosName(settings_.root, kube::QosClass::kBurstable))),
      "class Burstable");
  // The kernel refuses a limit below the present usage, and may accept it later.
  deps_.log.LogIfError(LimitAll(), "limit the cgroup of all pods");
  if (!shared) deps_.log.LogIfError(SetShares({}), "set the CPU shares of the QoS classes");
  return OkStatus();
}

/// Without `keep`, resets the values that an earlier configuration set.
Status PodCgroups::KeepMemory(const ClassRequests& requests) const {
  const MemoryQos& qos = deps_.node.memory_qos;
  if (!qos.on) return OkStatus();
  const int64_t burstable = qos.keep ? requests.burstable_memory_bytes : 0;
  const int64_t guaranteed = qos.keep ? requests.guaranteed_memory_bytes : 0;
  const Status all = tree_->Set(InTree(cgroup::NodeName(settings_.root)),
                                {.memory_min_bytes = guaranteed + burstable});
  const Status low = tree_->Set(InTree(cgroup::QosName(settings_.root, kube::QosClass::kBurstable)),
                                {.memory_min_bytes = 0, .memory_low_bytes = burstable});
  return all.ok() ? low : all;
}

Status PodCgroups::SetShares(const ClassRequests& requests) const {
  if (!settings_.enabled || !tree_) return OkStatus();
  const struct {
    kube::QosClass qos;
    int64_t millicores;
  } kClasses[] = {{kube::QosClass::kBurstable, requests.burstable_millicores},
                  {kube::QosClass::kBestEffort, 0}};
  Status first;
  for (const auto& each : kClasses) {
    const cgroup::Name name = InTree(cgroup::QosName(settings_.root, each.qos));
    Status set = tree_->Make(name);
    if (set.ok())
      set = Measured("update", [&] {
        return tree_->Set(name, QosCgroupLimits(each.millicores, deps_.node.huge_pages));
      });
    if (!set.ok() && first.ok()) first = set;
  }
  const Status kept = KeepMemory(requests);
  return first.ok() ? kept : first;
}

StatusOr<std::optional<cgroup::Name>> PodCgroups::ReadMark(const std::string& uid) const {
  auto text = deps_.files.Read(MarkOf(uid), kMaxMark);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<cgroup::Name>();
  RETURN_IF_ERROR(text, "{}", MarkOf(uid));
  if (text->empty())
    return std::optional<cgroup::Name>();  // a power cut: the content was never written
  if (text->ends_with('\n')) text->pop_back();
  auto name = cgroup::ParseCgroupfsPath(*text);
  if (!name.ok() || name->size() < 2 || cgroup::PodUidOf(name->back()) != uid)
    return FailedPrecondition("{}: \"{}\" is not a cgroup of this pod", MarkOf(uid), *text);
  return std::optional(std::move(*name));
}

Status PodCgroups::Limit(const kube::Pod& pod, const cgroup::Name& name) const {
  ASSIGN_OR_RETURN(const auto limits,
                   PodCgroupLimits({.pod = pod,
                                    .cpu_quota = deps_.node.cpu_quota,
                                    .cpu_period_us = deps_.node.cpu_period_us,
                                    .pids = settings_.pod_pids,
                                    .huge_pages = deps_.node.huge_pages,
                                    .keep_memory = deps_.node.memory_qos.keep}),
                   "limits");
  return tree_->Set(name, limits);
}

StatusOr<cgroup::Name> PodCgroups::NameOf(const kube::Pod& pod) const {
  ASSIGN_OR_RETURN(const auto qos, kube::QosOf(pod), "class");
  return InTree(cgroup::PodName(settings_.root, qos, pod.metadata().uid()));
}

Status PodCgroups::Mark(const std::string& uid, const cgroup::Name& name) const {
  FAIL_POINT("pod-worker.mark-cgroup.before");
  RETURN_IF_ERROR(deps_.files.Replace(MarkOf(uid), cgroup::CgroupfsPath(name) + "\n", {}), "{}",
                  MarkOf(uid));
  FAIL_POINT("pod-worker.mark-cgroup.after");
  return OkStatus();
}

Status PodCgroups::Adopt(const kube::Pod& pod) const {
  if (!settings_.enabled || !tree_) return OkStatus();
  const std::string& uid = pod.metadata().uid();
  ASSIGN_OR_RETURN(const auto mark, ReadMark(uid), "mark");
  if (mark) return OkStatus();
  ASSIGN_OR_RETURN(const auto name, NameOf(pod), "name");
  ASSIGN_OR_RETURN(const bool there, tree_->Exists(name), "{}", cgroup::CgroupfsPath(name));
  return there ? Mark(uid, name) : OkStatus();
}

/// A pod keeps its cgroup when the configuration changes.
StatusOr<std::string> PodCgroups::Ensure(const kube::Pod& pod) const {
  if (!tree_) return std::string();
  const std::string& uid = pod.metadata().uid();
  ASSIGN_OR_RETURN(auto name, ReadMark(uid), "mark");
  if (!name && !settings_.enabled) return std::string();
  if (!name) {
    ASSIGN_OR_RETURN(name, NameOf(pod), "name");
    RETURN_IF_ERROR(Mark(uid, *name), "mark");
  }
  const std::string path = cgroup::CgroupfsPath(*name);
  RETURN_IF_ERROR(Measured("create", [&] { return tree_->Make(*name); }), "{}", path);
  deps_.log.LogIfError(Measured("update", [&] { return Limit(pod, *name); }),
                       "limit the cgroup of a pod");
  return path;
}

StatusOr<std::string> PodCgroups::ParentOf(const std::string& uid) const {
  if (!tree_) return std::string();
  ASSIGN_OR_RETURN(const auto name, ReadMark(uid), "mark");
  return name ? cgroup::CgroupfsPath(*name) : std::string();
}

StatusOr<bool> PodCgroups::IsGone(const std::string& uid) const {
  if (!settings_.enabled || !tree_) return false;
  ASSIGN_OR_RETURN(const auto name, ReadMark(uid), "mark");
  if (!name) return false;
  ASSIGN_OR_RETURN(const bool there, tree_->Exists(*name), "{}", cgroup::CgroupfsPath(*name));
  return !there;
}

Status PodCgroups::LowerShares(const std::string& uid) const {
  if (!tree_) return OkStatus();
  ASSIGN_OR_RETURN(const auto name, ReadMark(uid), "mark");
  if (!name) return OkStatus();
  ASSIGN_OR_RETURN(const bool there, tree_->Exists(*name), "{}", cgroup::CgroupfsPath(*name));
  return there ? tree_->Set(*name, {.cpu_shares = cgroup::kMinShares}) : OkStatus();
}

Status PodCgroups::Destroy(const std::string& uid) const {
  if (!tree_) return OkStatus();
  ASSIGN_OR_RETURN(const auto name, ReadMark(uid), "mark");
  if (!name) return OkStatus();
  RETURN_IF_ERROR(Measured("destroy", [&] { return tree_->Destroy(*name); }), "{}",
                  cgroup::CgroupfsPath(*name));
  FAIL_POINT("pod-worker.unmark-cgroup.before");
  RETURN_IF_ERROR(deps_.files.Remove(MarkOf(uid)), "{}", MarkOf(uid));
  FAIL_POINT("pod-worker.unmark-cgroup.after");
  return OkStatus();
}

StatusOr<std::vector<std::string>> PodCgroups::ListMarked() const {
  std::vector<std::string> uids;
  if (!tree_) return uids;
  const auto marks = deps_.files.List(deps_.marks_dir);
  if (marks.status().code() == StatusCode::kNotFound) return uids;
  RETURN_IF_ERROR(marks, "{}", deps_.marks_dir);
  for (const auto& mark : *marks)
    if (!mark.name.starts_with('.')) uids.push_back(mark.name);
  return uids;
}

}  // namespace splitlet::pod_worker
