#include "libs/fs/tail_reader.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"
#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

using Names = std::vector<std::string>;

/// Opens nothing: O_PATH only names the entry.
StatusOr<Fd> NameNext(const Fd& folder, const std::string& name) {
  Fd next(::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!next.ok()) return LastError();
  struct stat info {};
  if (::fstat(next.get(), &info) != 0) return LastError();
  if (S_ISLNK(info.st_mode)) return FailedPrecondition("{} is a link, which is not followed", name);
  return next;
}

StatusOr<Fd> NameBelow(const std::string& folder, const Names& names) {
  Fd at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at.ok()) return LastError();
  for (const auto& name : names) {
    auto next = NameNext(at, name);
    if (!next.ok()) return next;
    at = *std::move(next);
  }
  return at;
}

StatusOr<std::string> TailOf(const Fd& file, uint64_t max_bytes) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return LastError();
  const auto size = static_cast<uint64_t>(info.st_size);
  std::string text(std::min(size, max_bytes), '\0');
  const ssize_t got =
      ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  if (got < 0) return LastError();
  text.resize(static_cast<size_t>(got));
  return text;
}

bool IsBelow(const Names& folder, const Names& path) {
  return path.size() > folder.size() && std::equal(folder.begin(), folder.end(), path.begin());
}

class Reader {
 public:
  /// If folders are nested, the innermost folder that contains the file counts.
  explicit Reader(const std::vector<std::string>& folders) {
    for (const auto& folder : folders) folders_.push_back(NamesOf(folder));
    std::ranges::sort(folders_, std::ranges::greater(),
                      [](const Names& names) { return names.size(); });
  }

  StatusOr<std::string> Read(const std::string& path, uint64_t max_bytes) const {
    Names names = NamesOf(path);
    if (!path.starts_with('/') || std::ranges::find(names, "..") != names.end())
      return InvalidArgument("not the path of a file");
    Names folder;
    for (const auto& each : folders_)
      if (folder.empty() && IsBelow(each, names)) folder = each;
    names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(folder.size()));
    const auto named = NameBelow(fmt::format("/{}", fmt::join(folder, "/")), names);
    if (!named.ok()) return named.status();
    const auto file = OpenRegularFile(*named);
    return file.ok() ? TailOf(*file, max_bytes) : file.status();
  }

 private:
  std::vector<Names> folders_;
};

}  // namespace

TailReader MakeTailReader(const std::vector<std::string>& folders) {
  return [reader = Reader(folders)](const std::string& path, uint64_t max_bytes) {
    return reader.Read(path, max_bytes);
  };
}

}  // namespace splitlet::fs
