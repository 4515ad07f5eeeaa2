#include "libs/fs/fake_file_system.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

constexpr int kMaxSymlinks = 40;

bool IsAtOrBelow(const std::string& path, const std::string& prefix) {
  return path == prefix || prefix == "/" || path.starts_with(prefix + "/");
}

std::string Clean(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string Join(const std::string& folder, const std::string& name) {
  return (folder == "/" ? "" : folder) + "/" + name;
}

}  // namespace

FakeFileSystem::FakeFileSystem(const Clock& clock) : clock_(clock) {
  nodes_["/"] = NewNode(FileInfo::Kind::kDirectory, "");
  durable_ = nodes_;
}

FakeFileSystem::Node FakeFileSystem::NewNode(FileInfo::Kind kind, std::string content) {
  return {kind, std::move(content), ++last_inode_, clock_.WallNow()};
}

void FakeFileSystem::Fail(const std::string& prefix, const Status& status) {
  const std::lock_guard lock(mutex_);
  failures_[prefix] = status;
}

void FakeFileSystem::SetHook(std::function<Status(std::string_view, const std::string&)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

void FakeFileSystem::SetFull(const std::string& prefix, bool full) {
  const std::lock_guard lock(mutex_);
  full_[prefix] = full;
}

void FakeFileSystem::MakeSocket(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(nodes_.contains(ParentOf(path)), "no directory for {}", path);
    nodes_[path] = NewNode(FileInfo::Kind::kSocket, "");
  }
  Changed(path);
}

void FakeFileSystem::SetMountPoint(const std::string& path) {
  const std::lock_guard lock(mutex_);
  mounts_.push_back(path);
}

void FakeFileSystem::EndMountPoint(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::erase(mounts_, path);
  nodes_.erase(FirstBelow(path), nodes_.lower_bound(path + "0"));  // '0' comes after '/'
}

void FakeFileSystem::SetUsage(const std::string& prefix, const DiskUsage& usage) {
  const std::lock_guard lock(mutex_);
  usage_[prefix] = usage;
}

void FakeFileSystem::PowerCut() {
  const std::lock_guard lock(mutex_);
  nodes_ = durable_;
}

Status FakeFileSystem::Enter(std::string_view operation, const std::string& path) {
  std::function<Status(std::string_view, const std::string&)> hook;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [prefix, status] : failures_) {
      if (IsAtOrBelow(path, prefix) && !status.ok()) return status;
    }
    hook = hook_;
  }
  return hook ? hook(operation, path) : OkStatus();
}

StatusOr<std::string> FakeFileSystem::Resolve(const std::string& raw, bool last, int depth) const {
  if (depth > kMaxSymlinks) return ErrnoStatus(ELOOP);
  const std::string path = Clean(raw);
  if (path == "/") return path;
  ASSIGN_OR_RETURN(const std::string parent, Resolve(ParentOf(path), true, depth + 1), "folder");
  const auto folder = nodes_.find(parent);
  if (folder != nodes_.end() && folder->second.kind != FileInfo::Kind::kDirectory)
    return ErrnoStatus(ENOTDIR);
  const std::string here = NameOf(path) == ".." ? ParentOf(parent) : Join(parent, NameOf(path));
  const auto it = nodes_.find(here);
  if (!last || it == nodes_.end() || it->second.kind != FileInfo::Kind::kSymlink) return here;
  const std::string& target = it->second.content;
  return Resolve(target.starts_with("/") ? target : Join(parent, target), true, depth + 1);
}

Status FakeFileSystem::CheckRoom(const std::string& path) const {
  for (const auto& [prefix, full] : full_) {
    if (full && IsAtOrBelow(path, prefix)) return ErrnoStatus(ENOSPC);
  }
  return OkStatus();
}

void FakeFileSystem::Changed(const std::string& path) {
  std::vector<std::pair<std::function<void(const Hint&)>, Hint>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [watcher, watch] : watches_) {
      Hint hint;
      if (ParentOf(path) == watch.path) {
        hint.Add(NameOf(path));
      } else if (IsAtOrBelow(path, watch.path) || IsAtOrBelow(watch.path, path)) {
        hint = Hint::Anything();
      }
      if (!hint.empty()) told.emplace_back(watch.on_change, std::move(hint));
    }
  }
  for (const auto& [f, hint] : told) f(hint);
}

