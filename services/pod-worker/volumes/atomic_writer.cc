#include "services/pod-worker/volumes/atomic_writer.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <set>

#include "libs/base/fail_point.h"

namespace splitlet::pod_worker {

namespace {

constexpr std::string_view kData = "..data", kNewData = "..data_tmp", kNewFile = "..file_tmp";
constexpr uint32_t kVolumeDirMode = 0755;
constexpr size_t kMaxPath = 4096, kMaxPayloadName = 255;

Status CheckPath(const std::string& path) {
  const auto invalid = [&path](std::string_view why) {
    return InvalidArgument("invalid path: must {}: \"{}\"", why, path);
  };
  if (path.empty() || path.front() == '/') return invalid("be a relative path");
  if (path.size() > kMaxPath) return invalid("be less than or equal to 4096 characters");
  if (path.starts_with("..") && !path.starts_with("../") && path != "..")
    return invalid("not start with '..'");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = std::string_view(path).substr(begin, end - begin);
    if (name == "..") return invalid("not contain '..'");
    if (name.empty() || name == ".") return invalid("have a name at each step");
    if (name.size() > kMaxPayloadName) return invalid("have names of at most 255 characters");
    begin = end + 1;
  }
  return OkStatus();
}

class Publisher {
 public:
  Publisher(const std::string& dir, const Payload& payload, const Publishing& how)
      : dir_(dir), payload_(payload), how_(how), files_(how.files) {}

  Status Run() {
    for (const auto& [path, file] : payload_) {
      const Status valid = CheckPath(path);
      if (!valid.ok()) return valid;
    }
    ASSIGN_OR_RETURN(std::string current, Current(), "read {}", kData);
    ASSIGN_OR_RETURN(const bool same, Holds(current), "compare");
    if (!same) {
      // RemoveOthers below reports leftovers; readers need the new set anyway.
      RemoveUnseen(current).IgnoreError();
      auto made = Renew();
      if (!made.ok()) return Withdrawn(made.status());
      current = *std::move(made);
    }
    RETURN_IF_ERROR(LinkFiles(), "link");
    return Annotate(RemoveOthers(current), "remove old sets");
  }

 private:
  std::string At(std::string_view name) const { return fmt::format("{}/{}", dir_, name); }

  /// The directory that readers see; empty: none yet.
  StatusOr<std::string> Current() {
    auto target = files_.ReadSymlink(At(kData));
    if (target.status().code() == StatusCode::kNotFound) return std::string();
    // A link of another program is replaced.
    if (target.ok() &&
        (!target->starts_with("..") || target->find('/') != std::string::npos || *target == ".."))
      return std::string();
    return target;
  }

  /// The set `name` equals the payload.
  StatusOr<bool> Holds(const std::string& name) {
    if (name.empty()) return false;
    for (const auto& [path, file] : payload_) {
      const auto content =
          files_.Read(fmt::format("{}/{}", At(name), path), file.content.size() + 1);
      // A file of another length or kind, and a missing file, differ.
      if (!content.ok() || *content != file.content) return false;
    }
    ASSIGN_OR_RETURN(const size_t count, CountFiles(At(name), payload_.size()), "count files");
    return count == payload_.size();
  }

  /// Stops counting above `most`.
  StatusOr<size_t> CountFiles(const std::string& dir, size_t most) {
    auto entries = files_.List(dir);
    if (entries.status().code() == StatusCode::kNotFound) return most + 1;
    if (!entries.ok()) return entries.status();
    size_t count = 0;
    for (const auto& entry : *entries) {
      if (entry.kind != fs::FileInfo::Kind::kDirectory) {
        ++count;
      } else {
        ASSIGN_OR_RETURN(const size_t below, CountFiles(dir + "/" + entry.name, most), "{}",
                         entry.name);
        count += below;
      }
      if (count > most) break;
    }
    return count;
  }

