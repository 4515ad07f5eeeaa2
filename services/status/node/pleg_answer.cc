#include "services/status/node/pleg_answer.h"

namespace splitlet::status {

peers::RuntimeState AfterAnswer(const peers::RuntimeState& before,
                                const StatusOr<peers::PeerAnswer>& answer) {
  peers::RuntimeState after = before;
  after.pleg_errors.clear();
  if (!answer.ok() || !answer->runtime) return after;
  if (answer->runtime->known || !before.known) after = *answer->runtime;
  after.pleg_errors = answer->runtime->pleg_errors;
  return after;
}

std::optional<Duration> AskPlegAgainAfter(const StatusConfig& config,
                                          const RuntimeProgress& progress, Duration age) {
  if (progress.was_ready && progress.features_known) return std::nullopt;
  const bool hurry = !progress.was_ready && age < config.hurry;
  return hurry ? config.ask_soon : config.ask_again;
}

}  // namespace splitlet::status
