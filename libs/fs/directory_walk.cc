#include "libs/fs/directory_walk.h"

#include <system_error>
#include <vector>

namespace splitlet::fs {

namespace stdfs = std::filesystem;

void ForEachEntryBelow(const stdfs::path& top, int depth,
                       const std::function<void(const stdfs::directory_entry&)>& visit) {
  struct Directory {
    stdfs::path path;
    int depth;
  };
  std::vector<Directory> left = {{.path = top, .depth = 0}};
  while (!left.empty()) {
    const Directory directory = std::move(left.back());
    left.pop_back();
    std::error_code error;
    for (stdfs::directory_iterator it(directory.path, error), end; !error && it != end;
         it.increment(error)) {
      visit(*it);
      std::error_code gone;
      if (directory.depth < depth && it->symlink_status(gone).type() == stdfs::file_type::directory)
        left.push_back({.path = it->path(), .depth = directory.depth + 1});
    }
  }
}

}  // namespace splitlet::fs
