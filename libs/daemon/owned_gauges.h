#pragma once

/// Gauges of a family that count things of owners: each thing adds one to the gauge of its labels
/// until its owner is set again or forgotten.
/// Threads: any.
/// Errors:  none.

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace splitlet::daemon {

class OwnedGauges {
 public:
  explicit OwnedGauges(prometheus::Family<prometheus::Gauge>& family) : family_(family) {}

  bool Knows(const std::string& owner) const {
    const std::lock_guard lock(mutex_);
    return owners_.contains(owner);
  }
  /// `things`: the labels of each; they replace the earlier ones.
  void Set(const std::string& owner, const std::vector<prometheus::Labels>& things) {
    const std::lock_guard lock(mutex_);
    auto& gauges = owners_[owner];
    for (auto* gauge : gauges) gauge->Decrement();
    gauges.clear();
    for (const auto& labels : things) {
      gauges.push_back(&family_.Add(labels));
      gauges.back()->Increment();
    }
  }
  void Forget(const std::string& owner) {
    const std::lock_guard lock(mutex_);
    const auto gone = owners_.extract(owner);
    if (gone.empty()) return;
    for (auto* gauge : gone.mapped()) gauge->Decrement();
  }

 private:
  prometheus::Family<prometheus::Gauge>& family_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<prometheus::Gauge*>> owners_;
};

}  // namespace splitlet::daemon
