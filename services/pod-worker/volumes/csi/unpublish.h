#pragma once

/// Unpublishes a volume from the directory of one pod, as its vol_data.json says.
/// In:      the directory; the answer of the driver.
/// Out:     NodeUnpublishVolume; the directory goes.
/// Killed:  the file goes after the mount point; the next start unpublishes again.
/// Errors:  the kubelet's texts, and "<target> is still mounted": then everything stays.
/// Threads: the loop's; files on a strand.
/// Source:  kubelet csi_mounter TearDownAt.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "services/pod-worker/volumes/csi/csi_deps.h"
#include "services/pod-worker/volumes/csi/operation.h"

namespace splitlet::pod_worker {

class UnpublishVolume final : public Operation {
 public:
  UnpublishVolume(const CsiDeps& deps, std::string directory, Host host)
      : Operation(std::move(host)),
        deps_(deps),
        directory_(std::move(directory)),
        deadline_(After(deps.env.clock, kCsiLimit)) {}
  std::optional<Outcome> Advance() override;

 private:
  std::optional<Outcome> RemoveWithoutData(const Status& why);
  std::optional<Outcome> Remove();

  const CsiDeps& deps_;
  const std::string directory_;
  const Deadline deadline_;
  std::shared_ptr<csi::DriverCalls> driver_;
  Question<StatusOr<std::optional<csi::VolumeData>>> data_;
  Question<csi::Answer<csi::Nothing>> unpublish_;
  Question<Status> removed_;
};

}  // namespace splitlet::pod_worker
