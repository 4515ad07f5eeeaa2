#include "libs/daemon/metrics_port.h"

#include <utility>

namespace splitlet::daemon {

MetricsPort::MetricsPort(Place place, HttpHandler handler, fs::FileSystem& files, const Log& log)
    : place_(std::move(place)), handler_(std::move(handler)), files_(files), log_(log) {}

Status MetricsPort::Try() {
  if (listens()) return OkStatus();
  const Status listening = Listen();
  if (listening.code() == StatusCode::kInvalidArgument) return listening;
  const std::string trouble = listening.ok() ? "" : Message(listening);
  const std::lock_guard lock(mutex_);
  const std::string before = std::exchange(trouble_, trouble);
  if (before == trouble) return listening;
  if (listening.ok())
    log_.Info("serving metrics", {KV("address", server_->address())});
  else
    log_.Warn("cannot serve metrics, will try again", {KV("err", trouble)});
  return listening;
}

Status MetricsPort::Listen() {
  auto made = StartHttpServer(place_.address, handler_);
  if (!made.ok()) return made.status();
  Status written = files_.Replace(place_.file, (*made)->address() + "\n", {.mode = 0640});
  if (!written.ok()) return Annotate(written, "write " + place_.file);
  const std::lock_guard lock(mutex_);
  server_ = std::move(*made);
  return OkStatus();
}

bool MetricsPort::listens() const {
  const std::lock_guard lock(mutex_);
  return server_ != nullptr;
}

std::string MetricsPort::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::string MetricsPort::address() const {
  const std::lock_guard lock(mutex_);
  return server_ == nullptr ? "" : server_->address();
}

void MetricsPort::Stop() {
  const std::lock_guard lock(mutex_);
  server_.reset();
}

}  // namespace splitlet::daemon
