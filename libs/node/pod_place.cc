#include "libs/node/pod_place.h"

#include <algorithm>

#include "libs/base/one_line.h"
#include "libs/fs/path.h"
#include "libs/kube/names.h"

namespace splitlet::node {
namespace {

constexpr std::string_view kMark = "root";
constexpr uint64_t kMaxMark = 4096;
constexpr size_t kMaxSource = 64;
constexpr uint32_t kDirMode = 0750;

std::string MarkIn(const std::string& mark_dir) { return fmt::format("{}/{}", mark_dir, kMark); }

/// True for an absolute path whose components are all ordinary names.
bool IsClean(std::string_view path) {
  if (!path.starts_with('/')) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == "..") return false;
    path.remove_prefix(name.size());
  }
  return true;
}

bool IsSourceName(std::string_view source) {
  return source.size() <= kMaxSource &&
         std::ranges::all_of(source, [](char c) { return c > ' ' && c < 0x7f; });
}

Status CheckMark(const std::string& path, const std::string& uid) {
  if (const std::string problem = kube::CheckUid(uid); !problem.empty())
    return FailedPrecondition("UID {}", problem);
  if (!IsClean(path) || path.find('\0') != std::string::npos ||
      !path.ends_with(fmt::format("/pods/{}", uid)))
    return FailedPrecondition("\"{}\" is not a directory of pod {}", OneLine(path), uid);
  return OkStatus();
}

/// Ignores temporary files of a killed writer.
StatusOr<bool> HoldsAnything(fs::FileSystem& files, const std::string& dir) {
  const auto entries = files.List(dir);
  if (entries.status().code() == StatusCode::kNotFound) return false;
  RETURN_IF_ERROR(entries, "list {}", dir);
  const std::string unfinished = fs::NameOf(fs::NewContentPath(MarkIn(dir)));
  return std::ranges::any_of(*entries,
                             [&](const fs::DirEntry& entry) { return entry.name != unfinished; });
}

}  // namespace

std::string PodsBelow(std::string_view root_dir) { return fmt::format("{}/pods", root_dir); }

StatusOr<std::optional<PodMark>> ReadPodMark(fs::FileSystem& files, const std::string& mark_dir,
                                             const std::string& uid) {
  const auto text = files.Read(MarkIn(mark_dir), kMaxMark);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<PodMark>();
  RETURN_IF_ERROR(text, "read {}", MarkIn(mark_dir));
  const size_t end = text->find('\n');
  PodMark mark{*text, ""};
  if (end != std::string::npos && end + 1 < text->size())
    mark = {text->substr(0, end), text->substr(end + 1)};
  RETURN_IF_ERROR(CheckMark(mark.path, uid), "{}", MarkIn(mark_dir));
  if (!IsSourceName(mark.source))
    return FailedPrecondition("{}: \"{}\" is not a source", MarkIn(mark_dir), OneLine(mark.source));
  return std::optional<PodMark>(std::move(mark));
}

StatusOr<PodPlace> FindPodPlace(fs::FileSystem& files, const PodRoots& roots,
                                const std::string& uid) {
  const std::string mark_dir = roots.marks_dir + "/" + uid;
  ASSIGN_OR_RETURN(auto marked, ReadPodMark(files, mark_dir, uid), "mark of the pod");
  if (marked) return PodPlace{marked->path, true};
  ASSIGN_OR_RETURN(const bool before_marks, HoldsAnything(files, mark_dir), "mark of the pod");
  if (before_marks) return PodPlace{mark_dir, true};
  return PodPlace{PodsBelow(roots.root_dir) + "/" + uid, false};
}

Status MarkPodPlace(fs::FileSystem& files, const PodRoots& roots, const std::string& uid,
                    const PodMark& mark) {
  RETURN_IF_ERROR(CheckMark(mark.path, uid), "mark of the pod");
  if (!IsSourceName(mark.source))
    return InvalidArgument("mark of the pod: \"{}\" is not a source", OneLine(mark.source));
  // Without a pod directory the mark looks like that of an unmounted disk.
  RETURN_IF_ERROR(files.MakeDirs(fs::ParentOf(mark.path), kDirMode), "make {}",
                  fs::ParentOf(mark.path));
  const std::string path = MarkIn(roots.marks_dir + "/" + uid);
  const std::string text =
      mark.source.empty() ? mark.path : fmt::format("{}\n{}", mark.path, mark.source);
  return Annotate(files.Replace(path, text, {.fsync = true}), path);
}

StatusOr<fs::DiskUsage> UsageAt(fs::FileSystem& files, std::string path) {
  while (true) {
    auto usage = files.Usage(path);
    const std::string parent = fs::ParentOf(path);
    if (usage.status().code() != StatusCode::kNotFound || parent == path) return usage;
    path = parent;
  }
}

}  // namespace splitlet::node
