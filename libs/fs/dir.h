#pragma once

/// A directory stream that is closed with its owner, used by one thread.

#include <dirent.h>

#include <memory>

namespace splitlet::fs {

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

}  // namespace splitlet::fs
