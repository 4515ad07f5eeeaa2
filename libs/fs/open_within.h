#pragma once

/// Opens what is below a folder that somebody hostile may fill and change meanwhile: no link leads
/// out of it, and nothing is made outside of it. An absolute link is one of this machine, and may
/// lead to what is below the folder.
/// Threads: any; blocks on the disk.
/// Errors:  by errno.
/// Source:  docs/behaviour/volumes.md, "subPath".

#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {

/// A descriptor that only names it (O_PATH). Where nothing is, a directory is made, and those on
/// the way, with the mode of the root whatever the umask. A path with ".." may not leave the root
/// on its way.
StatusOr<Fd> OpenOrMakeWithin(const std::string& root, const std::string& path_below);

}  // namespace splitlet::fs
