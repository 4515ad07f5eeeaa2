#include "libs/logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace splitlet::logs {
namespace {

constexpr uint64_t kBlock = 64 << 10;

class RealLogFile final : public LogFile {
 public:
  RealLogFile(fs::Fd fd, const struct stat& info, LogOpener open)
      : fd_(std::move(fd)), device_(info.st_dev), inode_(info.st_ino), open_(std::move(open)) {}

  StatusOr<uint64_t> Size() override {
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return ErrnoStatus(errno);
    return static_cast<uint64_t>(info.st_size);
  }

  Status ReadAt(uint64_t offset, size_t max, std::string& bytes) override {
    bytes.resize(max);
    ssize_t got = -1;
    do {
      got = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    const int error = errno;
    bytes.resize(static_cast<size_t>(std::max(got, ssize_t{0})));
    return got < 0 ? ErrnoStatus(error) : OkStatus();
  }

  bool IsReplacedAt(const std::string& path) override {
    const auto now = open_(path);
    struct stat info {};
    return now.ok() && ::fstat(now->get(), &info) == 0 &&
           (info.st_dev != device_ || info.st_ino != inode_);
  }

 private:
  fs::Fd fd_;
  const dev_t device_;
  const ino_t inode_;
  const LogOpener open_;
};

class RealLogFiles final : public LogFiles {
 public:
  explicit RealLogFiles(LogOpener open) : open_(std::move(open)) {}
  StatusOr<std::unique_ptr<LogFile>> Open(const std::string& path) override {
    auto fd = open_(path);
    if (!fd.ok()) return fd.status();
    struct stat info {};
    if (::fstat(fd->get(), &info) != 0) return ErrnoStatus(errno);
    if (!S_ISREG(info.st_mode)) return InvalidArgument("not a regular file");
    return std::make_unique<RealLogFile>(*std::move(fd), info, open_);
  }

 private:
  const LogOpener open_;
};

}  // namespace

StatusOr<fs::Fd> OpenLog(const std::string& path) {
  // O_NONBLOCK: a pipe in place of the log must not block.
  fs::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return ErrnoStatus(errno);
  return fd;
}

std::unique_ptr<LogFiles> MakeLogFiles(LogOpener open) {
  return std::make_unique<RealLogFiles>(std::move(open));
}

StatusOr<uint64_t> FindTail(LogFile& file, uint64_t lines) {
  ASSIGN_OR_RETURN(const uint64_t size, file.Size(), "size");
  uint64_t seen = 0;
  std::string block;
  for (uint64_t end = size; end > 0;) {
    const uint64_t begin = end - std::min(end, kBlock);
    RETURN_IF_ERROR(file.ReadAt(begin, static_cast<size_t>(end - begin), block), "read");
    for (size_t i = block.size(); i > 0; --i) {
      if (block[i - 1] == '\n' && seen++ == lines) return begin + i;
    }
    end = begin;
  }
  return uint64_t{0};
}

}  // namespace splitlet::logs
