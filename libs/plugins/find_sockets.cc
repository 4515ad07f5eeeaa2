#include "libs/plugins/find_sockets.h"

#include <deque>

#include "libs/base/text.h"

namespace splitlet::plugins {
namespace {

using Kind = fs::FileInfo::Kind;

constexpr uint32_t kDirectoryMode = 0750;

class Finder {
 public:
  Finder(fs::FileSystem& files, const std::string& directory) : files_(files) {
    waiting_.push_back(directory);
  }

  FoundSockets Find() && {
    ReadFolder(waiting_.front(), true);
    for (waiting_.pop_front(); !waiting_.empty(); waiting_.pop_front())
      ReadFolder(waiting_.front(), false);
    return std::move(found_);
  }

 private:
  void ReadFolder(const std::string& folder, bool is_directory) {
    const auto entries = files_.List(folder);
    if (entries.ok()) {
      for (const auto& entry : *entries) Enter(folder + "/" + entry.name, entry);
      return;
    }
    if (entries.status().code() != StatusCode::kNotFound) {
      found_.unread[folder] = entries.status();
    } else if (!is_directory) {
      found_.folders.erase(folder);  // gone since its parent was read
    } else if (const Status made = files_.MakeDirs(folder, kDirectoryMode); !made.ok()) {
      Refuse(folder, "cannot make the directory: " + ToString(made));
    }
  }

  void Enter(const std::string& path, const fs::DirEntry& entry) {
    if (entry.name.starts_with('.')) return;
    if (entry.kind == Kind::kDirectory) return EnterFolder(path);
    if (entry.kind == Kind::kSymlink) {
      const auto target = files_.Stat(path, true);
      if (target.ok() && target->kind == Kind::kSocket)
        Refuse(path, "a link to a socket; the plugin must create its socket here");
      return;
    }
    if (entry.kind == Kind::kSocket) EnterSocket(path);
  }

  void EnterFolder(const std::string& path) {
    if (!IsText(path)) return Refuse(path, "the name is not UTF-8 without NUL");
    if (path.size() > kMaxSocketPath) return;  // no socket below it can have an address
    if (found_.folders.size() >= kMostFolders) {
      found_.unread[path] = ResourceExhausted("more than {} folders", kMostFolders);
      return;
    }
    found_.folders.insert(path);
    waiting_.push_back(path);
  }

  void EnterSocket(const std::string& path) {
    if (!IsText(path)) return Refuse(path, "the name is not UTF-8 without NUL");
    if (path.size() > kMaxSocketPath)
      return Refuse(path,
                    fmt::format("the path has {} bytes, the address of a unix socket takes {}",
                                path.size(), kMaxSocketPath));
    const auto info = files_.Stat(path, false);
    if (!info.ok()) {
      if (info.status().code() != StatusCode::kNotFound) found_.unread[path] = info.status();
    } else if (info->kind == Kind::kSocket) {
      AddSocket({.path = path, .inode = info->inode, .created = info->modified});
    }
  }

  void AddSocket(const PluginSocket& socket) {
    if (found_.sockets.size() < kMostSockets) {
      found_.sockets[socket.path] = socket;
    } else {
      found_.unread[socket.path] = ResourceExhausted("more than {} sockets", kMostSockets);
    }
  }

  void Refuse(const std::string& path, const std::string& why) {
    if (found_.refused.size() < kMostSockets) found_.refused[ToText(path)] = why;
  }

  fs::FileSystem& files_;
  std::deque<std::string> waiting_;  // folders to read
  FoundSockets found_;
};

bool IsAtOrBelow(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

FoundSockets FindSockets(fs::FileSystem& files, const std::string& directory) {
  return Finder(files, directory).Find();
}

void KeepUnread(const FoundSockets& before, FoundSockets& now) {
  for (const auto& [unread, why] : now.unread) {
    for (const auto& [path, socket] : before.sockets) {
      if (IsAtOrBelow(path, unread)) now.sockets.emplace(path, socket);
    }
    for (const auto& folder : before.folders) {
      if (IsAtOrBelow(folder, unread)) now.folders.insert(folder);
    }
  }
}

}  // namespace splitlet::plugins
