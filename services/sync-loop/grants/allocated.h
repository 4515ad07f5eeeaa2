#pragma once

/// The pod in a grant: the wanted pod with the resources that it was admitted with.
/// Threads: pure, any.
/// Errors: none.
/// Source: docs/behaviour/admission.md, "Calls to pod-worker".

#include "libs/kube/pod_bytes.h"

namespace splitlet::sync_loop {

/// A container that was added after admission keeps its own resources. The bytes of `wanted` where
/// nothing but the written form of an amount would change: pod-worker then has them already.
kube::PodBytes WithAllocated(const kube::PodBytes& wanted, const kube::PodBytes& admitted);

}  // namespace splitlet::sync_loop
