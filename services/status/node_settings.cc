#include "services/status/node_settings.h"

#include "libs/node/machine.h"

namespace splitlet::status {

std::map<std::string, std::string> InitialLabels(const NodeSettings& settings) {
  std::map<std::string, std::string> labels;
  for (const auto& [name, value] : node::OwnLabels(settings.name)) labels[name] = value;
  for (const auto& [name, value] : settings.labels) labels[name] = value;
  return labels;
}

}  // namespace splitlet::status
