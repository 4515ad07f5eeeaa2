#include "services/gc/measure/tree_meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/fs/fd.h"
#include "libs/fs/openat2.h"

namespace splitlet::gc {
namespace {

constexpr int64_t kBlockBytes = 512;
constexpr const char* kTop = ".";

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

/// The entry was renamed, removed or replaced since its directory was read, or a mount covers it.
bool IsElsewhere(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV || error == ESTALE;
}

/// The path from the top to the directory that is being read. The siblings on this path are still
/// unread in their parents. So memory grows only with the depth, which PATH_MAX limits.
class Walk {
 public:
  Walk(fs::Fd top, const TreeLimits& limits, const BelowOpener& open)
      : top_(std::move(top)), limits_(limits), open_(open) {}

  StatusOr<DiskStats> Run() {
    RETURN_IF_ERROR(Enter(top_.get(), kTop), "top");
    while (!levels_.empty() && entries_ <= limits_.entries) RETURN_IF_ERROR(Step(), "read");
    sum_.inodes += std::llround(shares_);
    return sum_;
  }

 private:
  struct Level {
    Dir dir;      // null: closed, because too many levels are open
    long at = 0;  // where a closed level continues
    std::pair<uint64_t, uint64_t> id;
    size_t parent_length = 0;  // length of path_ at the parent
  };

  /// Nothing: the entry is elsewhere.
  StatusOr<std::optional<fs::Fd>> Open(int at, const char* path, uint64_t flags) const {
    fs::Fd fd(open_(at, path, flags));
    if (fd.ok()) return std::optional(std::move(fd));
    if (IsElsewhere(errno)) return std::optional<fs::Fd>();
    return fs::OpenAt2Error(errno);
  }

  Status Step() {
    Level& level = levels_.back();
    if (level.dir == nullptr) {
      ASSIGN_OR_RETURN(const bool same, Reopen(level), "open again");
      if (!same) return Leave();  // the directory was moved or removed: skip the rest of it
    }
    errno = 0;
    const dirent* entry = ::readdir(level.dir.get());
    if (entry == nullptr) return errno != 0 ? ErrnoStatus(errno) : Leave();
    const std::string_view name = entry->d_name;
    return name == "." || name == ".." ? OkStatus() : Count(::dirfd(level.dir.get()), *entry);
  }

  Status Leave() {
    path_.resize(levels_.back().parent_length);
    levels_.pop_back();
    return OkStatus();
  }

  Status Enter(int parent, const char* name) {
    const size_t length = path_.size();
    if (length + 1 + std::string_view(name).size() >= PATH_MAX) {
      sum_.more = true;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(auto fd, Open(parent, name, O_RDONLY | O_DIRECTORY), "directory");
    if (!fd) return OkStatus();
    struct stat found {};
    if (::fstat(fd->get(), &found) != 0) return ErrnoStatus(errno);
    Dir dir(::fdopendir(fd->get()));
    if (dir == nullptr) return ErrnoStatus(errno);
    fd->Release();
    sum_ += {found.st_blocks * kBlockBytes, 1};
    if (length > 0) path_ += '/';
    path_ += name;
    levels_.push_back({std::move(dir), 0, {found.st_dev, found.st_ino}, length});
    if (levels_.size() > limits_.open) Close(levels_[levels_.size() - 1 - limits_.open]);
    return OkStatus();
  }

  static void Close(Level& level) {
    if (level.dir == nullptr) return;
    level.at = ::telldir(level.dir.get());
    level.dir = nullptr;
  }

  /// False: another directory is at the path now, or none.
  StatusOr<bool> Reopen(Level& level) {
    ASSIGN_OR_RETURN(auto fd, Open(top_.get(), path_.c_str(), O_RDONLY | O_DIRECTORY), "directory");
    if (!fd) return false;
    struct stat found {};
    if (::fstat(fd->get(), &found) != 0) return ErrnoStatus(errno);
    if (level.id != std::pair<uint64_t, uint64_t>{found.st_dev, found.st_ino}) return false;
    level.dir = Dir(::fdopendir(fd->get()));
    if (level.dir == nullptr) return ErrnoStatus(errno);
    fd->Release();
    ::seekdir(level.dir.get(), level.at);
    return true;
  }

  /// A directory counts when it is entered.
  Status Count(int at, const dirent& entry) {
    if (++entries_ > limits_.entries) {
      sum_.more = true;
      return OkStatus();
    }
    if (entry.d_type == DT_DIR) return Enter(at, entry.d_name);
    ASSIGN_OR_RETURN(const auto file, Open(at, entry.d_name, O_PATH), "entry");
    if (!file) return OkStatus();
    struct stat found {};
    if (::fstat(file->get(), &found) != 0) return ErrnoStatus(errno);
    // A file system without types in its directory entries.
    if (S_ISDIR(found.st_mode)) return Enter(at, entry.d_name);
    CountFile(found);
    return OkStatus();
  }

  /// A file with several names counts with its first name. When too many such files are remembered,
  /// each name counts for its share.
  void CountFile(const struct stat& found) {
    DiskStats own{found.st_blocks * kBlockBytes, 1};
    if (found.st_nlink > 1) {
      const std::pair<uint64_t, uint64_t> id{found.st_dev, found.st_ino};
      if (const auto known = linked_.find(id); known != linked_.end()) {
        if (--known->second == 0) linked_.erase(known);
        return;
      }
      full_ = full_ || linked_.size() >= limits_.linked;
      if (full_) {
        shares_ += 1.0 / static_cast<double>(found.st_nlink);
        own = {own.bytes / static_cast<int64_t>(found.st_nlink), 0};
      } else {
        linked_.emplace(id, found.st_nlink - 1);
      }
    }
    sum_ += own;
  }

  fs::Fd top_;
  const TreeLimits limits_;
  const BelowOpener& open_;
  std::vector<Level> levels_;  // outermost first
  std::string path_;           // path of the innermost level below the top
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> linked_;  // names that are still to come
  bool full_ = false;
  double shares_ = 0;
  size_t entries_ = 0;
  DiskStats sum_;
};

class RealTreeMeter final : public TreeMeter {
 public:
  RealTreeMeter(const TreeLimits& limits, BelowOpener open)
      : limits_(limits), open_(std::move(open)) {}

  StatusOr<DiskStats> Measure(const std::string& path) override {
    fs::Fd top(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!top.ok()) {
      if (errno == ENOENT) return DiskStats{};
      return ErrnoStatus(errno);
    }
    return Annotate(Walk(std::move(top), limits_, open_).Run(), fmt::format("measure {}", path));
  }

  StatusOr<uint64_t> DeviceOf(const std::string& path) override {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return ErrnoStatus(errno);
    return found.st_dev;
  }

 private:
  const TreeLimits limits_;
  const BelowOpener open_;
};

}  // namespace

/// Never asks the server of a file system that is mounted below, which may hang.
int OpenBelow(int at, const char* path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return static_cast<int>(::syscall(SYS_openat2, at, path, &how, sizeof(how)));
}

std::unique_ptr<TreeMeter> MakeTreeMeter(const TreeLimits& limits, BelowOpener open) {
  return std::make_unique<RealTreeMeter>(limits, std::move(open));
}

}  // namespace splitlet::gc
