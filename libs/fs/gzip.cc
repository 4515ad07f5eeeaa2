#include "libs/fs/gzip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <memory>

#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"

namespace splitlet::fs {
namespace {

struct CloseGzip {
  void operator()(gzFile_s* file) const { (void)::gzclose(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

Status ErrorOf(gzFile_s* file) {
  int code = Z_OK;
  const char* const text = ::gzerror(file, &code);
  return code == Z_ERRNO ? LastError() : Internal("{}", text);
}

Status Copy(int from, Gzip to) {
  std::array<char, 64 << 10> buffer{};
  while (true) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return LastError();
    if (n == 0) break;
    if (::gzwrite(to.get(), buffer.data(), static_cast<unsigned>(n)) != n) return ErrorOf(to.get());
  }
  errno = 0;
  // gzclose writes the last bytes, so its result counts.
  const int closed = ::gzclose(to.release());
  if (closed == Z_OK) return OkStatus();
  return closed == Z_ERRNO && errno != 0 ? LastError() : Internal("zlib: error {}", closed);
}

}  // namespace

Status GzipFile(const std::string& from, const std::string& to) {
  const Fd in(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!in.ok()) return LastError();
  struct stat info {};
  if (::fstat(in.get(), &info) != 0) return LastError();
  if (!S_ISREG(info.st_mode)) return InvalidArgument("not a file");
  Fd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out.ok()) return LastError();
  Status done = OkStatus();
  if (::fchmod(out.get(), info.st_mode & 07777) != 0) {
    done = LastError();
  } else if (Gzip gzip(::gzdopen(out.get(), "wb")); gzip == nullptr) {
    done = ResourceExhausted("no memory for compression");
  } else {
    out.Release();
    done = Copy(in.get(), std::move(gzip));
  }
  if (!done.ok()) ::unlink(to.c_str());
  return done;
}

}  // namespace splitlet::fs
