#include "services/pod-worker/api_objects/watched_collection.h"

#include <google/protobuf/message.h>

#include <utility>
#include <vector>

namespace splitlet::pod_worker {

WatchedCollection::WatchedCollection(const ApiContext& context, Options options)
    : options_(std::move(options)),
      reflector_(WatchDeps(context),
                 {.path = options_.path,
                  .content = context.content,
                  .item = options_.item,
                  .list = options_.list,
                  .strand = options_.path},
                 {[this](std::vector<Object> objects) { OnList(std::move(objects)); },
                  [this](apiclient::Reflector::Event event, const Object& object) {
                    OnEvent(event, object);
                  },
                  [this](const Status& status) { OnSync(status); }}) {}

WatchedCollection::~WatchedCollection() = default;

void WatchedCollection::Start(std::function<void()> on_answer, std::function<void()> on_change) {
  on_answer_ = std::move(on_answer);
  on_change_ = std::move(on_change);
  reflector_.Start();
}

WatchedCollection::Object WatchedCollection::PartOf(const Object& object) const {
  return options_.part == nullptr ? object : options_.part(*object);
}

void WatchedCollection::OnList(std::vector<Object> objects) {
  auto all = std::make_shared<Objects>();
  for (const auto& object : objects) (*all)[options_.key(*object)] = PartOf(object);
  const bool first = objects_ == nullptr;
  objects_ = std::move(all);
  if (first) return on_answer_();
  if (on_change_) on_change_();
}

/// Copies objects that a sync still reads.
void WatchedCollection::OnEvent(apiclient::Reflector::Event event, const Object& object) {
  if (objects_ == nullptr) return;
  if (objects_.use_count() > 1) objects_ = std::make_shared<Objects>(*objects_);
  const std::string key = options_.key(*object);
  if (event == apiclient::Reflector::Event::kDeleted) {
    objects_->erase(key);
  } else {
    (*objects_)[key] = PartOf(object);
  }
  if (on_change_) on_change_();
}

void WatchedCollection::OnSync(const Status& status) {
  const bool news = trouble_ != status && objects_ == nullptr;
  trouble_ = status;
  if (news && !status.ok()) on_answer_();
}

}  // namespace splitlet::pod_worker
