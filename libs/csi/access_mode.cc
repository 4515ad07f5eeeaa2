#include "libs/csi/access_mode.h"

namespace splitlet::csi {
namespace {

constexpr const char* kOncePod = "ReadWriteOncePod";

}  // namespace

AccessMode AccessModeOf(const std::vector<std::string>& modes,
                        const NodeCapabilities& capabilities) {
  const std::string mode = modes.empty() ? "ReadWriteOnce" : modes.front();
  const bool names_writers = capabilities.Has(NodeCapability::kSingleNodeMultiWriter);
  if (mode == "ReadWriteOnce")
    return names_writers ? AccessMode::kSingleNodeMultiWriter : AccessMode::kSingleNodeWriter;
  if (mode == kOncePod)
    return names_writers ? AccessMode::kSingleNodeSingleWriter : AccessMode::kSingleNodeWriter;
  if (mode == "ReadOnlyMany") return AccessMode::kMultiNodeReaderOnly;
  if (mode == "ReadWriteMany") return AccessMode::kMultiNodeMultiWriter;
  return AccessMode::kUnknown;
}

bool IsForOnePod(const std::vector<std::string>& modes) {
  return modes.size() == 1 && modes.front() == kOncePod;
}

}  // namespace splitlet::csi
