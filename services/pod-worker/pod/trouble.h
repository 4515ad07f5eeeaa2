#pragma once

/// The trouble that keeps a pod from going on, and its text in the record of the worker.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Reasons and events".

#include <string>
#include <utility>

namespace splitlet::pod_worker {

enum class Trouble {
  kNone,
  kUserIds,     // there are no ids for its user namespace
  kSync,        // the last sync failed
  kKill,        // something of it could not be stopped or torn down
  kUnmounting,  // its volumes are mounted for longer than an unmount takes
};

class PodTrouble {
 public:
  Trouble kind() const { return kind_; }
  bool Any() const { return kind_ != Trouble::kNone; }
  const std::string& text() const { return text_; }  // empty: none

  /// False: it is the same trouble as before.
  bool Set(Trouble kind, std::string text) {
    if (kind == kind_ && text == text_) return false;
    kind_ = kind;
    text_ = std::move(text);
    return true;
  }
  void Clear() { Set(Trouble::kNone, ""); }

 private:
  Trouble kind_ = Trouble::kNone;
  std::string text_;
};

}  // namespace splitlet::pod_worker
