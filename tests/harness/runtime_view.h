#pragma once

/// The contents of a runtime, read through CRI from outside of the agent, as the truth of every
/// test.
/// Threads: one.
/// Errors: a runtime that does not answer counts as empty, so tests wait for their expectations.

#include <memory>
#include <string>
#include <vector>

#include "libs/cri/cri.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::harness {

class RuntimeView {
 public:
  explicit RuntimeView(const std::string& endpoint);
  ~RuntimeView();

  /// For a test's own changes in the runtime.
  cri::GrpcRuntime& runtime();
  const Clock& clock() const;

  std::vector<cri::Sandbox> Sandboxes();
  std::vector<cri::Container> Containers();
  /// Running containers, newest first: all, or those of a pod (by name, or name-<node>).
  std::vector<cri::Container> Running();
  std::vector<cri::Container> RunningOf(const std::string& pod);
  std::vector<cri::Sandbox> ReadySandboxes();
  std::vector<cri::Sandbox> ReadySandboxesOf(const std::string& pod);
  /// "sandbox web-0 ready, container app#0 running ...", for messages.
  std::string Describe();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True for "web" and "web-<node>".
bool IsPodNamed(const std::string& pod_name, const std::string& name);
/// True if each of these pods, and no other pod, has one running container and one ready sandbox.
bool AreExactly(const std::vector<std::string>& pods, const std::vector<cri::Sandbox>& ready,
                const std::vector<cri::Container>& running);

}  // namespace splitlet::harness
