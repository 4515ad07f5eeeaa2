#include "chaos/rules/wanted_pods.h"

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void WantedPods::Put(const PodToRun& pod, const std::string& full_name, const Snapshot& last) {
  const bool created = !wanted_.contains(pod.name);
  if (created) ++incarnations_[pod.name];
  const bool is_new = created && IsGone(last, full_name);
  wanted_[pod.name] = {.pod = pod,
                       .full_name = full_name,
                       .new_incarnation = is_new ? std::optional(last.wall) : std::nullopt};
  known_[full_name] = {.name = pod.name, .from = pod.from};
}

void WantedPods::Remove(const std::string& name) { wanted_.erase(name); }

const WantedPod* WantedPods::Find(const std::string& name) const {
  const auto found = wanted_.find(name);
  return found == wanted_.end() ? nullptr : &found->second;
}

int WantedPods::Incarnations(const std::string& name) const {
  const auto found = incarnations_.find(name);
  return found == incarnations_.end() ? 0 : found->second;
}

const std::string& WantedPods::ShortName(const std::string& full_name) const {
  return known_.at(full_name).name;
}

const PodTemplate* WantedPods::TemplateOf(const std::string& full_name) const {
  const auto found = known_.find(full_name);
  return found == known_.end() ? nullptr : found->second.from;
}

bool WantedPods::IsUnwanted(const std::string& full_name) const {
  return IsOurs(full_name) && Find(ShortName(full_name)) == nullptr;
}

}  // namespace splitlet::chaos
