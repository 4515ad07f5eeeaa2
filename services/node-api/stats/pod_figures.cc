#include "services/node-api/stats/pod_figures.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace splitlet::node_api {
namespace {

using ById = std::map<std::string, const v1::ContainerFigures*>;

std::optional<ContainerUse> UseOf(const v1::ContainerRecord& container, const ById& figures,
                                  const Figures& all) {
  const auto found = figures.find(container.id());
  if (container.state() != v1::ContainerRecord::RUNNING || found == figures.end())
    return std::nullopt;
  ContainerUse use{.name = container.name(),
                   .id = container.id(),
                   .image = container.image(),
                   .started_at_ns = container.started_at_ns(),
                   .cpu_ns = found->second->cpu_usage_core_ns(),
                   .working_set = found->second->memory_working_set_bytes(),
                   .layer_bytes = found->second->writable_layer_bytes(),
                   .nano_cores = std::nullopt};
  if (const auto rate = all.nano_cores.find(use.id); rate != all.nano_cores.end())
    use.nano_cores = rate->second;
  return use;
}

}  // namespace

uint64_t PodUse::cpu_ns() const {
  uint64_t sum = 0;
  for (const auto& container : containers) sum += container.cpu_ns;
  return sum;
}

uint64_t PodUse::working_set() const {
  uint64_t sum = 0;
  for (const auto& container : containers) sum += container.working_set;
  return sum;
}

std::optional<uint64_t> PodUse::nano_cores() const {
  uint64_t sum = 0;
  for (const auto& container : containers) {
    if (!container.nano_cores) return std::nullopt;
    sum += *container.nano_cores;
  }
  return sum;
}

std::vector<PodUse> UseOfPods(const Figures& figures, const RuntimeRecords& records) {
  ById by_id;
  for (const auto& container : figures.reply.containers()) by_id[container.id()] = &container;
  std::vector<PodUse> pods;
  for (const auto& record : records) {
    const v1::ObservedPod& seen = record->pod();
    PodUse pod{.name_space = seen.namespace_(), .name = seen.name(), .uid = seen.uid()};
    if (seen.sandboxes_size() > 0) pod.started_at_ns = seen.sandboxes(0).created_at_ns();
    for (const auto& container : seen.containers())
      if (auto use = UseOf(container, by_id, figures)) pod.containers.push_back(*std::move(use));
    std::ranges::sort(pod.containers, {}, &ContainerUse::name);
    if (!pod.containers.empty()) pods.push_back(std::move(pod));
  }
  std::ranges::sort(pods, {},
                    [](const PodUse& pod) { return std::tie(pod.name_space, pod.name, pod.uid); });
  return pods;
}

}  // namespace splitlet::node_api