StatusOr<std::string> FakeFileSystem::Read(const std::string& path, uint64_t max_bytes) {
  RETURN_IF_ERROR(Enter("read", path), "read");
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, true), "resolve");
  const auto it = nodes_.find(real);
  if (it == nodes_.end()) return ErrnoStatus(ENOENT);
  if (it->second.kind == FileInfo::Kind::kDirectory) return ErrnoStatus(EISDIR);
  if (it->second.content.size() > max_bytes)
    return ResourceExhausted("longer than {} bytes", max_bytes);
  return it->second.content;
}

StatusOr<OwnedText> FakeFileSystem::ReadOwned(const std::string& path, uint64_t max_bytes) {
  auto text = Read(path, max_bytes);
  if (!text.ok()) return text.status();
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, true), "resolve");
  const auto it = nodes_.find(real);
  if (it == nodes_.end()) return ErrnoStatus(ENOENT);
  return OwnedText{.text = *std::move(text), .owner = it->second.owner, .mode = it->second.mode};
}

void FakeFileSystem::SetOwner(const std::string& path, uint32_t owner, uint32_t mode) {
  const std::lock_guard lock(mutex_);
  Node& node = nodes_.at(path);
  node.owner = owner;
  node.mode = mode;
}

Status FakeFileSystem::Replace(const std::string& path, std::string_view content,
                               WriteOptions options) {
  RETURN_IF_ERROR(Enter("replace", path), "replace");
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckRoom(path), "write");
    RETURN_IF_ERROR(MakeDirsAt(ParentOf(path)), "make {}", ParentOf(path));
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    const auto it = nodes_.find(real);
    if (it != nodes_.end() && it->second.kind == FileInfo::Kind::kDirectory)
      return ErrnoStatus(EISDIR);
    nodes_[real] = NewNode(FileInfo::Kind::kFile, std::string(content));
    nodes_[real].mode = options.mode;
    if (options.fsync) durable_[real] = nodes_[real];
  }
  Changed(path);
  return OkStatus();
}

StatusOr<std::vector<DirEntry>> FakeFileSystem::List(const std::string& path) {
  RETURN_IF_ERROR(Enter("list", path), "list");
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, true), "resolve");
  const auto folder = nodes_.find(real);
  if (folder == nodes_.end()) return ErrnoStatus(ENOENT);
  if (folder->second.kind != FileInfo::Kind::kDirectory) return ErrnoStatus(ENOTDIR);
  std::vector<DirEntry> entries;
  for (auto it = nodes_.upper_bound(real == "/" ? real : real + "/"); it != nodes_.end(); ++it) {
    if (!IsAtOrBelow(it->first, real)) break;
    if (ParentOf(it->first) == real) entries.push_back({NameOf(it->first), it->second.kind});
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

StatusOr<FileInfo> FakeFileSystem::Stat(const std::string& path, bool follow) {
  RETURN_IF_ERROR(Enter("stat", path), "stat");
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, follow), "resolve");
  const auto it = nodes_.find(real);
  if (it == nodes_.end()) return ErrnoStatus(ENOENT);
  return FileInfo{it->second.kind,
                  std::max<uint64_t>(it->second.content.size(), it->second.allocated),
                  it->second.inode, it->second.modified};
}

Status FakeFileSystem::MakeDirsAt(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, true), "resolve");
  const auto it = nodes_.find(real);
  if (it != nodes_.end()) {
    return it->second.kind == FileInfo::Kind::kDirectory
               ? OkStatus()
               : AlreadyExists("{} is not a directory", path);
  }
  RETURN_IF_ERROR(MakeDirsAt(ParentOf(real)), "make {}", ParentOf(real));
  nodes_[real] = durable_[real] = NewNode(FileInfo::Kind::kDirectory, "");
  return OkStatus();
}

