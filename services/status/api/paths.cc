#include "services/status/api/paths.h"

#include "libs/apiclient/client.h"

namespace splitlet::status {

std::string NodePath(const std::string& name) {
  return std::string(kNodesPath) + "/" + apiclient::Escaped(name);
}

std::string PodsPath(const std::string& name_space) {
  return "/api/v1/namespaces/" + apiclient::Escaped(name_space) + "/pods";
}

std::string PathOf(const PodObject& object) {
  return PodsPath(object.name_space) + "/" + apiclient::Escaped(object.name);
}

}  // namespace splitlet::status
