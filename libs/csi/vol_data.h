#pragma once

/// The file vol_data.json beside a volume's mount: which driver and handle undo the mount. The file
/// is written before the driver is called, so that a call without an answer can be undone.
/// Threads: values and pure functions, any.
/// Errors: INVALID_ARGUMENT, the reason only; no driver is called with an empty name or handle.
/// Source: kubelet csi_util saveVolumeData and loadVolumeData.

#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::csi {

enum class Lifecycle { kPersistent, kEphemeral };
/// "Persistent", "Ephemeral".
std::string_view LifecycleName(Lifecycle lifecycle);

/// Members that a place does not have are empty.
struct VolumeData {
  std::string driver, handle;
  std::string spec;        // of the persistent volume, or the pod's name for an inline volume
  std::string node;        // name of the node
  std::string attachment;  // name of the VolumeAttachment, also of a volume that is never attached
  Lifecycle lifecycle = Lifecycle::kPersistent;
  std::string se_linux_context;  // of the mount; empty: mounted without a context option

  bool operator==(const VolumeData&) const = default;
};

/// Where the file is: beside globalmount, in the pod's volume directory, of a block volume.
enum class DataPlace { kStaging, kPod, kBlock };

/// A kubelet's content, to the byte.
std::string WriteVolumeData(const VolumeData& data, DataPlace place);
/// Reads a file of either agent; other keys are skipped.
StatusOr<VolumeData> ParseVolumeData(std::string_view json, DataPlace place);

}  // namespace splitlet::csi
