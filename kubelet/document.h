#pragma once

/// The configuration that a kubelet's file, drop-ins and flags make together, as one document.
/// Threads: any; LoadDocument blocks on files.
/// Errors: INVALID_ARGUMENT that names file or flag, and the reason.
/// Source: kubelet --config-dir; RFC 7386; docs/behaviour/configuration.md.

#include <string>
#include <vector>

#include "kubelet/arguments.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::kubelet {

struct Document {
  std::string json;
  std::vector<std::string> warnings;
};

/// `folder`: relative paths of flags and drop-ins count from it.
StatusOr<Document> LoadDocument(fs::FileSystem& files, const Arguments& arguments,
                                const std::string& folder);

/// Files below `directory` whose names end in ".conf", in the order in which they are merged.
StatusOr<std::vector<std::string>> ListDropIns(fs::FileSystem& files, const std::string& directory);

}  // namespace splitlet::kubelet
