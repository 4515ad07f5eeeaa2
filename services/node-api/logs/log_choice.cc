#include "services/node-api/logs/log_choice.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/fs/path.h"
#include "libs/logs/choose_container.h"
#include "services/node-api/http/replies.h"
#include "services/node-api/pods/containers.h"

namespace splitlet::node_api {
namespace {

LogChoice Refused(int code, const std::string& text) {
  return {.refusal = TextReply(code, text), .path = "", .container_id = "", .running = false};
}

/// "containerd://abc" -> "abc".
std::string BareId(const std::string& id) {
  const auto mark = id.find("://");
  return mark == std::string::npos ? id : id.substr(mark + 3);
}

std::string PathOf(const PodSeen& seen, const std::string& id) {
  if (seen.runtime == nullptr) return "";
  const auto& all = seen.runtime->pod().containers();
  const auto found = std::ranges::find(all, id, &v1::ContainerRecord::id);
  return found == all.end() ? "" : found->log_path();
}

}  // namespace

LogChoice ChooseLog(const PodSeen& seen, const LogAsked& asked) {
  const auto pod = PodOf(seen);
  if (pod == nullptr) return Refused(400, "the pod's record is unreadable");
  if (FindContainer(*pod, asked.container) == Sort::kNone)
    return Refused(404, fmt::format("container \"{}\" not found in pod \"{}\"", asked.container,
                                    seen.desired->name()));
  const auto chosen = logs::ChooseContainer(*pod, asked.container, asked.previous);
  if (!chosen.ok()) return Refused(400, Message(chosen.status()));
  const std::string id = BareId(chosen->id), path = PathOf(seen, id);
  if (path.empty()) return Refused(400, "unable to retrieve container logs for " + chosen->id);
  if (!fs::IsBelow(path, asked.logs_dir))
    return Refused(400, fmt::format("unable to retrieve container logs for {}: {} is not below {}",
                                    chosen->id, path, asked.logs_dir));
  return {.refusal = std::nullopt,
          .path = path,
          .container_id = id,
          .running = seen.runtime != nullptr && Runs(*seen.runtime, id)};
}

}  // namespace splitlet::node_api
