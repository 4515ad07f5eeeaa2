#include "libs/csi/vol_data.h"

#include "libs/csi/names.h"
#include "libs/csi/string_map.h"

namespace splitlet::csi {
namespace {

constexpr const char* kDriverKey = "driverName";
constexpr const char* kHandleKey = "volumeHandle";
constexpr const char* kSpecKey = "specVolID";
constexpr const char* kNodeKey = "nodeName";
constexpr const char* kAttachmentKey = "attachmentID";
constexpr const char* kLifecycleKey = "volumeLifecycleMode";
constexpr const char* kContextKey = "seLinuxMountContext";

StatusOr<Lifecycle> ParseLifecycle(const std::string& text) {
  if (text.empty() || text == LifecycleName(Lifecycle::kPersistent)) return Lifecycle::kPersistent;
  if (text == LifecycleName(Lifecycle::kEphemeral)) return Lifecycle::kEphemeral;
  return InvalidArgument("{} is neither Persistent nor Ephemeral", text);
}

Status Check(const VolumeData& data, DataPlace place) {
  if (const std::string wrong = CheckDriverName(data.driver); !wrong.empty())
    return InvalidArgument("{}: {}", kDriverKey, wrong);
  if (const std::string wrong = CheckHandle(data.handle); !wrong.empty())
    return InvalidArgument("{}: {}", kHandleKey, wrong);
  if (place != DataPlace::kStaging && data.spec.empty())
    return InvalidArgument("{} is empty", kSpecKey);
  return OkStatus();
}

}  // namespace

std::string_view LifecycleName(Lifecycle lifecycle) {
  switch (lifecycle) {
    case Lifecycle::kPersistent: return "Persistent";
    case Lifecycle::kEphemeral: return "Ephemeral";
  }
  UNREACHABLE();
}

std::string WriteVolumeData(const VolumeData& data, DataPlace place) {
  StringMap map{{kDriverKey, data.driver}, {kHandleKey, data.handle}};
  if (place != DataPlace::kStaging) {
    map[kSpecKey] = data.spec;
    map[kNodeKey] = data.node;
    map[kAttachmentKey] = data.attachment;
  }
  if (place == DataPlace::kPod) map[kLifecycleKey] = LifecycleName(data.lifecycle);
  if (place != DataPlace::kBlock && !data.se_linux_context.empty())
    map[kContextKey] = data.se_linux_context;
  return WriteStringMap(map) + "\n";
}

StatusOr<VolumeData> ParseVolumeData(std::string_view json, DataPlace place) {
  ASSIGN_OR_RETURN(StringMap map, ParseStringMap(json), "volume data");
  ASSIGN_OR_RETURN(const Lifecycle lifecycle, ParseLifecycle(map[kLifecycleKey]), "{}",
                   kLifecycleKey);
  VolumeData data{.driver = map[kDriverKey],
                  .handle = map[kHandleKey],
                  .spec = map[kSpecKey],
                  .node = map[kNodeKey],
                  .attachment = map[kAttachmentKey],
                  .lifecycle = lifecycle,
                  .se_linux_context = map[kContextKey]};
  RETURN_IF_ERROR(Check(data, place), "volume data");
  return data;
}

}  // namespace splitlet::csi
