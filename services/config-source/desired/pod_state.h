#pragma once

/// Whether a pod of the table is to run. DesiredPod::On is the only writer after a pod is made.
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/behaviour/config-sources.md, "The merge"; docs/safety.md, rule 9.

#include <string_view>

namespace splitlet::config_source {

enum class PodState {
  kWanted,
  kUnconfirmed,  // saved in another boot: starts and stops nothing
  kRemoved,      // no source wants it; stays until its worker has finished
  kMirror,       // the API's image of a static pod: never to run
};

enum class PodEvent {
  kDelivered,  // its source delivers the pod in this boot
  kWithdrawn,  // its source does not deliver the pod any more
};

/// A mirror pod that its source does not deliver any more leaves the table.
PodState Next(PodState state, PodEvent event);

/// The state after a start of a pod that was saved as `saved`. `this_boot`: the record is of this
/// boot. A manifest is read again before its pod is put, but the API server may be away for long.
PodState StateAfterStart(PodState saved, std::string_view source, bool this_boot);

}  // namespace splitlet::config_source
