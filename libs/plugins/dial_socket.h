#pragma once

/// Connects to the very socket that an inspection found: through a descriptor of the file, so that
/// no link is followed and no other socket can take its place in between.
/// Threads: any; blocks on the file system, never on the plugin.
/// Errors:  INVALID_ARGUMENT: the path is too long for an address; FAILED_PRECONDITION: no socket;
///          PERMISSION_DENIED: the socket of a user who is neither root nor this one; ABORTED:
///          another socket; by errno, UNAVAILABLE if the plugin's queue is full.
/// Source:  unix(7).

#include "libs/base/status.h"
#include "libs/fs/fd.h"
#include "libs/plugins/plugin.h"

namespace splitlet::plugins {

/// A connected descriptor that does not block.
StatusOr<fs::Fd> DialSocket(const PluginSocket& socket);

}  // namespace splitlet::plugins
