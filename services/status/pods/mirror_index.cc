#include "services/status/pods/mirror_index.h"

#include <utility>

#include "libs/kube/pod_types.h"

namespace splitlet::status {

void MirrorIndex::Set(const std::string& key, const v1::DesiredRecord* record) {
  if (const auto known = names_.find(key); known != names_.end()) {
    const auto same = keys_.find(known->second);
    same->second.erase(key);
    if (same->second.empty()) keys_.erase(same);
    names_.erase(known);
  }
  if (record == nullptr || record->state() != v1::DesiredRecord::MIRROR) return;
  std::string name = kube::FullName(record->name(), record->namespace_());
  keys_[name].insert(key);
  names_[key] = std::move(name);
}

const std::set<std::string>& MirrorIndex::KeysOf(const std::string& full_name) const {
  static const std::set<std::string> none;
  const auto keys = keys_.find(full_name);
  return keys == keys_.end() ? none : keys->second;
}

}  // namespace splitlet::status
