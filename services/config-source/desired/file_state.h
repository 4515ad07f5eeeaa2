#pragma once

/// How the file of a pod relates to its newest record. DesiredStore alone moves it, by Next.
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/safety.md, rule 3.

namespace splitlet::config_source {

enum class FileState {
  kWritten,   // the file is as the newest record, or needs none
  kWriting,   // a save or removal of the newest record is in flight
  kOutdated,  // a save or removal is in flight, and the record has changed since it began
  kFailed,    // the last write failed, and a timer repeats it
};

enum class FileEvent {
  kChanged,  // the file has to be written: the record has changed, or the write is repeated
  kWritten,  // the write in flight succeeded
  kFailed,   // the write in flight failed
};

/// A write has to begin when kWriting is reached.
FileState Next(FileState state, FileEvent event);

}  // namespace splitlet::config_source
