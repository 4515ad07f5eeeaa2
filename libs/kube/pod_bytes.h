#pragma once

/// A pod as checked bytes. They are checked once, where they enter a process; after that Parse
/// cannot fail, and copies share the bytes. No other code parses a pod: lint checks this.
/// Threads: values, any.
/// Errors:  Check, CheckAndParse, ParsePod: INVALID_ARGUMENT if the bytes are not a pod.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

struct ParsedPod;

/// Deterministic: equal pods give equal bytes, because maps are written in the order of their keys.
std::string SerializeStable(const Pod& pod);

/// The pod of a record that is read and not kept, so that its bytes need no owner.
StatusOr<Pod> ParsePod(const std::string& bytes);

class PodBytes {
 public:
  /// An empty pod.
  PodBytes();
  static PodBytes Of(const Pod& pod);
  static StatusOr<PodBytes> Check(std::string bytes);
  /// The same, with the pod that the check has parsed.
  static StatusOr<ParsedPod> CheckAndParse(std::string bytes);

  Pod Parse() const;
  const std::string& bytes() const { return *bytes_; }
  bool empty() const { return bytes_->empty(); }
  /// Compares bytes, not pods: two orders of one map differ.
  friend bool operator==(const PodBytes& a, const PodBytes& b) {
    return a.bytes_ == b.bytes_ || *a.bytes_ == *b.bytes_;
  }
  /// The number of pods that this process has parsed: for tests of what one pod costs.
  static uint64_t parses();

 private:
  explicit PodBytes(std::string bytes)
      : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}

  std::shared_ptr<const std::string> bytes_;  // never null
};

/// A pod beside its bytes, for steps that share one parsing. A parsed pod takes six times its
/// bytes: drop it when the steps are done.
struct ParsedPod {
  PodBytes bytes;
  std::shared_ptr<const Pod> pod = nullptr;  // null: dropped, or not parsed yet
  /// Never null; parses the bytes if `pod` is.
  std::shared_ptr<const Pod> Get() const;
};

}  // namespace splitlet::kube
