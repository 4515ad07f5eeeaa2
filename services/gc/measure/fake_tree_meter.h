#pragma once

/// Trees whose sizes a test sets.
/// Threads: those of the test.
/// Errors: none.

#include <map>
#include <string>

#include "services/gc/measure/tree_meter.h"

namespace splitlet::gc {

class FakeTreeMeter final : public TreeMeter {
 public:
  struct Disk {
    std::map<std::string, DiskStats> trees;
    std::map<std::string, uint64_t> devices;  // by path; 1 for a path that is not set
    std::map<std::string, Status> errors;     // by path of the tree
    int measured = 0;
  };
  explicit FakeTreeMeter(Disk& disk) : disk_(disk) {}
  StatusOr<DiskStats> Measure(const std::string& path) override {
    ++disk_.measured;
    if (const auto error = disk_.errors.find(path); error != disk_.errors.end())
      return error->second;
    const auto found = disk_.trees.find(path);
    return found == disk_.trees.end() ? DiskStats{} : found->second;
  }
  StatusOr<uint64_t> DeviceOf(const std::string& path) override {
    const auto found = disk_.devices.find(path);
    return found == disk_.devices.end() ? 1 : found->second;
  }

 private:
  Disk& disk_;
};

}  // namespace splitlet::gc
