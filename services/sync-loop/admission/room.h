#pragma once

/// The room of the node, kept from turn to turn of admission, so that a turn costs what has changed
/// and not what the node has.
/// In:    pods of which something changed that load.h asks for, from PodAdmitter.
/// Owns:  what each pod holds that counts, and the sums.
/// Out:   nothing; PodAdmitter reads it.
/// Killed at any line: nothing is lost; a start is told of every pod anew.
/// Threads: loop thread only.
/// Errors: none; what a pod requests that cannot be read counts as nothing but a pod.
/// Source: docs/safety.md, rule 12.

#include <set>
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

class HeldRoom {
 public:
  explicit HeldRoom(const RoomInput& input) : input_(input) {}

  /// Its record, its worker, its admission, what runs of it, a call for it or its fate as a victim
  /// has changed.
  void OnChanged(const std::string& key) { changed_.insert(key); }
  /// The room as it is now, and nobody waits for it yet.
  void BeginTurn();
  /// Admitted in this turn: it holds this from now on.
  void Admit(const std::string& key, const PodRequests& requests);
  /// Younger API pods leave it room in this turn.
  void Await(const std::string& key, const PodRequests& requests) {
    room_.awaited.emplace_back(key, requests);
  }
  const Room& room() const { return room_; }
  /// Adds up all pods that are known, and mends what is kept where it differs: false. Not in a
  /// turn.
  bool Check();

 private:
  void Update(const std::string& key);

  const RoomInput input_;
  Room room_;
  std::set<std::string> changed_;
  std::set<std::string> called_;  // whether they count may also change as time goes by
};

/// `load` without what a static pod of the same full name holds, which ends before this one starts.
NodeLoad WithoutNamesakes(NodeLoad load, const KnownPods& known, const std::string& key);

}  // namespace splitlet::sync_loop
