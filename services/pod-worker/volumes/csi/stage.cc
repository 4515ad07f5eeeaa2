#include "services/pod-worker/volumes/csi/stage.h"

#include "csi/v1/csi.pb.h"
#include "libs/base/fail_point.h"
#include "libs/csi/requests.h"
#include "services/pod-worker/volumes/csi/secret_read.h"

namespace splitlet::pod_worker {

namespace {

using csi::ErrorClass;
using csi::NodeCapability;

constexpr const char* kStageFailed = "kubernetes.io/csi: attacher.MountDevice failed";
constexpr const char* kUnstageFailed = "kubernetes.io/csi: attacher.UnmountDevice failed";

Outcome FailedStage(ErrorClass error_class, Status why) {
  return Failed(error_class, VolumeStep::kMountDevice, std::move(why));
}

template <class Reply>
Outcome FailedStageCall(const csi::Answer<Reply>& answer) {
  return FailedStage(answer.error_class, answer.status);
}

}  // namespace

/// Everything before the call: nothing of it reaches the driver.
std::optional<Outcome> StageVolume::Prepare() {
  const auto& volume = in_.volume;
  if (volume.stage_secret) {
    const auto& name = *volume.stage_secret;
    if (!Ask(secret_, [&](auto answer) {
          deps_.objects.ReadSecret({name.namespace_, name.name}, answer);
        }))
      return std::nullopt;
    auto secrets = SecretFor("NodeStageSecretRef", name, *secret_.answer);
    if (!secrets.ok()) return FailedStage(ErrorClass::kTransient, secrets.status());
    secrets_ = *std::move(secrets);
  }
  const std::string directory = deps_.paths.StagingDir(volume.driver, volume.handle);
  const csi::VolumeData data{.driver = volume.driver, .handle = volume.handle};
  if (!AskFiles(prepared_, [disk = deps_.disk, directory, data] {
        return PrepareStaging(disk, directory, data);
      }))
    return std::nullopt;
  return prepared_.answer->ok() ? Outcome{} : FailedStage(ErrorClass::kFinal, *prepared_.answer);
}

/// A failed stage leaves nothing if nothing can be mounted there.
std::optional<Outcome> StageVolume::End(Outcome outcome) {
  if (!prepared_.asked ||
      !csi::RemovesLeftovers(in_.before.state, outcome.error_class, in_.before.origin))
    return outcome;
  const std::string directory = deps_.paths.StagingDir(in_.volume.driver, in_.volume.handle);
  if (!AskFiles(removed_, [disk = deps_.disk, directory] {
        return RemoveVolumeDir(disk, directory, GlobalMountOf(directory));
      }))
    return std::nullopt;
  deps_.env.log.LogIfError(*removed_.answer, "remove the directory of a volume that is not staged");
  // Still mounted, whatever the driver says: it is to be unstaged.
  if (!removed_.answer->ok()) outcome.error_class = ErrorClass::kUncertain;
  return outcome;
}

std::optional<Outcome> StageVolume::Advance() {
  const auto& volume = in_.volume;
  if (driver_ == nullptr) {
    const auto found = deps_.drivers.Find(volume.driver);
    if (!found.ok())
      return FailedStage(
          ErrorClass::kTransient,
          Annotate(found.status(), fmt::format("{} to create newCsiDriverClient", kStageFailed)));
    driver_ = *found;
  }
  if (!Ask(capabilities_,
           [this](auto answer) { driver_->BeginGetCapabilities(deadline_, answer); }))
    return std::nullopt;
  const auto& capabilities = *capabilities_.answer;
  if (!capabilities.status.ok()) return FailedStageCall(capabilities);
  if (!capabilities.reply.Has(NodeCapability::kStageUnstageVolume)) return Outcome{};
  auto prepared = Prepare();
  if (!prepared) return std::nullopt;
  if (!prepared->status.ok()) return End(*std::move(prepared));
  const auto begin = [&](auto answer) {
    FAIL_POINT_VOID("pod-worker.csi-stage.before");
    driver_->BeginStage(csi::MakeStageRequest(
                            {.volume = volume,
                             .capabilities = capabilities.reply,
                             .staging_path = deps_.paths.GlobalMount(volume.driver, volume.handle),
                             .publish_context = in_.publish_context,
                             .secrets = secrets_,
                             .options = {.fs_group = in_.fs_group}}),
                        deadline_, answer);
  };
  if (!Ask(stage_, begin)) return std::nullopt;
  FAIL_POINT_VOID("pod-worker.csi-stage.after");
  return stage_.answer->status.ok() ? Outcome{} : End(FailedStageCall(*stage_.answer));
}

std::optional<Outcome> UnstageVolume::Remove() {
  if (!AskFiles(removed_, [disk = deps_.disk, directory = directory_] {
        return RemoveVolumeDir(disk, directory, GlobalMountOf(directory));
      }))
    return std::nullopt;
  if (removed_.answer->ok()) return Outcome{};
  return FailedStage(ErrorClass::kFinal,
                     Annotate(*removed_.answer,
                              fmt::format("kubernetes.io/csi: failed to clean up global mount {}",
                                          GlobalMountOf(directory_))));
}

std::optional<Outcome> UnstageVolume::Advance() {
  if (!AskFiles(data_, [disk = deps_.disk, directory = directory_] {
        return ReadVolumeData(disk, directory, csi::DataPlace::kStaging);
      }))
    return std::nullopt;
  if (!data_.answer->ok()) return FailedStage(ErrorClass::kFinal, data_.answer->status());
  const auto& data = **data_.answer;
  if (!data) return Remove();  // no driver was asked to stage
  if (driver_ == nullptr) {
    const auto found = deps_.drivers.Find(name_);
    if (!found.ok())
      return FailedStage(
          ErrorClass::kTransient,
          Annotate(found.status(), fmt::format("{} to create newCsiDriverClient", kUnstageFailed)));
    driver_ = *found;
  }
  if (!Ask(capabilities_,
           [this](auto answer) { driver_->BeginGetCapabilities(deadline_, answer); }))
    return std::nullopt;
  const auto& capabilities = *capabilities_.answer;
  if (!capabilities.status.ok())
    return FailedStage(
        ErrorClass::kTransient,
        Annotate(capabilities.status,
                 fmt::format("{} to check whether STAGE_UNSTAGE_VOLUME set", kUnstageFailed)));
  if (!capabilities.reply.Has(NodeCapability::kStageUnstageVolume)) return Remove();
  const auto begin = [&](auto answer) {
    FAIL_POINT_VOID("pod-worker.csi-unstage.before");
    driver_->BeginUnstage(csi::MakeUnstageRequest(data->handle, GlobalMountOf(directory_)),
                          deadline_, answer);
  };
  if (!Ask(unstage_, begin)) return std::nullopt;
  FAIL_POINT_VOID("pod-worker.csi-unstage.after");
  if (!unstage_.answer->status.ok())
    return FailedStage(unstage_.answer->error_class,
                       Annotate(unstage_.answer->status, kUnstageFailed));
  return Remove();
}

}  // namespace splitlet::pod_worker
