#pragma once

/// The node's addresses as pods show them: as status publishes them, kept for this boot, so that a
/// start needs no peer.
/// In:      key `node` of the view `podstatus`; the file of this boot.
/// Owns:    the last known addresses, and their file.
/// Out:     on_changed.
/// Killed:  at any line: the next start begins with those of the file, and follows status again.
///          Without the file, what needs an address waits for status.
/// Threads: the loop's; the file is written on a strand.
/// Errors:  a file that cannot be written is logged when that changes, and tried again.
/// Source:  docs/safety.md, rules 3 and 26; kubelet getHostIPsAnyWay.

#include <functional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"

namespace splitlet::v1 {
class PodStatusRecord;
}

namespace splitlet::pod_worker {

class NodeAddresses {
 public:
  struct Deps {
    exec::Env env;
    bus::View<v1::PodStatusRecord>& podstatus;
    /// Writes the file of this boot. Blocks.
    std::function<Status(const std::vector<std::string>& ips)> save;
    std::function<void()> on_changed;
  };
  explicit NodeAddresses(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  /// The node's record in the view has changed.
  void OnNode();
  /// From this boot's file; empty: there is none. Addresses that status published since the start
  /// count more.
  void OnRead(std::vector<std::string> ips);
  /// First is the primary one; empty: none is known in this boot.
  const std::vector<std::string>& Get() const { return ips_; }

 private:
  void Save();
  void OnSaved(const Status& status);

  const Deps deps_;
  std::vector<std::string> ips_;
  bool saving_ = false, changed_ = false;  // since the save that is under way began
  std::string error_;                      // of the last save
  const exec::Asker asker_;                // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
