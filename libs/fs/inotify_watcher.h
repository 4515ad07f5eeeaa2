#pragma once

/// FileWatcher by inotify.

#include <memory>

#include "libs/fs/file_watcher.h"

namespace splitlet::fs {

std::unique_ptr<FileWatcher> MakeInotifyWatcher();

}  // namespace splitlet::fs
