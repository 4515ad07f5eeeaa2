#pragma once

/// Messages of the bus as text: process, pod, and changes.
/// Threads: one at a time.
/// Errors: an undecodable message is shown as undecodable.
/// Source: docs/design.md, "How state is shared".

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libs/base/clock.h"

namespace splitlet::operate {

struct BusMessage {
  WallTime at;
  std::string subject, bytes;
};

struct BusEvent {
  WallTime at;
  std::string process;     // sender
  std::string topic;       // table or signal
  std::string key;         // pod UID, or `node`; empty for a heartbeat
  std::string pod;         // "default/web"; empty if unknown
  std::string text;        // "app running; app waits: ImagePullBackOff"
  bool heartbeat = false;  // a heartbeat without other content
  std::string trace_id;    // trace id of the change; empty: none
};

/// Remembers the last record of each key, to find changes.
class BusReader {
 public:
  BusEvent Read(const BusMessage& message);
  /// UIDs of pods of this name ("web" or "default/web") in all messages so far.
  std::map<std::string, std::string> PodsNamed(
      std::string_view name) const;  // uid -> "default/web"

 private:
  BusEvent ReadTable(const BusMessage& message, const std::string& table);
  void LearnName(const std::string& table, const std::string& key, const std::string& record);

  std::map<std::string, std::string> last_;   // "<table>/<key>" -> record
  std::map<std::string, std::string> names_;  // uid -> "default/web"
};

/// Differences from `before` to `after`; each may be empty: no record.
std::string DescribeChange(std::string_view table, const std::string& before,
                           const std::string& after);

/// "12:34:56.789  pleg  runtime  default/web  app running"
std::string EventLine(const BusEvent& event);

}  // namespace splitlet::operate
