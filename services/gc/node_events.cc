#include "services/gc/node_events.h"

#include "libs/daemon/event_record.h"

namespace splitlet::gc {

void NodeEvents::Record(const std::string& reason, const std::string& message, bool warning) {
  events_.Record(
      daemon::NodeEvent(node_name_, {.reason = reason, .message = message, .warning = warning}));
}

}  // namespace splitlet::gc
