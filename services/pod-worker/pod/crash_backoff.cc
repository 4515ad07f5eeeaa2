#include "services/pod-worker/pod/crash_backoff.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/hash.h"

namespace splitlet::pod_worker {

namespace {

template <class QuantityMap>
std::string Sorted(const QuantityMap& map) {
  std::vector<std::string> parts;
  for (const auto& [name, quantity] : map) parts.push_back(name + "=" + quantity.string());
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ","));
}

/// Bounds of the age, whatever the wall clock did: the container was started after the last
/// advance, and had ended when it was first waited for.
Duration AgeOf(const CrashBackoff::Entry& entry, const CrashBackoff::Exit& exit, Clock::Time now) {
  const Duration least =
      entry.waits_for == exit.id ? std::max(now - entry.waits_since, Duration{0}) : Duration{0};
  return std::max(least, std::min(exit.age, now - entry.advanced_at));
}

bool Expired(const CrashBackoff::Entry& entry, const CrashBackoff::Exit& exit, Clock::Time now) {
  return (now - AgeOf(entry, exit, now)) - entry.advanced_at > kBackoffReset;
}

}  // namespace

std::string BackoffKey(const kube::Pod& pod, const kube::Container& container) {
  const auto& meta = pod.metadata();
  return HexHash(fmt::format("{}/{}/{}/{}/{}/{};{}", meta.name(), meta.namespace_(), meta.uid(),
                             container.name(), container.image(),
                             Sorted(container.resources().limits()),
                             Sorted(container.resources().requests())));
}

CrashBackoff::Wait CrashBackoff::WaitAfter(const std::string& key, const Exit& exit,
                                           Clock::Time now) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return {};
  Entry& entry = found->second;
  if (entry.exited_id == exit.id || Expired(entry, exit, now)) return {};
  if (std::exchange(entry.waits_for, exit.id) != exit.id) entry.waits_since = now;
  return {std::clamp(entry.delay - AgeOf(entry, exit, now), Duration{0}, entry.delay), entry.delay};
}

bool CrashBackoff::Advance(const std::string& key, const Exit& exit, Clock::Time now) {
  const auto [found, fresh] = entries_.try_emplace(key);
  Entry& entry = found->second;
  if (!fresh && entry.exited_id == exit.id) return false;
  const bool from_start = fresh || Expired(entry, exit, now);
  entry.delay = from_start ? std::min(kBackoffInitial, max_) : std::min(entry.delay * 2, max_);
  if (max_ < kBackoffInitial) entry.delay = max_;
  entry.advanced_at = now;
  entry.exited_id = exit.id;
  return true;
}

std::string FormatSeconds(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{}m{}s", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string FormatMillis(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  if (ms == 0) return "0s";
  if (ms < 1000) return fmt::format("{}ms", ms);
  std::string fraction = fmt::format(".{:03}", ms % 1000);
  while (fraction.back() == '0') fraction.pop_back();
  if (fraction == ".") fraction.clear();
  const auto seconds = ms / 1000;
  if (seconds < 60) return fmt::format("{}{}s", seconds, fraction);
  if (seconds < 3600) return fmt::format("{}m{}{}s", seconds / 60, seconds % 60, fraction);
  return fmt::format("{}h{}m{}{}s", seconds / 3600, seconds / 60 % 60, seconds % 60, fraction);
}

}  // namespace splitlet::pod_worker
