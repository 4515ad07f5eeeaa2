#include "libs/daemon/access.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "libs/base/processes.h"

namespace splitlet::daemon {
namespace {

constexpr std::string_view kOperator = "ctl";
/// To discard a terminal status may start a finished pod again.
constexpr std::string_view kForRoot = "splitlet.v1.Admin/DiscardRecord";
constexpr std::string_view kPackage = "splitlet.v1.";

constexpr std::string_view kList = "Tables/List";

/// Methods without a row are for root and `ctl`, or for root alone.
bool IsCaller(std::string_view callers, std::string_view name) {
  return callers == "*" ? name != kOperator : IsListed(callers, name);
}

bool IsAt(const CallRight& right, std::string_view process) {
  return right.process == "*" || right.process == process;
}

/// Whether `caller` views the table of `process`.
bool Views(std::string_view caller, std::string_view process) {
  const ProcessRow *viewer = FindProcess(caller), *owner = FindProcess(process);
  return viewer != nullptr && owner != nullptr && !owner->table.empty() &&
         IsListed(viewer->views, owner->table);
}

/// `method` without the package; empty: any method.
bool Calls(std::string_view caller, std::string_view process,
           std::optional<std::string_view> method) {
  if ((!method || method == kList) && Views(caller, process)) return true;
  return std::ranges::any_of(kCallRights, [&](const CallRight& right) {
    return IsAt(right, process) && (!method || right.method == method) &&
           IsCaller(right.callers, caller);
  });
}

struct Share {
  std::string_view method;
  rpc::MethodLimits limits;
};

// Other methods have the defaults of MethodLimits. Views and health have reserved threads.
constexpr auto kShares = std::to_array<Share>({
    {"Tables/List", {.request_bytes = 64 << 10, .per_caller = 4, .reserved = true}},
    {"Admin/GetProcess", {.request_bytes = 64 << 10, .per_caller = 4, .reserved = true}},
    {"Pleg/GetHealth", {.request_bytes = 64 << 10, .per_caller = 4, .reserved = true}},
    {"PodWorker/UpdatePod", {.request_bytes = 20 << 20, .per_caller = 24}},
    {"PodWorker/KillPod", {.per_caller = 24}},
    {"Status/RecordEvent", {.per_caller = 4}},
});

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
    if (user.first == kOperator || Calls(user.first, process_, std::nullopt))
      uids.insert(user.second);
  }
  return {uids.begin(), uids.end()};
}

bool Access::MayCall(const std::string& method, uint32_t uid) const {
  if (uid == 0) return true;
  if (users_.empty()) return uid == own_uid_;
  if (method == kForRoot) return false;
  return std::ranges::any_of(users_, [&](const auto& user) {
    if (user.second != uid) return false;
    return user.first == kOperator ||
           (method.starts_with(kPackage) &&
            Calls(user.first, process_, std::string_view(method).substr(kPackage.size())));
  });
}

std::optional<uint32_t> Access::UserOf(const std::string& process) const {
  if (users_.empty()) return std::nullopt;
  return Named(process);
}

}  // namespace splitlet::daemon
