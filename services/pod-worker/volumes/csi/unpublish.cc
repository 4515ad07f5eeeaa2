#include "services/pod-worker/volumes/csi/unpublish.h"

#include "csi/v1/csi.pb.h"
#include "libs/base/fail_point.h"
#include "libs/csi/requests.h"
#include "services/pod-worker/volumes/csi/wish.h"

namespace splitlet::pod_worker {

namespace {

using csi::ErrorClass;

constexpr const char* kUnpublishFailed = "kubernetes.io/csi: Unmounter.TearDownAt failed";

Outcome FailedUnpublish(ErrorClass error_class, Status why) {
  return Failed(error_class, VolumeStep::kSetUp, std::move(why));
}

}  // namespace

std::optional<Outcome> UnpublishVolume::Remove() {
  if (!AskFiles(removed_, [disk = deps_.disk, directory = directory_] {
        return RemoveVolumeDir(disk, directory, TargetOf(directory));
      }))
    return std::nullopt;
  if (removed_.answer->ok()) return Outcome{};
  return FailedUnpublish(ErrorClass::kFinal, Annotate(*removed_.answer, kUnpublishFailed));
}

/// Nothing says which driver and handle: only a directory where nothing is mounted goes.
std::optional<Outcome> UnpublishVolume::RemoveWithoutData(const Status& why) {
  auto removed = Remove();
  if (!removed || removed->status.ok()) return removed;
  if (why.ok()) return removed;
  return FailedUnpublish(
      ErrorClass::kFinal,
      Annotate(why, fmt::format("kubernetes.io/csi: unmounter failed to load volume data "
                                "file [{}]",
                                directory_)));
}

std::optional<Outcome> UnpublishVolume::Advance() {
  if (!AskFiles(data_, [disk = deps_.disk, directory = directory_] {
        return ReadVolumeData(disk, directory, csi::DataPlace::kPod);
      }))
    return std::nullopt;
  if (!data_.answer->ok()) return RemoveWithoutData(data_.answer->status());
  const auto& data = **data_.answer;
  if (!data) return RemoveWithoutData(OkStatus());
  if (driver_ == nullptr) {
    const auto found = deps_.drivers.Find(data->driver);
    if (!found.ok())
      return FailedUnpublish(
          ErrorClass::kTransient,
          Annotate(found.status(), fmt::format("{} to get CSI client", kUnpublishFailed)));
    driver_ = *found;
  }
  const auto begin = [&](auto answer) {
    FAIL_POINT_VOID("pod-worker.csi-unpublish.before");
    driver_->BeginUnpublish(csi::MakeUnpublishRequest(data->handle, TargetOf(directory_)),
                            deadline_, answer);
  };
  if (!Ask(unpublish_, begin)) return std::nullopt;
  FAIL_POINT_VOID("pod-worker.csi-unpublish.after");
  const auto& answer = *unpublish_.answer;
  if (!answer.status.ok())
    return FailedUnpublish(answer.error_class, Annotate(answer.status, kUnpublishFailed));
  return Remove();
}

}  // namespace splitlet::pod_worker
