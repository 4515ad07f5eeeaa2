#include "services/pod-worker/sync/container_logs.h"

#include <vector>

#include "services/pod-worker/runtime_config/names.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

/// Mode of a pod's log directory and of those of its containers in it.
constexpr uint32_t kLogDirMode = 0755;

}  // namespace

Status MakeLogDir(fs::FileSystem& files, const NodeInfo& node, const std::string& path) {
  CHECK(path.starts_with(node.pod_logs_dir + "/"), "{}", path);
  return Annotate(
      files.MakeDirsBelow(node.pod_logs_dir, path.substr(node.pod_logs_dir.size()), kLogDirMode),
      "make log directory");
}

uint32_t NextAttemptFromLogs(fs::FileSystem& files, const std::string& dir) {
  const auto listed = files.List(dir);
  std::vector<std::string> names;
  if (listed.ok())
    for (const auto& entry : *listed)
      if (entry.kind == fs::FileInfo::Kind::kFile) names.push_back(entry.name);
  return RestartCountFromLogs(names);
}

std::string ContainerLogs::LinkOf(const Container& container) const {
  return deps_.node.container_links_dir + "/" + LogLinkName(pod_, container.name, container.id);
}

void ContainerLogs::Link(const Container& container, const std::string& log) const {
  const std::string& dir = deps_.node.container_links_dir;
  if (dir.empty() || !deps_.files.Stat(log, true).ok()) return;
  const std::string link = LinkOf(container);
  Status linked = deps_.files.MakeSymlink(log, link);
  if (linked.code() == StatusCode::kNotFound) {  // the first link of this node
    linked = deps_.files.MakeDirs(dir, kLogDirMode);
    if (linked.ok()) linked = deps_.files.MakeSymlink(log, link);
  }
  if (linked.code() != StatusCode::kAlreadyExists)
    deps_.log.LogIfError(linked, "link container log");
}

void ContainerLogs::Remove(const v1::ContainerRecord& record) const {
  const size_t slash = record.log_path().rfind('/');
  if (slash == std::string::npos) return;
  const std::string dir = record.log_path().substr(0, slash);
  const std::string base = record.log_path().substr(slash + 1);
  const auto folder = deps_.files.Stat(dir, false);
  const bool is_link = folder.ok() && folder->kind == fs::FileInfo::Kind::kSymlink;
  const auto listed = deps_.files.List(dir);
  if (listed.ok() && !is_link)
    for (const auto& entry : *listed)
      if (entry.name.starts_with(base))
        deps_.log.LogIfError(deps_.files.Remove(dir + "/" + entry.name), "remove container log");
  if (deps_.node.container_links_dir.empty()) return;
  deps_.log.LogIfError(deps_.files.Remove(LinkOf({record.name(), record.id()})),
                       "remove the link of a container log");
}

}  // namespace splitlet::pod_worker
