#include "services/node-api/logs/hold_below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include "libs/fs/path.h"

namespace splitlet::node_api {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit
constexpr int kName = O_PATH | O_NOFOLLOW | O_CLOEXEC;

Status LeadsOut(const std::string& root) {
  return PermissionDenied("the path leads out of {}", root);
}

/// Opens a path component by component. Each step starts at a descriptor and follows no link, so
/// the result is below the folder whatever is renamed at the same time. openat2 would do this in
/// one call, but a sandbox may lack it.
class Way {
 public:
  enum class Links { kBelow, kNone };
  Way(const std::string& root, fs::Fd top, Links links) : root_(root), allowed_(links) {
    steps_.push_back(std::move(top));
  }

  StatusOr<fs::Fd> Go(const std::string& path) {
    Prepend(path);
    while (!names_.empty()) {
      const std::string name = std::exchange(names_.front(), "");
      names_.pop_front();
      RETURN_IF_ERROR(name == ".." ? Back() : Step(name), "{}", name);
    }
    return std::move(steps_.back());
  }

 private:
  void Prepend(std::string_view path) {
    const auto names = fs::NamesOf(path);
    names_.insert(names_.begin(), names.begin(), names.end());
  }

  Status Back() {
    if (steps_.size() == 1) return LeadsOut(root_);
    steps_.pop_back();
    return OkStatus();
  }

  Status Step(const std::string& name) {
    fs::Fd next(::openat(steps_.back().get(), name.c_str(), kName));
    if (!next.ok()) return ErrnoStatus(errno);
    struct stat info {};
    if (::fstat(next.get(), &info) != 0) return ErrnoStatus(errno);
    const bool link = S_ISLNK(info.st_mode);
    if (link && allowed_ == Links::kBelow) return Follow(next);
    if (link && !names_.empty()) return PermissionDenied("it is a link");
    steps_.push_back(std::move(next));
    return OkStatus();
  }

  Status Follow(const fs::Fd& link) {
    if (++links_ > kMaxLinks) return ErrnoStatus(ELOOP);
    std::array<char, 4096> buffer;
    const ssize_t size = ::readlinkat(link.get(), "", buffer.data(), buffer.size());
    if (size < 0) return ErrnoStatus(errno);
    std::string_view target(buffer.data(), static_cast<size_t>(size));
    if (target.starts_with('/')) {
      if (!target.starts_with(root_ + "/")) return LeadsOut(root_);
      target.remove_prefix(root_.size());
      steps_.erase(steps_.begin() + 1, steps_.end());
    }
    Prepend(target);
    return OkStatus();
  }

  const std::string& root_;
  const Links allowed_;
  std::deque<std::string> names_;  // components still to open
  std::vector<fs::Fd> steps_;      // from the folder to the current directory
  int links_ = 0;
};

StatusOr<HeldPath> Hold(const std::string& root, const std::string& path, Way::Links links) {
  fs::Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.ok()) return ErrnoStatus(errno);
  auto end = Way(root, std::move(top), links).Go(path);
  if (!end.ok()) return end.status();
  HeldPath held{.held = std::make_shared<const fs::Fd>(*std::move(end)), .path = ""};
  held.path = fmt::format("/proc/self/fd/{}", held.held->get());
  return held;
}

}  // namespace

StatusOr<HeldPath> HoldBelow(const std::string& root, const std::string& path) {
  return Hold(root, path, Way::Links::kBelow);
}

StatusOr<HeldPath> HoldWithoutLinks(const std::string& root, const std::string& path) {
  return Hold(root, path, Way::Links::kNone);
}

StatusOr<std::string> ReadBelow(const std::string& root, const std::string& path,
                                uint64_t max_bytes) {
  const auto held = HoldBelow(root, path);
  if (!held.ok()) return held.status();
  const fs::Fd file(::open(held->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) return ErrnoStatus(errno);
  return fs::ReadFile(file, max_bytes);
}

}  // namespace splitlet::node_api
