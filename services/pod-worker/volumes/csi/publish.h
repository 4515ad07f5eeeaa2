#pragma once

/// Publishes a volume in the directory of one pod, or again where it is published.
/// In:      the pod's wish; answers of the driver and the API server.
/// Out:     the volume's directory with vol_data.json; NodePublishVolume; the pod's fsGroup.
/// Killed:  vol_data.json is there before the driver is called; the next start publishes again.
/// Errors:  kSetUp, with the kubelet's texts and the class of the error.
/// Threads: the loop's; files on a strand.
/// Source:  kubelet csi_mounter SetUpAt.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libs/csi/driver_object.h"
#include "services/pod-worker/volumes/csi/csi_deps.h"
#include "services/pod-worker/volumes/csi/operation.h"
#include "services/pod-worker/volumes/csi/stage.h"
#include "services/pod-worker/volumes/csi/wish.h"

namespace splitlet::pod_worker {

class PublishVolume final : public Operation {
 public:
  struct Input {
    Wish wish;
    ObjectPtr<CsiDriverObject> object;  // null: the cluster has none
    bool attached = false;              // the driver needs a VolumeAttachment
    StateBefore before;
  };
  PublishVolume(const CsiDeps& deps, Input input, Host host)
      : Operation(std::move(host)),
        deps_(deps),
        in_(std::move(input)),
        deadline_(After(deps.env.clock, kCsiLimit)) {}
  std::optional<Outcome> Advance() override;

 private:
  using Token = StatusOr<BoundToken>;

  // Each step: empty: an answer is missing.
  std::optional<Outcome> FindDriver();
  std::optional<Outcome> ReadContext();
  std::optional<Outcome> ReadSecret();
  std::optional<Outcome> GetTokens();
  std::optional<Outcome> SaveData();
  std::optional<Outcome> Publish();
  std::optional<Outcome> GiveToGroup();
  std::optional<Outcome> End(Outcome outcome);
  csi::VolumeData Data() const;

  const CsiDeps& deps_;
  const Input in_;
  const Deadline deadline_;
  std::shared_ptr<csi::DriverCalls> driver_;
  Question<csi::Answer<csi::NodeCapabilities>> capabilities_;
  Question<StatusOr<ObjectPtr<VolumeAttachment>>> attachment_;
  Question<StatusOr<ObjectPtr<Secret>>> secret_;
  std::deque<Question<Token>> tokens_;  // in the order of the driver object
  Question<Status> saved_, given_, removed_;
  Question<csi::Answer<csi::Nothing>> publish_;
  csi::StringMap publish_context_, secrets_;
  std::string tokens_json_;
};

}  // namespace splitlet::pod_worker
