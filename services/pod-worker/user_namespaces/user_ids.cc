#include "services/pod-worker/user_namespaces/user_ids.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace splitlet::pod_worker {

namespace {

constexpr uint64_t kMaxIdFile = 1u << 20;
constexpr uint64_t kAllIds = uint64_t{1} << 32;
constexpr std::string_view kUser = "kubelet";

/// The fields of the user's lines; none where the file is missing.
StatusOr<std::vector<std::vector<std::string>>> LinesFor(fs::FileSystem& files,
                                                         const std::string& path) {
  std::vector<std::vector<std::string>> lines;
  const auto text = files.Read(path, kMaxIdFile);
  if (text.status().code() == StatusCode::kNotFound) return lines;
  RETURN_IF_ERROR(text, "{}", path);
  std::vector<std::string> fields(1);
  for (const char c : *text + "\n") {
    if (c == ':') {
      fields.emplace_back();
    } else if (c != '\n') {
      fields.back() += c;
    } else {
      if (fields.size() > 1 && fields[0] == kUser) lines.push_back(fields);
      fields.assign(1, "");
    }
  }
  return lines;
}

std::optional<uint32_t> Number(const std::string& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

StatusOr<UserIds> OneRange(fs::FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto lines, LinesFor(files, path), "ids of user kubelet");
  if (lines.size() != 1)
    return FailedPrecondition("{} has {} lines for user kubelet, not one", path, lines.size());
  const auto& fields = lines[0];
  const auto first = fields.size() == 3 ? Number(fields[1]) : std::nullopt;
  const auto length = fields.size() == 3 ? Number(fields[2]) : std::nullopt;
  if (!first || !length)
    return FailedPrecondition("{}: the line for user kubelet is not kubelet:first:count", path);
  return UserIds{*first, *length};
}

StatusOr<UserIds> IdsOfNode(fs::FileSystem& files, uint32_t ids_per_pod) {
  ASSIGN_OR_RETURN(const auto user, LinesFor(files, "/etc/passwd"), "user kubelet");
  if (user.empty()) {
    const uint64_t length = kAllIds - ids_per_pod;
    return UserIds{ids_per_pod, static_cast<uint32_t>(length - length % ids_per_pod)};
  }
  ASSIGN_OR_RETURN(const UserIds users, OneRange(files, "/etc/subuid"), "users");
  ASSIGN_OR_RETURN(const UserIds groups, OneRange(files, "/etc/subgid"), "groups");
  if (users != groups) return FailedPrecondition("mismatched subuids and subgids for user kubelet");
  return users;
}

}  // namespace

StatusOr<IdPool> ReadIdPool(fs::FileSystem& files, const IdNeed& need) {
  const uint32_t each = need.ids_per_pod;
  CHECK(each > 0);
  ASSIGN_OR_RETURN(const UserIds ids, IdsOfNode(files, each), "ids of this node");
  if (ids.first % each != 0)
    return FailedPrecondition("kubelet user assigned ID {} is not a multiple of {}", ids.first,
                              each);
  if (ids.first < each)
    return FailedPrecondition("kubelet user assigned ID {} must be greater or equal to {}",
                              ids.first, each);
  if (ids.length % each != 0)
    return FailedPrecondition("kubelet user assigned IDs length {} is not a multiple of {}",
                              ids.length, each);
  if (uint64_t{ids.first} + ids.length > kAllIds)
    return FailedPrecondition("kubelet user assigned IDs end above {}", kAllIds - 1);
  const IdPool pool{ids.first, each, ids.length / each};
  if (int64_t{pool.ranges} < need.pods)
    return FailedPrecondition("kubelet user assigned IDs are not enough to support {} pods",
                              need.pods);
  return pool;
}

void UserIdRanges::Restore(const std::string& uid, const UserIds& ids) {
  given_[uid] = ids;
  if (!pool_.ok() || ids.first < pool_->first) return;
  const uint32_t range = (ids.first - pool_->first) / pool_->ids_per_pod;
  if (range < pool_->ranges) next_ = std::max(next_, range + 1);
}

bool UserIdRanges::IsFree(const UserIds& ids) const {
  return std::none_of(given_.begin(), given_.end(), [&ids](const auto& entry) {
    const UserIds& other = entry.second;
    return uint64_t{ids.first} < uint64_t{other.first} + other.length &&
           uint64_t{other.first} < uint64_t{ids.first} + ids.length;
  });
}

StatusOr<UserIds> UserIdRanges::Give(const std::string& uid) {
  if (const auto known = given_.find(uid); known != given_.end()) return known->second;
  RETURN_IF_ERROR(pool_, "ids");
  for (uint32_t tried = 0; tried < pool_->ranges; ++tried) {
    const uint32_t range = static_cast<uint32_t>((uint64_t{next_} + tried) % pool_->ranges);
    const UserIds ids{pool_->first + range * pool_->ids_per_pod, pool_->ids_per_pod};
    if (!IsFree(ids)) continue;
    given_[uid] = ids;
    next_ = range + 1;
    return ids;
  }
  return ResourceExhausted("could not find an empty slot to allocate a user namespace");
}

void UserIdRanges::Release(const std::string& uid) { given_.erase(uid); }

}  // namespace splitlet::pod_worker
