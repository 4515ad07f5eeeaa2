#include "services/gc/eviction/tree_meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/fs/fd.h"

namespace splitlet::gc {
namespace {

constexpr size_t kMaxEntries = 5'000'000;
constexpr int64_t kBlockBytes = 512;

class Walk {
 public:
  explicit Walk(fs::Fd top) : top_(std::move(top)) { waiting_.emplace_back("."); }

  StatusOr<DiskFigures> Run() {
    while (!waiting_.empty()) {
      const std::string directory = std::move(waiting_.back());
      waiting_.pop_back();
      RETURN_IF_ERROR(Enter(directory), "directory");
    }
    return sum_;
  }

 private:
  struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };

  Status Enter(const std::string& directory) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
    fs::Fd fd(
        static_cast<int>(::syscall(SYS_openat2, top_.get(), directory.c_str(), &how, sizeof(how))));
    if (!fd.ok()) return OkStatus();  // gone, a link by now, a mount, or too deep
    const std::unique_ptr<DIR, CloseDir> open(::fdopendir(fd.get()));
    if (open == nullptr) return ErrnoStatus(errno);
    const int at = fd.Release();
    while (const dirent* entry = ::readdir(open.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      RETURN_IF_ERROR(Count(at, directory, entry->d_name), "entry");
    }
    return OkStatus();
  }

  Status Count(int at, const std::string& directory, const char* name) {
    if (++entries_ > kMaxEntries)
      return ResourceExhausted("more than {} files are not counted", kMaxEntries);
    struct stat found {};
    if (::fstatat(at, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return OkStatus();
    if (S_ISDIR(found.st_mode)) {
      waiting_.push_back(directory + "/" + name);
    } else if (found.st_nlink > 1 && !linked_.emplace(found.st_dev, found.st_ino).second) {
      return OkStatus();
    }
    sum_ += {found.st_blocks * kBlockBytes, 1};
    return OkStatus();
  }

  fs::Fd top_;
  std::vector<std::string> waiting_;  // below the top
  std::set<std::pair<uint64_t, uint64_t>> linked_;
  size_t entries_ = 0;
  DiskFigures sum_;
};

class RealTreeMeter final : public TreeMeter {
 public:
  StatusOr<DiskFigures> Measure(const std::string& path) override {
    fs::Fd top(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!top.ok()) {
      if (errno == ENOENT) return DiskFigures{};
      return ErrnoStatus(errno);
    }
    struct stat found {};
    if (::fstat(top.get(), &found) != 0) return ErrnoStatus(errno);
    ASSIGN_OR_RETURN(DiskFigures sum, Walk(std::move(top)).Run(), "measure {}", path);
    return sum += {found.st_blocks * kBlockBytes, 1};
  }

  StatusOr<uint64_t> DeviceOf(const std::string& path) override {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return ErrnoStatus(errno);
    return found.st_dev;
  }
};

}  // namespace

std::unique_ptr<TreeMeter> MakeTreeMeter() { return std::make_unique<RealTreeMeter>(); }

}  // namespace splitlet::gc