  StatusOr<std::string> NewName() {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(how_.now);
    const int64_t first = (how_.now - seconds).count();
    // The name may be taken: the clock stands still, or a killed process used it.
    for (int64_t i = 0; i < 1000; ++i) {
      std::string name =
          fmt::format("..{:%Y_%m_%d_%H_%M_%S}.{:09}",
                      fmt::gmtime(seconds.time_since_epoch().count()), (first + i) % 1'000'000'000);
      const auto there = files_.Stat(At(name), false);
      if (there.status().code() == StatusCode::kNotFound) return name;
      if (!there.ok()) return there.status();
    }
    return Internal("no free name for a new set");
  }

  StatusOr<std::string> Renew() {
    ASSIGN_OR_RETURN(std::string name, WriteSet(), "write");
    if (how_.on_written) how_.on_written(At(name));
    RETURN_IF_ERROR(SwitchTo(name), "switch");
    return name;
  }

  /// Removes the failed set, or each try would take more of a full disk. The error may have come
  /// after the switch, so the present set is read again and kept.
  Status Withdrawn(const Status& failed) {
    const auto shown = Current();
    const Status gone = shown.ok() ? RemoveUnseen(*shown) : shown.status();
    if (gone.ok()) return failed;
    return MakeStatus(failed.code(), "{}; remove the failed set: {}", Message(failed),
                      Message(gone));
  }

  StatusOr<std::string> WriteSet() {
    ASSIGN_OR_RETURN(std::string name, NewName(), "choose a name");
    RETURN_IF_ERROR(files_.MakeDirs(At(name), kVolumeDirMode), "make {}", name);
    for (const auto& [path, file] : payload_) {
      const std::string full = fmt::format("{}/{}", At(name), path);
      if (path.find('/') != std::string::npos)
        RETURN_IF_ERROR(files_.MakeDirs(full.substr(0, full.rfind('/')), kVolumeDirMode), "{}",
                        path);
      // Replace at the path itself would write a longer name beside it, which may be too long or
      // taken.
      RETURN_IF_ERROR(files_.Replace(At(kNewFile), file.content, {.mode = file.mode}), "{}", path);
      RETURN_IF_ERROR(files_.Rename(At(kNewFile), full), "{}", path);
    }
    FAIL_POINT("pod-worker.publish-volume.written");
    return name;
  }

  Status SwitchTo(const std::string& name) {
    RETURN_IF_ERROR(files_.Remove(At(kNewData)), "remove {}", kNewData);
    RETURN_IF_ERROR(files_.MakeSymlink(name, At(kNewData)), "make {}", kNewData);
    RETURN_IF_ERROR(files_.Rename(At(kNewData), At(kData)), "rename {}", kNewData);
    FAIL_POINT("pod-worker.publish-volume.switched");
    return OkStatus();
  }

  /// A link for the first step of each path.
  Status LinkFiles() {
    for (const auto& [path, file] : payload_) names_.insert(path.substr(0, path.find('/')));
    for (const auto& name : names_) {
      const std::string target = fmt::format("{}/{}", kData, name);
      const auto known = files_.ReadSymlink(At(name));
      if (known.ok() && *known == target) continue;
      if (known.ok()) RETURN_IF_ERROR(files_.Remove(At(name)), "remove {}", name);
      RETURN_IF_ERROR(files_.MakeSymlink(target, At(name)), "{}", name);
    }
    return OkStatus();
  }

  /// Removes all other sets: old ones, and those of killed or failed calls. Tries all, and returns
  /// the first error.
  Status RemoveUnseen(const std::string& current) {
    ASSIGN_OR_RETURN(const auto entries, files_.List(dir_), "list");
    Status left;
    for (const auto& entry : entries)
      if (entry.name.starts_with("..") && entry.name != kData && entry.name != current)
        left.Update(Annotate(files_.RemoveTree(At(entry.name)), entry.name));
    return left;
  }

  /// Removes links of files that the payload lacks, and all other sets.
  Status RemoveOthers(const std::string& current) {
    ASSIGN_OR_RETURN(const auto entries, files_.List(dir_), "list");
    for (const auto& entry : entries)
      if (entry.kind == fs::FileInfo::Kind::kSymlink && !entry.name.starts_with("..") &&
          !names_.contains(entry.name))
        RETURN_IF_ERROR(files_.Remove(At(entry.name)), "{}", entry.name);
    return RemoveUnseen(current);
  }

  const std::string& dir_;
  const Payload& payload_;
  const Publishing& how_;
  fs::FileSystem& files_;
  std::set<std::string> names_;
};

}  // namespace

Status Publish(const std::string& dir, const Payload& payload, const Publishing& how) {
  return Publisher(dir, payload, how).Run();
}

bool IsPublished(fs::FileSystem& files, const std::string& dir) {
  return files.Stat(fmt::format("{}/{}", dir, kData), true).ok();
}

}  // namespace splitlet::pod_worker
