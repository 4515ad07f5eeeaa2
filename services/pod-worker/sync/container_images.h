#pragma once

/// The images of the containers of one sync: their own and those of image volumes.
/// In:      ContainerStarter, for one container after the other.
/// Owns:    for one sync, the answers for image volumes, and whose pull was used.
/// Out:     used pulls in the outcome; what a container waits for, to StartReports.
/// Killed:  the next sync resolves them again.
/// Threads: that of the sync.
/// Errors:  in StartReports.
/// Source:  docs/behaviour/images.md, "Decision" and "Whose image it is".

#include <map>
#include <optional>
#include <set>
#include <string>

#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/sync/image_resolver.h"
#include "services/pod-worker/sync/start_context.h"
#include "services/pod-worker/sync/start_reports.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::pod_worker {

/// The runtime's names of the images of a container.
struct ContainerImageRefs {
  std::string own;
  std::optional<cri::Image> image;             // the own one, where the runtime was asked for it
  std::map<std::string, std::string> volumes;  // of image volumes, by name
};

class ContainerImages {
 public:
  ContainerImages(const StartContext& context, StartReports& reports, SyncOutcome& out)
      : context_(context),
        reports_(reports),
        resolver_({context.deps, context.input, context.pod, context.events}, out),
        out_(out) {}

  /// Unset: not now; the reports say why.
  std::optional<ContainerImageRefs> Resolve(const kube::Container& container);
  /// At the end of the sync. Containers whose own images are being pulled start with what was
  /// pulled for this sync too.
  void MarkVolumeImagesUsed();

 private:
  bool EnsureVolumeImages(const std::string& container);
  void UseVolumeImages();

  const StartContext& context_;
  StartReports& reports_;
  ImageResolver resolver_;
  SyncOutcome& out_;
  std::map<std::string, ImageResolver::Answer> volumes_;  // by name, of those asked for
  std::set<std::string> used_for_volumes_;  // images whose pull a container of this sync has used
};

}  // namespace splitlet::pod_worker
