#include "services/config-source/completeness.h"

#include "libs/base/status.h"

namespace splitlet::config_source {

std::string WhyIncomplete(const SourceProgress& progress) {
  if (progress.stage == Stage::kReadingFiles) return kUnreadFiles;
  if (!progress.blocked.empty())
    return fmt::format("pod {} was saved by a newer version", progress.blocked);
  if (progress.source == SourceStage::kUnread) return "not read yet";
  if (!progress.set_complete) return progress.set_reason;
  // New pods do not make a complete source incomplete.
  if (progress.source == SourceStage::kComplete || progress.all_put) return {};
  return progress.stage == Stage::kAwaitingWorkers ? kWorkersUnknown : "pods are being saved";
}

}  // namespace splitlet::config_source
