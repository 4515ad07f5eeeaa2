#pragma once

/// `describe pod`: the pod, its containers, conditions and events as kubectl lays them out, and the
/// records that the processes of this node have of it.
/// Threads: any.
/// Errors: none.

#include <memory>
#include <string>
#include <vector>

#include "ctl/show/pods.h"
#include "libs/operate/pod_view.h"

namespace splitlet::v1 {
class EventRecord;
}  // namespace splitlet::v1

namespace splitlet::ctl {

std::string DescribePod(const operate::PodView& view,
                        const std::vector<std::shared_ptr<v1::EventRecord>>& events, WallTime now);

}  // namespace splitlet::ctl
