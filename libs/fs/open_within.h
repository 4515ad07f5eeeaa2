#pragma once

/// Opens what is below a folder that somebody hostile may fill and change meanwhile: no link leads
/// out of it, and nothing outside of it is made or even looked at. An absolute link is one of this
/// machine: it may lead to what is below the folder, which it names as the caller does, or without
/// a link. One that leaves the folder and comes back has to do so by the folder's own path.
/// Threads: any; blocks on the disk.
/// Errors:  by errno; OUT_OF_RANGE: links lead out, or nowhere.
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
