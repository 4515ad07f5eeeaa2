#include "services/pod-worker/object_sources.h"

#include <utility>

#include "libs/apiclient/client_metrics.h"
#include "libs/daemon/api_server.h"
#include "libs/fs/inotify_watcher.h"

namespace splitlet::pod_worker {

ObjectSources::ObjectSources(daemon::ServiceContext& context, const Config& config) {
  if (config.objects_path.empty()) return;
  folder_ = std::make_unique<FolderObjects>(FolderObjects::Deps{.loop = context.loop(),
                                                                .strands = context.strands(),
                                                                .files = context.files(),
                                                                .watcher = fs::MakeInotifyWatcher(),
                                                                .log = context.log()},
                                            config.objects_path);
}

Status ObjectSources::Connect(daemon::ServiceContext& context, const Config& config) {
  ASSIGN_OR_RETURN(transport_, daemon::ConnectApi(context), "objects of pods");
  if (transport_ == nullptr) return OkStatus();
  api_context_.emplace(
      ApiContext{.clock = context.clock(),
                 .loop = context.loop(),
                 .strands = context.strands(),
                 .transport = *transport_,
                 .random = jitter_,
                 .log = context.log(),
                 .content = daemon::ApiContentOf(context.config()),
                 .metrics = std::make_shared<apiclient::ClientMetrics>(context.metrics())});
  api_objects_ = std::make_unique<ApiCache>(
      *api_context_, ChangeDetectionOf(context.config().api.change_detection),
      [providers = config.credential_providers](const kube::Pod& pod) {
        return MayNeedAccount(providers, pod);
      });
  return OkStatus();
}

void ObjectSources::Start(std::function<void()> on_change,
                          std::function<void(const std::string& uid)> on_pod_change) {
  if (folder_) folder_->Start(std::move(on_change));
  if (api_objects_) api_objects_->Start(std::move(on_pod_change));
}

std::function<std::shared_ptr<const ObjectSource>()> ObjectSources::FolderView() const {
  if (!folder_) return {};
  return [folder = folder_.get()] { return folder->View(); };
}

std::vector<std::string> ObjectSources::Notes() const {
  return folder_ ? folder_->Notes() : std::vector<std::string>{};
}

}  // namespace splitlet::pod_worker
