#pragma once

/// Container events, from CRI's own stream or containerd's, on a thread of its own. Events may come
/// late, twice or never.
/// Threads: see each function.
/// Errors: UNIMPLEMENTED: the runtime has no such stream, or ends it immediately without an error;
/// otherwise the reason of the end.
/// Source: docs/design.md, "Runtime events without waiting"; docs/libraries.md.

#include <functional>
#include <memory>
#include <thread>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/event_source.h"

namespace grpc {
class Channel;
}

namespace splitlet::cri {

/// GetContainerEvents: containerd 1.7 and later, CRI-O with `enable_pod_events`.
std::unique_ptr<EventStream> MakeCriEventStream(const std::shared_ptr<grpc::Channel>& channel,
                                                const Clock& clock);
/// containerd's event service, for versions whose CRI has no events. It reports container ids only,
/// and neither exits of exec'd commands nor kCreated.
std::unique_ptr<EventStream> MakeContainerdEventStream(
    const std::shared_ptr<grpc::Channel>& channel, const Clock& clock);

/// Follows a stream on a thread.
class StreamThread final : public EventSource {
 public:
  StreamThread(std::unique_ptr<EventStream> stream, const Clock& clock);
  ~StreamThread() override;
  void Start(Callbacks callbacks, Duration open_limit) override;
  void Stop() override;

 private:
  std::unique_ptr<EventStream> stream_;
  const Clock& clock_;
  std::shared_ptr<CancelToken> cancel_;
  std::thread thread_;
};

}  // namespace splitlet::cri
