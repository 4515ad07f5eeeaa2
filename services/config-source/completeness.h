#pragma once

/// Whether all pods of a source are known, and why not.
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/behaviour/config-sources.md, "Sources"; docs/safety.md, rules 8 and 9.

#include <string>

namespace splitlet::config_source {

/// How far config-source has come since its start. Only forward.
enum class Stage {
  kReadingFiles,     // the saved pods are not read yet
  kAwaitingWorkers,  // new pods wait: their containers may run, in an incarnation of `workers`
  kRunning,
};

/// How far a source has come since the start.
enum class SourceStage {
  kUnread,      // it has not delivered a set yet
  kIncomplete,  // some of its pods are not known, or not put yet
  kComplete,
};

inline constexpr const char* kUnreadFiles = "saved pods are not read yet";
inline constexpr const char* kWorkersUnknown =
    "table `workers` is incomplete: running incarnations are not known yet";

struct SourceProgress {
  Stage stage = Stage::kReadingFiles;
  SourceStage source = SourceStage::kUnread;
  std::string blocked;  // a pod whose file a newer version wrote; empty: none
  bool set_complete = false;
  std::string set_reason;  // why the newest set is not complete
  bool all_put = false;    // all pods of the newest set, and all saved ones, are in the table
};

/// Empty: the source is complete.
std::string WhyIncomplete(const SourceProgress& progress);

}  // namespace splitlet::config_source
