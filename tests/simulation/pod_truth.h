#pragma once

/// What is true of one simulated pod, and whether a status of the API says it.
/// Threads: values.
/// Errors: none.

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "tests/simulation/node.h"

namespace splitlet::simulation {

/// The name of its container decides what it does.
const char* ContainerOf(SimNode::Wanted::Kind kind);

struct Truth {
  const cri::Container* newest = nullptr;
  const cri::Sandbox* sandbox = nullptr;  // ready
  bool ends = false;                      // is to end by itself
  bool lost = false;                      // somebody has removed a container of it
};
/// Points into both, which outlive it.
Truth TruthOf(const std::string& uid, SimNode::Wanted::Kind kind,
              const std::vector<cri::Sandbox>& sandboxes,
              const std::vector<cri::Container>& containers);

/// Empty: nothing.
std::string WrongAboutPod(const kube::PodStatus& status, const Truth& truth);

bool IsTrue(const kube::PodStatus& status, std::string_view condition);
std::string ValueOf(const cri::StringMap& map, std::string_view key);

}  // namespace splitlet::simulation
