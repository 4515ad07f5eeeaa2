#pragma once

/// A pod as checked bytes. They are checked once, where they enter a process; after that Parse
/// cannot fail, and copies share the bytes.
/// Threads: values, any.
/// Errors:  Check alone: INVALID_ARGUMENT if the bytes are not a pod.

#include <memory>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// Deterministic: equal pods give equal bytes, because maps are written in the order of their keys.
std::string SerializeStable(const Pod& pod);

class PodBytes {
 public:
  /// An empty pod.
  PodBytes();
  static PodBytes Of(const Pod& pod);
  static StatusOr<PodBytes> Check(std::string bytes);

  Pod Parse() const;
  const std::string& bytes() const { return *bytes_; }
  /// Compares bytes, not pods: two orders of one map differ.
  friend bool operator==(const PodBytes& a, const PodBytes& b) {
    return a.bytes_ == b.bytes_ || *a.bytes_ == *b.bytes_;
  }

 private:
  explicit PodBytes(std::string bytes)
      : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}

  std::shared_ptr<const std::string> bytes_;  // never null
};

}  // namespace splitlet::kube
