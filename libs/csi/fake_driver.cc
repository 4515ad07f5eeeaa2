#include "libs/csi/fake_driver.h"

#include <algorithm>
#include <chrono>

#include "csi/v1/csi.pb.h"
#include "libs/csi/secrets.h"

namespace splitlet::csi {
namespace {

template <class Request>
const Request* As(const google::protobuf::Message& request) {
  return dynamic_cast<const Request*>(&request);
}

}  // namespace

FakeDriverTraits FakeDriver::Traits() const {
  const std::lock_guard lock(mutex_);
  return traits_;
}

void FakeDriver::SetTraits(FakeDriverTraits traits) {
  const std::lock_guard lock(mutex_);
  traits_ = std::move(traits);
}

void FakeDriver::AddFault(FakeFault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FakeDriver::ClearFaults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  ++cleared_;
  changed_.notify_all();
}

size_t FakeDriver::Hanging() const {
  const std::lock_guard lock(mutex_);
  return hanging_;
}

size_t FakeDriver::Calls(const std::string& method) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(),
                    [&](const Record& record) { return record.method == method; }));
}

std::vector<std::string> FakeDriver::RequestTexts(const std::string& method) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& record : records_)
    if (record.method == method) texts.push_back(RequestText(*record.request));
  return texts;
}

std::map<std::string, std::string> FakeDriver::Staged() const {
  const std::lock_guard lock(mutex_);
  return staged_;
}

std::map<std::string, std::string> FakeDriver::Published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::map<std::string, int64_t> FakeDriver::Sizes() const {
  const std::lock_guard lock(mutex_);
  return sizes_;
}

void FakeDriver::Restore(std::map<std::string, std::string> staged,
                         std::map<std::string, std::string> published) {
  const std::lock_guard lock(mutex_);
  staged_ = std::move(staged);
  published_ = std::move(published);
}

std::vector<std::string> FakeDriver::Violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

Status FakeDriver::Call(const std::string& method, const google::protobuf::Message& request,
                        const std::function<bool()>& gone) {
  std::unique_lock lock(mutex_);
  std::unique_ptr<google::protobuf::Message> copy(request.New());
  copy->CopyFrom(request);
  records_.push_back({method, std::move(copy)});
  const auto fault = TakeFault(method);
  if (fault && fault->kind == FakeFault::Kind::kFail) return fault->error;
  if (fault && fault->kind == FakeFault::Kind::kHang) {
    if (const Status gone_away = Hang(lock, gone); !gone_away.ok()) return gone_away;
  }
  const Status done = Effect(request);
  lock.unlock();
  if (effects_.changed) effects_.changed();
  return fault && fault->kind == FakeFault::Kind::kLose && done.ok() ? fault->error : done;
}

std::optional<FakeFault> FakeDriver::TakeFault(const std::string& method) {
  for (auto at = faults_.begin(); at != faults_.end(); ++at) {
    if (!at->method.empty() && at->method != method) continue;
    const FakeFault fault = *at;
    if (at->times > 0 && --at->times == 0) faults_.erase(at);
    return fault;
  }
  return std::nullopt;
}

/// The caller's end makes no sound, hence the short waits.
Status FakeDriver::Hang(std::unique_lock<std::mutex>& lock, const std::function<bool()>& gone) {
  const uint64_t before = cleared_;
  ++hanging_;
  while (cleared_ == before && !gone()) changed_.wait_for(lock, std::chrono::milliseconds{10});
  --hanging_;
  return cleared_ == before ? Cancelled("the caller went away") : OkStatus();
}

Status FakeDriver::Effect(const google::protobuf::Message& request) {
  if (const auto* stage = As<v1::NodeStageVolumeRequest>(request)) return Stage(*stage);
  if (const auto* unstage = As<v1::NodeUnstageVolumeRequest>(request))
    return Unstage(unstage->volume_id(), unstage->staging_target_path());
  if (const auto* publish = As<v1::NodePublishVolumeRequest>(request)) return Publish(*publish);
  if (const auto* unpublish = As<v1::NodeUnpublishVolumeRequest>(request))
    return Unpublish(unpublish->volume_id(), unpublish->target_path());
  if (const auto* expand = As<v1::NodeExpandVolumeRequest>(request)) return Expand(*expand);
  return OkStatus();
}

Status FakeDriver::Stage(const v1::NodeStageVolumeRequest& request) {
  const std::string &handle = request.volume_id(), &path = request.staging_target_path();
  if (handle.empty() || path.empty() || !request.has_volume_capability()) {
    violations_.push_back("staged without handle, path or capability");
    return InvalidArgument("handle, path and capability are required");
  }
  if (!traits_.capabilities.Has(NodeCapability::kStageUnstageVolume))
    violations_.push_back(handle + " is staged without STAGE_UNSTAGE_VOLUME");
  const auto [at, added] = staged_.emplace(handle, path);
  if (!added && at->second != path) violations_.push_back(handle + " is staged at two places");
  return OkStatus();
}

Status FakeDriver::Unstage(const std::string& handle, const std::string& path) {
  if (handle.empty() || path.empty()) {
    violations_.push_back("unstaged without handle or path");
    return InvalidArgument("handle and path are required");
  }
  const bool in_use = std::any_of(published_.begin(), published_.end(),
                                  [&](const auto& entry) { return entry.second == handle; });
  if (in_use) violations_.push_back(handle + " is unstaged while it is published");
  staged_.erase(handle);
  return OkStatus();
}

Status FakeDriver::Publish(const v1::NodePublishVolumeRequest& request) {
  const std::string &handle = request.volume_id(), &target = request.target_path();
  if (handle.empty() || target.empty() || !request.has_volume_capability()) {
    violations_.push_back("published without handle, path or capability");
    return InvalidArgument("handle, path and capability are required");
  }
  if (!request.staging_target_path().empty() && !staged_.contains(handle)) {
    violations_.push_back(handle + " is published before it is staged");
    return FailedPrecondition("volume {} is not staged", handle);
  }
  if (effects_.publish) {
    if (Status done = effects_.publish(request); !done.ok()) return done;
  }
  published_[target] = handle;
  return OkStatus();
}

Status FakeDriver::Unpublish(const std::string& handle, const std::string& path) {
  if (handle.empty() || path.empty()) {
    violations_.push_back("unpublished without handle or path");
    return InvalidArgument("handle and path are required");
  }
  if (effects_.unpublish) {
    if (Status done = effects_.unpublish(path); !done.ok()) return done;
  }
  published_.erase(path);
  return OkStatus();
}

Status FakeDriver::Expand(const v1::NodeExpandVolumeRequest& request) {
  sizes_[request.volume_id()] = request.capacity_range().required_bytes();
  return OkStatus();
}

}  // namespace splitlet::csi
