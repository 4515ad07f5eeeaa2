#pragma once

/// Records events of the node.
/// In:    calls of every room that reports on the node.
/// Owns:  the name of the node.
/// Out:   events.
/// Threads: loop thread only.
/// Errors: none.

#include <string>
#include <utility>

#include "libs/daemon/service.h"

namespace splitlet::gc {

class NodeEvents {
 public:
  NodeEvents(daemon::EventRecorder& events, std::string node_name)
      : events_(events), node_name_(std::move(node_name)) {}

  void Warn(const std::string& reason, const std::string& message) {
    Record(reason, message, true);
  }
  void Inform(const std::string& reason, const std::string& message) {
    Record(reason, message, false);
  }

 private:
  void Record(const std::string& reason, const std::string& message, bool warning);

  daemon::EventRecorder& events_;
  const std::string node_name_;
};

}  // namespace splitlet::gc
