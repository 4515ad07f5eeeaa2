#pragma once

/// The mirror pods of `desired` by full name, so that a static pod finds its own without a walk of
/// all pods.
/// In:    StatusTable passes on each change of `desired`.
/// Owns:  the keys of the mirror pods.
/// Threads: the owner's.
/// Errors: none; a record that cannot be decoded is no mirror pod.

#include <map>
#include <set>
#include <string>

#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

class MirrorIndex {
 public:
  /// `record`: the pod of `key` as it is wanted now; null: it is absent or cannot be decoded.
  void Set(const std::string& key, const v1::DesiredRecord* record);
  /// Keys of the mirror pods of this full name, in order. There are several while one replaces
  /// another.
  const std::set<std::string>& KeysOf(const std::string& full_name) const;

 private:
  std::map<std::string, std::string> names_;           // key -> full name
  std::map<std::string, std::set<std::string>> keys_;  // full name -> keys; no set is empty
};

}  // namespace splitlet::status
