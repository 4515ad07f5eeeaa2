#include "libs/cri/container_usage.h"

#include "libs/cri/convert.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {

ContainerUsage UsageFromProto(const runtime::v1::ContainerStats& stats) {
  ContainerUsage usage{.stats = FromProto(stats), .layer_inodes = std::nullopt};
  if (stats.writable_layer().has_inodes_used())
    usage.layer_inodes = stats.writable_layer().inodes_used().value();
  return usage;
}

}  // namespace splitlet::cri
