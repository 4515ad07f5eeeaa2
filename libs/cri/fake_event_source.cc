#include "libs/cri/fake_event_source.h"

#include <utility>

namespace splitlet::cri {

FakeEventSource::FakeEventSource(FakeRuntime& runtime, Options options)
    : runtime_(runtime), options_(options) {}

FakeEventSource::~FakeEventSource() { Stop(); }

void FakeEventSource::Start(Callbacks callbacks, Duration) {
  Stop();
  if (options_.unimplemented) {
    callbacks.on_end(Unimplemented("no event stream"));
    return;
  }
  alive_ = std::make_shared<bool>(true);
  FakeRuntime::Subscriber subscriber;
  subscriber.on_event = [alive = alive_, on = callbacks.on_event,
                         ids_only = options_.ids_only](const ContainerEvent& event) {
    if (!*alive) return;
    on(ids_only ? ContainerEvent{event.kind, event.container_id, ""} : event);
  };
  subscriber.on_end = [alive = alive_, on = callbacks.on_end](const Status& status) {
    if (std::exchange(*alive, false)) on(status);
  };
  const auto id = runtime_.Subscribe(std::move(subscriber));
  if (!id.ok()) {
    callbacks.on_end(id.status());
    return;
  }
  subscription_ = *id;
  callbacks.on_open();
}

void FakeEventSource::Stop() {
  if (alive_ != nullptr) *alive_ = false;
  if (subscription_ != 0) runtime_.Unsubscribe(std::exchange(subscription_, 0));
}

}  // namespace splitlet::cri