Status FakeFileSystem::MakeDirs(const std::string& path, uint32_t) {
  RETURN_IF_ERROR(Enter("make-dirs", path), "make directories");
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckRoom(path), "make directory");
    RETURN_IF_ERROR(MakeDirsAt(path), "make directory");
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::MakeDirsBelow(const std::string& root, const std::string& below, uint32_t) {
  std::string path = root;
  for (const std::string& name : NamesOf(below)) path += "/" + name;
  RETURN_IF_ERROR(Enter("make-dirs", path), "make directories");
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckRoom(path), "make directory");
    RETURN_IF_ERROR(MakeDirsAt(root), "make {}", root);
    std::string step = root;
    for (const std::string& name : NamesOf(below)) {
      if (name == "..") return InvalidArgument("it leads out");
      step += "/" + name;
      ASSIGN_OR_RETURN(const std::string real, Resolve(step, false), "resolve");
      const auto [node, made] = nodes_.try_emplace(real);
      if (made) node->second = durable_[real] = NewNode(FileInfo::Kind::kDirectory, "");
      if (node->second.kind != FileInfo::Kind::kDirectory)
        return AlreadyExists("make {}: not a directory", step);
    }
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::MakeSymlink(const std::string& target, const std::string& path) {
  RETURN_IF_ERROR(Enter("make-symlink", path), "make symlink");
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckRoom(path), "make symlink");
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    if (nodes_.contains(real)) return ErrnoStatus(EEXIST);
    if (!nodes_.contains(ParentOf(real))) return ErrnoStatus(ENOENT);
    nodes_[real] = durable_[real] = NewNode(FileInfo::Kind::kSymlink, target);
  }
  Changed(path);
  return OkStatus();
}

StatusOr<std::string> FakeFileSystem::ReadSymlink(const std::string& path) {
  RETURN_IF_ERROR(Enter("read-symlink", path), "read symlink");
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
  const auto it = nodes_.find(real);
  if (it == nodes_.end()) return ErrnoStatus(ENOENT);
  if (it->second.kind != FileInfo::Kind::kSymlink) return ErrnoStatus(EINVAL);
  return it->second.content;
}

