#pragma once

/// The true state of one simulated pod, and whether an API status agrees with it.
/// Threads: values.
/// Errors: none.

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "tests/simulation/node.h"

namespace splitlet::simulation {

/// The name of its container decides its behaviour.
const char* ContainerOf(SimNode::Wanted::Kind kind);

struct Truth {
  const cri::Container* newest = nullptr;
  const cri::Sandbox* sandbox = nullptr;  // ready
  bool ends = false;                      // must end by itself
  bool lost = false;                      // another program removed a container of it
};
/// Points into both arguments, which outlive it.
Truth TruthOf(const std::string& uid, SimNode::Wanted::Kind kind,
              const std::vector<cri::Sandbox>& sandboxes,
              const std::vector<cri::Container>& containers);

/// Empty: no difference.
std::string WrongAboutPod(const kube::PodStatus& status, const Truth& truth);

bool IsTrue(const kube::PodStatus& status, std::string_view condition);
std::string ValueOf(const cri::StringMap& map, std::string_view key);

}  // namespace splitlet::simulation
