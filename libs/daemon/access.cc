#include "libs/daemon/access.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace splitlet::daemon {
namespace {

/// `callers`: "sync-loop|gc"; "*": every process. Root and `ctl` may call all.
struct Right {
  std::string_view process;  // "*": each
  std::string_view method;   // without "splitlet.v1."
  std::string_view callers;
};

// Lists follow the views of ARCHITECTURE.md's table; what has no row is for root, or root and ctl.
constexpr auto kRights = std::to_array<Right>({
    {"config-source", "Tables/List", "sync-loop|pod-worker|status|gc|node-api"},
    {"sync-loop", "Tables/List", "status"},
    {"pod-worker", "Tables/List", "config-source|sync-loop|status|gc"},
    {"pleg", "Tables/List", "sync-loop|status|gc|node-api"},
    {"status", "Tables/List", "sync-loop|node-api"},
    {"gc", "Tables/List", "sync-loop|status"},
    {"*", "Admin/GetProcess", "status"},
    {"config-source", "ConfigSource/GetPod", "sync-loop|pod-worker|gc"},
    {"pod-worker", "PodWorker/UpdatePod", "sync-loop"},
    {"pod-worker", "PodWorker/KillPod", "sync-loop|gc"},
    {"pod-worker", "PodWorker/HoldForRemoval", "gc"},
    {"pod-worker", "PodWorker/ReleaseHold", "gc"},
    {"pod-worker", "PodWorker/ListWorkers", "status"},
    {"pleg", "Pleg/GetPodStatus", "status"},
    {"pleg", "Pleg/GetHealth", "status"},
    {"status", "Status/RecordEvent", "*"},
});

constexpr std::string_view kOperator = "ctl";
/// A terminal status that is put aside may start a pod that has ended.
constexpr std::string_view kForRoot = "splitlet.v1.Admin/DiscardRecord";
constexpr std::string_view kPackage = "splitlet.v1.";

bool Names(std::string_view list, std::string_view name) {
  if (list == "*") return name != kOperator;
  while (!list.empty()) {
    const auto bar = list.find('|');
    if (list.substr(0, bar) == name) return true;
    list.remove_prefix(bar == std::string_view::npos ? list.size() : bar + 1);
  }
  return false;
}

struct Share {
  std::string_view method;
  rpc::MethodLimits limits;
};

// The rest has what MethodLimits begins with. Reserved is what views and health rest on.
constexpr auto kShares = std::to_array<Share>({
    {"Tables/List", {.request_bytes = 64 << 10, .per_caller = 4, .reserved = true}},
    {"Admin/GetProcess", {.request_bytes = 64 << 10, .per_caller = 4, .reserved = true}},
    {"Pleg/GetHealth", {.request_bytes = 64 << 10, .per_caller = 4, .reserved = true}},
    {"PodWorker/UpdatePod", {.request_bytes = 20 << 20, .per_caller = 24}},
    {"Status/RecordEvent", {.per_caller = 4}},
});

bool IsAt(const Right& right, std::string_view process) {
  return right.process == "*" || right.process == process;
}

}  // namespace

rpc::MethodLimits LimitsOf(const std::string& method) {
  if (!method.starts_with(kPackage)) return {};
  const auto share = std::ranges::find(kShares, method.substr(kPackage.size()), &Share::method);
  return share == kShares.end() ? rpc::MethodLimits{} : share->limits;
}

Access::Access(std::string process, Users users, uint32_t own_uid)
    : process_(std::move(process)), users_(std::move(users)), own_uid_(own_uid) {}

uint32_t Access::Named(const std::string& process) const {
  const auto it = users_.find(process);
  return it == users_.end() ? 0 : it->second;
}

Status Access::Check() const {
  if (users_.empty() || Named(process_) == own_uid_) return OkStatus();
  return InvalidArgument("splitlet.users[{}]: user {} is set, but this process runs as user {}",
                         process_, Named(process_), own_uid_);
}

std::vector<uint32_t> Access::Callers() const {
  std::set<uint32_t> uids = {0};
  if (users_.empty()) uids.insert(own_uid_);
  for (const auto& user : users_) {
    const bool calls = std::ranges::any_of(kRights, [&](const Right& right) {
      return IsAt(right, process_) && Names(right.callers, user.first);
    });
    if (calls || user.first == kOperator) uids.insert(user.second);
  }
  return {uids.begin(), uids.end()};
}

bool Access::MayCall(const std::string& method, uint32_t uid) const {
  if (uid == 0) return true;
  if (users_.empty()) return uid == own_uid_;
  if (method == kForRoot) return false;
  return std::ranges::any_of(users_, [&](const auto& user) {
    if (user.second != uid) return false;
    return user.first == kOperator || std::ranges::any_of(kRights, [&](const Right& right) {
             return IsAt(right, process_) && method.starts_with(kPackage) &&
                    method.substr(kPackage.size()) == right.method &&
                    Names(right.callers, user.first);
           });
  });
}

std::optional<uint32_t> Access::UserOf(const std::string& process) const {
  if (users_.empty()) return std::nullopt;
  return Named(process);
}

}  // namespace splitlet::daemon
