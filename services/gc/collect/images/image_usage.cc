#include "services/gc/collect/images/image_usage.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "libs/kube/image_name.h"

namespace splitlet::gc {

std::set<std::string> NamesOf(const cri::Image& image) {
  std::set<std::string> names = {image.id};
  for (const auto& tag : image.tags) names.insert(kube::NormalImageName(tag));
  for (const auto& digest : image.digests) names.insert(kube::NormalImageName(digest));
  return names;
}

std::set<std::string> NamesUsedBy(const std::vector<cri::Container>& containers) {
  std::set<std::string> used;
  for (const auto& container : containers) {
    for (const auto& name : {container.image_id, container.image_ref, container.image}) {
      if (name.empty()) continue;
      used.insert(name);
      used.insert(kube::NormalImageName(name));
    }
  }
  return used;
}

bool Meet(const std::set<std::string>& some, const std::set<std::string>& others) {
  return std::ranges::any_of(some, [&](const auto& name) { return others.contains(name); });
}

int UsedPercent(const ImageFs& fs) {
  const uint64_t available = std::min(fs.available_bytes, fs.capacity_bytes);
  return 100 - static_cast<int>(available * 100 / fs.capacity_bytes);
}

uint64_t BytesToFree(const ImageFs& fs, const GcConfig& config) {
  if (UsedPercent(fs) < config.image_high_percent) return 0;
  const auto free_share = static_cast<uint64_t>(100 - config.image_low_percent);
  const uint64_t target = fs.capacity_bytes * free_share / 100;
  return target > fs.available_bytes ? target - fs.available_bytes : 0;
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

void ImageUsage::Observe(const Seen& seen, Clock::Time now) {
  std::set<std::string> used = NamesUsedBy(seen.containers);
  used.insert(seen.wanted.begin(), seen.wanted.end());
  std::map<std::string, Record> records;
  for (const auto& image : seen.images) {
    if (image.id.empty()) continue;  // cannot be removed without an id
    const auto known = records_.find(image.id);
    Record record = known == records_.end() ? Record{.first_seen = now} : known->second;
    record.bytes = image.size_bytes;
    record.pinned = image.pinned;
    record.names = NamesOf(image);
    record.in_use = Meet(record.names, used);
    if (record.in_use) record.last_used = now;
    records[image.id] = record;
  }
  records_ = std::move(records);
}

std::vector<ImageRemoval> ImageUsage::Removable(const GcConfig& config, Clock::Time now) const {
  std::vector<std::pair<std::tuple<Duration, Duration, std::string>, ImageRemoval>> sorted;
  for (const auto& [id, record] : records_) {
    if (record.in_use || record.pinned || now - record.first_seen < config.image_min_age) continue;
    const Duration last_used = record.last_used ? record.last_used.monotonic : Duration{0};
    sorted.push_back(
        {{last_used, record.first_seen.monotonic, id}, {id, record.bytes, "space", record.names}});
  }
  std::ranges::sort(sorted, {}, [](const auto& entry) { return entry.first; });
  std::vector<ImageRemoval> removals;
  for (auto& [order, removal] : sorted) removals.push_back(std::move(removal));
  return removals;
}

std::vector<ImageRemoval> ImageUsage::TooOld(const GcConfig& config, Clock::Time now) const {
  std::vector<ImageRemoval> removals;
  // Before that time, it is unknown how long an image was unused.
  if (config.image_max_age <= Duration{0} || now - started_ <= config.image_max_age)
    return removals;
  for (const auto& [id, record] : records_) {
    if (record.in_use || record.pinned) continue;
    if (record.last_used && now - record.last_used <= config.image_max_age) continue;
    if (now - record.first_seen <= config.image_min_age) continue;
    removals.push_back({id, record.bytes, "age", record.names});
  }
  return removals;
}

}  // namespace splitlet::gc
