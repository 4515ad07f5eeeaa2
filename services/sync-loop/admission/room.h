#pragma once

/// The room of the node, found anew for each turn of admission; PodAdmitter asks.
/// Which pods count is decided by load.h alone; here it is asked for every pod that is known.
/// Threads: loop thread only; it changes nothing.
/// Errors: none; what a pod requests that cannot be read counts as nothing but a pod.
/// Source: docs/safety.md, rule 12.

#include <string>

#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/load.h"
#include "services/sync-loop/admission/victims.h"
#include "services/sync-loop/grants/grant_sender.h"
#include "services/sync-loop/known_pods.h"

namespace splitlet::sync_loop {

/// All that says which pods hold something of the node.
struct RoomInput {
  const KnownPods& known;
  const AdmissionStore& store;
  const Victims& victims;
  const GrantSender& grants;
};

Standing StandingOf(const RoomInput& input, const std::string& key);

Room ComputeRoom(const RoomInput& input);

/// `load` without what a static pod of the same full name holds, which ends before this one starts.
NodeLoad WithoutNamesakes(NodeLoad load, const KnownPods& known, const std::string& key);

}  // namespace splitlet::sync_loop
