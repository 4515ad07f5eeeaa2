#pragma once

/// Fakes programs by a function. They end immediately, or when a test ends them.
/// Threads: one.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "libs/process/programs.h"

namespace splitlet::process {

class FakePrograms final : public Programs {
 public:
  /// `run` returns the result of each program at its end.
  explicit FakePrograms(ProgramRunner run) : run_(std::move(run)) {}

  /// On: new programs run until End.
  void Hold(bool hold) { hold_ = hold; }
  /// Like RealPrograms::Options::on_ended.
  void OnEnded(std::function<void(const std::string& owner)> told) { on_ended_ = std::move(told); }
  const std::map<ProgramKey, Program>& running() const { return running_; }
  /// On: programs survive Forget, as if they hung in the kernel.
  void Hang(bool hang) { hang_ = hang; }
  void End(const ProgramKey& key) {
    const auto ended = running_.extract(key);
    if (ended.empty()) return;
    if (!dropped_.erase(key)) given_.emplace(key, run_(ended.mapped()));
    if (on_ended_) on_ended_(key.owner);
  }
  void EndAll() {
    while (!running_.empty()) End(running_.begin()->first);
  }

  std::optional<StatusOr<std::string>> Run(const ProgramKey& key, const Program& program) override {
    if (const auto given = given_.extract(key); !given.empty()) return given.mapped();
    if (running_.contains(key)) return std::nullopt;
    if (!hold_) return run_(program);
    running_.emplace(key, program);
    return std::nullopt;
  }
  bool Knows(const ProgramKey& key) const override {
    return running_.contains(key) || given_.contains(key);
  }
  bool Forget(const ProgramKey& key) override {
    given_.erase(key);
    if (!running_.contains(key)) return true;
    if (hang_) {
      dropped_.insert(key);
      return false;
    }
    running_.erase(key);
    return true;
  }

 private:
  const ProgramRunner run_;
  bool hold_ = false, hang_ = false;
  std::function<void(const std::string&)> on_ended_;
  std::map<ProgramKey, Program> running_;
  std::map<ProgramKey, StatusOr<std::string>> given_;
  std::set<ProgramKey> dropped_;
};

}  // namespace splitlet::process
