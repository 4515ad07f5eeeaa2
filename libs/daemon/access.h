#pragma once

/// Rights of callers: who may connect to this process and call which methods, by the table of
/// processes and their user ids in `splitlet.users`. Root may call everything; without the setting
/// all processes run as one user.
/// Threads: immutable.
/// Source: docs/design.md, "The calls"; docs/safety.md, rule 31.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/rpc/rpc.h"

namespace splitlet::daemon {

class Access {
 public:
  using Users = std::map<std::string, uint32_t>;  // process or "ctl" -> user id

  /// `own_uid`: the user of this process.
  Access(std::string process, Users users, uint32_t own_uid);

  /// INVALID_ARGUMENT if this process runs as another user than the setting names: its peers would
  /// refuse it.
  Status Check() const;
  /// Users that may call any method of this process.
  std::vector<uint32_t> Callers() const;
  /// `method`: "splitlet.v1.Pleg/Relist".
  bool MayCall(const std::string& method, uint32_t uid) const;
  /// The user of the other process; nullopt: not set.
  std::optional<uint32_t> UserOf(const std::string& process) const;

 private:
  /// A process that the setting does not name runs as root.
  uint32_t Named(const std::string& process) const;

  const std::string process_;
  const Users users_;
  const uint32_t own_uid_;
};

/// Limits of one caller for a method: "splitlet.v1.Pleg/Relist".
rpc::MethodLimits LimitsOf(const std::string& method);

}  // namespace splitlet::daemon
