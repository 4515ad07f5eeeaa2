#pragma once

/// When the node is registered and reported, and what the server's Node means. Pure.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/node.md, "At the API server"; kubelet syncNodeStatus.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::status {

/// The wait before the next attempt to register the node. `before`: the wait of the last attempt;
/// 0: there was none.
Duration RegisterWait(Duration before);

/// The wait before a round that a changed condition starts. The scheduler waits for a node that was
/// never Ready.
Duration KickWait(bool was_ready);
/// The rest of that wait. `since`: since the begin of the last round; no value: there was none.
Duration KickDelay(std::optional<Duration> since, bool was_ready);

/// The wait before a round that a changed list of volumes in use starts: short, because pods wait
/// for it, and long enough that the volumes of a pod share one report. `since`: as above.
Duration VolumesDelay(std::optional<Duration> since);

/// The node is reported even if nothing has changed. `last`: no time: never reported.
bool IsReportDue(Clock::Time last, Clock::Time now, Duration period);
/// Added to the period of a report after one that changed the node, against lockstep with nodes
/// that changed together. `chance`: from 0 to 1.
Duration ReportDelay(Duration period, double chance);

/// The first version is older than the second; false if they do not compare.
bool IsOlder(const kube::Node& a, const kube::Node& b);
bool IsNodeReady(const kube::Node& node);
/// Reasons of the events for the conditions of a new Node: one for each that is known, except
/// Ready.
std::vector<std::string> EventsOfNewNode(const kube::Node& node);

}  // namespace splitlet::status
