#pragma once

/// Reads the fields of one YAML map strictly: each at most once, none unknown, each of its type.
/// Keeps the first error. Included by parsers only, because it includes yaml-cpp. Called by the
/// parser of scenarios.
/// Threads: one.
/// Errors: INVALID_ARGUMENT "file: path.field: reason (line n)".

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::chaos {

/// The first error of a document.
class Problem {
 public:
  explicit Problem(std::string file) : file_(std::move(file)) {}
  /// `line` counts from 0; a negative line is unknown.
  void Set(const std::string& path, const std::string& reason, int line);
  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  Status status_;
};

struct Range {
  Duration low{0}, high{0};
};

class Fields {
 public:
  /// `node` must be a map with unique keys.
  Fields(const YAML::Node& node, std::string path, Problem& problem);

  bool Has(const std::string& key) const;
  /// Each function leaves `value` unchanged when the key is absent.
  void Read(const std::string& key, std::string& value);
  void Read(const std::string& key, bool& value);
  void Read(const std::string& key, Duration& value);
  /// "2s" or "2s..5s".
  void Read(const std::string& key, Range& value);
  void Read(const std::string& key, std::vector<std::string>& value);  // a word or a list of words
  void ReadNumber(const std::string& key, int64_t low, int64_t high, int64_t& value);
  /// "1h" or "-1h".
  void ReadJump(const std::string& key, Duration& value);
  void ReadPercent(const std::string& key, double& value);
  void ReadBytes(const std::string& key, uint64_t& value);
  /// Empty when absent.
  YAML::Node Child(const std::string& key);
  /// Must be a list when present.
  std::vector<YAML::Node> List(const std::string& key);

  void Wrong(const std::string& key, const std::string& reason);
  /// Reports the first field that no function has read.
  void Finish();
  const std::string& path() const { return path_; }
  int line() const { return line_; }
  std::string PathOf(const std::string& key) const;
  Problem& problem() { return problem_; }

 private:
  YAML::Node Find(const std::string& key);
  /// Reads the text of a scalar field. Returns false if the field is absent, or is no scalar, which
  /// is an error of the document.
  bool Scalar(const std::string& key, std::string& text);

  YAML::Node node_;
  std::string path_;
  Problem& problem_;
  int line_ = -1;
  std::set<std::string> known_;
};

}  // namespace splitlet::chaos