Status FakeFileSystem::Remove(const std::string& path) {
  RETURN_IF_ERROR(Enter("remove", path), "remove");
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    const auto below = FirstBelow(real);
    if (below != nodes_.end() && IsAtOrBelow(below->first, real)) return ErrnoStatus(ENOTEMPTY);
    if (nodes_.erase(real) == 0) return OkStatus();
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::RemoveTreeWhile(const std::string& path,
                                       const std::function<bool()>& go_on) {
  RETURN_IF_ERROR(Enter("remove-tree", path), "remove tree");
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    for (const auto& mount : mounts_) {
      if (IsAtOrBelow(mount, real) && nodes_.contains(mount))
        return FailedPrecondition("{} is a mount point", NameOf(mount));
    }
    std::vector<std::string> names;  // parents first
    for (const auto& [name, node] : nodes_)
      if (IsAtOrBelow(name, real)) names.push_back(name);
    if (names.empty()) return OkStatus();
    for (; !names.empty(); names.pop_back()) {
      if (!go_on()) return Aborted("stopped by the caller");
      nodes_.erase(names.back());
      durable_.erase(names.back());
    }
    std::erase_if(durable_, [&](const auto& node) { return IsAtOrBelow(node.first, real); });
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::Overwrite(const std::string& path, std::string_view content) {
  RETURN_IF_ERROR(Enter("overwrite", path), "overwrite");
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    const auto it = nodes_.find(real);
    if (it == nodes_.end()) return ErrnoStatus(ENOENT);
    if (it->second.kind == FileInfo::Kind::kDirectory) return ErrnoStatus(EISDIR);
    if (it->second.kind == FileInfo::Kind::kSymlink) return ErrnoStatus(ELOOP);
    if (content.size() > it->second.content.size()) RETURN_IF_ERROR(CheckRoom(path), "write");
    it->second.content = content;
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::Truncate(const std::string& path) {
  RETURN_IF_ERROR(Enter("truncate", path), "truncate");
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    const auto it = nodes_.find(real);
    if (it == nodes_.end()) return ErrnoStatus(ENOENT);
    if (it->second.kind == FileInfo::Kind::kDirectory) return ErrnoStatus(EISDIR);
    if (it->second.kind == FileInfo::Kind::kSymlink) return ErrnoStatus(ELOOP);
    it->second.content.clear();
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::Allocate(const std::string& path, uint64_t bytes) {
  RETURN_IF_ERROR(Enter("allocate", path), "allocate");
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckRoom(path), "allocate");
    RETURN_IF_ERROR(MakeDirsAt(ParentOf(path)), "make {}", ParentOf(path));
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    nodes_[real] = NewNode(FileInfo::Kind::kFile, "");
    nodes_[real].allocated = bytes;
    durable_[real] = nodes_[real];
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::ReplaceFrom(const std::string& spare, const std::string& path,
                                   std::string_view content, WriteOptions options) {
  RETURN_IF_ERROR(Enter("replace-from", path), "replace");
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const std::string from, Resolve(spare, false), "resolve");
    ASSIGN_OR_RETURN(const std::string real, Resolve(path, false), "resolve");
    const auto it = nodes_.find(from);
    if (it == nodes_.end() || !nodes_.contains(ParentOf(real))) return ErrnoStatus(ENOENT);
    if (content.size() > it->second.allocated) RETURN_IF_ERROR(CheckRoom(path), "write");
    nodes_.erase(it);
    durable_.erase(from);
    nodes_[real] = NewNode(FileInfo::Kind::kFile, std::string(content));
    nodes_[real].mode = options.mode;
    if (options.fsync) durable_[real] = nodes_[real];
  }
  Changed(path);
  return OkStatus();
}

Status FakeFileSystem::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(Enter("rename", from), "rename");
  {
    const std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(const std::string old_path, Resolve(from, false), "resolve");
    ASSIGN_OR_RETURN(const std::string new_path, Resolve(to, false), "resolve");
    if (!nodes_.contains(old_path) || !nodes_.contains(ParentOf(new_path)))
      return ErrnoStatus(ENOENT);
    const auto below = FirstBelow(new_path);
    if (below != nodes_.end() && IsAtOrBelow(below->first, new_path)) return ErrnoStatus(ENOTEMPTY);
    for (Nodes* nodes : {&nodes_, &durable_}) {
      Nodes moved;
      for (const auto& [name, node] : *nodes) {
        if (IsAtOrBelow(name, old_path)) moved[new_path + name.substr(old_path.size())] = node;
      }
      std::erase_if(*nodes, [&](const auto& node) { return IsAtOrBelow(node.first, old_path); });
      for (auto& [name, node] : moved) (*nodes)[name] = node;
    }
  }
  Changed(from);
  Changed(to);
  return OkStatus();
}

StatusOr<DiskUsage> FakeFileSystem::Usage(const std::string& path) {
  RETURN_IF_ERROR(Enter("usage", path), "usage");
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::string real, Resolve(path, true), "resolve");
  if (!nodes_.contains(real)) return ErrnoStatus(ENOENT);
  const auto best = std::find_if(usage_.rbegin(), usage_.rend(),
                                 [&real](const auto& u) { return IsAtOrBelow(real, u.first); });
  if (best != usage_.rend()) return best->second;
  return DiskUsage{.capacity_bytes = 100ull << 30,
                   .available_bytes = 50ull << 30,
                   .inodes = 1000000,
                   .inodes_free = 900000};
}

FakeFileWatcher::~FakeFileWatcher() {
  const std::lock_guard lock(files_.mutex_);
  files_.watches_.erase(this);
}

Status FakeFileWatcher::Start(const std::string& path, Callbacks callbacks) {
  ++starts_;
  if (!start_error_.ok()) return start_error_;
  on_lost_ = std::move(callbacks.on_lost);
  const std::lock_guard lock(files_.mutex_);
  files_.watches_[this] = {Clean(path),
                           [this, f = std::move(callbacks.on_change)](const Hint& hint) {
                             if (!muted_) f(hint);
                           }};
  return OkStatus();
}

void FakeFileWatcher::Lose(const Status& why) {
  {
    const std::lock_guard lock(files_.mutex_);
    files_.watches_.erase(this);
  }
  on_lost_(why);
}

}  // namespace splitlet::fs
