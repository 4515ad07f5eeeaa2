#pragma once

/// The name of a pod's record, in tables and as a file. It is no UID: a UID that is no valid key of
/// a table is named by a hash. A type of its own, so that a key is never looked up among UIDs.
/// Threads: values.
/// Errors: none.
/// Source: docs/design.md, "How state is shared".

#include <compare>
#include <string>
#include <string_view>
#include <utility>

#include "libs/bus/names.h"

namespace splitlet::config_source {

class RecordKey {
 public:
  static RecordKey OfUid(std::string_view uid) { return RecordKey(bus::KeyOf(uid)); }
  /// `name`: a key of a table, or the name of a file.
  static RecordKey Named(std::string name) { return RecordKey(std::move(name)); }

  const std::string& name() const { return name_; }
  auto operator<=>(const RecordKey&) const = default;

 private:
  explicit RecordKey(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

}  // namespace splitlet::config_source
