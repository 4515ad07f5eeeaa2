#pragma once

/// A kubelet's histogram buckets for the time that pods take to start.
/// Units: seconds.

#include <prometheus/histogram.h>

namespace splitlet::status {

inline const prometheus::Histogram::BucketBoundaries kPodStartBuckets = {
    0.5, 1,   2,   3,   4,   5,   6,   8,   10,   20,   30,   45,  60,
    120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600};

}  // namespace splitlet::status
