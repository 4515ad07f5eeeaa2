#include "services/config-source/desired/file_state.h"

#include "libs/base/status.h"

namespace splitlet::config_source {

FileState Next(FileState state, FileEvent event) {
  using enum FileState;
  const bool changed = event == FileEvent::kChanged;
  switch (state) {
    case kWritten:
    case kFailed: return changed ? kWriting : state;
    case kWriting:
      if (changed) return kOutdated;
      return event == FileEvent::kWritten ? kWritten : kFailed;
    case kOutdated: return changed ? kOutdated : kWriting;
  }
  UNREACHABLE();
}

}  // namespace splitlet::config_source
