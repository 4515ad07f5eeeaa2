#include "services/gc/protect/oom/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "libs/fs/fd.h"

namespace splitlet::gc {
namespace {

constexpr size_t kMostRecordBytes = 8192;  // the limit of the kernel
constexpr size_t kMostRecords = 10'000;    // of one call; the next call reads the rest

class Kmsg final : public KernelLog {
 public:
  explicit Kmsg(std::string path) : path_(std::move(path)) {}

  StatusOr<std::vector<std::string>> ReadNew() override {
    RETURN_IF_ERROR(Open(), "open {}", path_);
    std::vector<std::string> records;
    std::array<char, kMostRecordBytes> buffer{};
    while (records.size() < kMostRecords) {
      const ssize_t size = ::read(log_.get(), buffer.data(), buffer.size());
      if (size > 0) {
        records.emplace_back(buffer.data(), static_cast<size_t>(size));
      } else if (size == 0 || errno == EAGAIN) {
        break;
      } else if (errno != EPIPE &&
                 errno != EINTR) {  // EPIPE: records were overwritten; the next read continues
        return Annotate(ErrnoStatus(errno), "read");
      }
    }
    return records;
  }

 private:
  Status Open() {
    if (log_.ok()) return OkStatus();
    fs::Fd log(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!log.ok()) return ErrnoStatus(errno);
    if (::lseek(log.get(), 0, SEEK_END) < 0) return ErrnoStatus(errno);
    log_ = std::move(log);
    return OkStatus();
  }

  const std::string path_;
  fs::Fd log_{-1};
};

}  // namespace

std::unique_ptr<KernelLog> MakeKernelLog(const std::string& path) {
  return std::make_unique<Kmsg>(path);
}

}  // namespace splitlet::gc
