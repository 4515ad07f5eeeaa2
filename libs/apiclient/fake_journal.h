#pragma once

/// What a server in memory has, in a file: one that is killed and started again goes on from there,
/// as one with a database does. Each change is in the file before anybody has its answer; a reboot
/// may lose some.
/// Threads: one at a time.
/// Errors:  DATA_LOSS of a file that is none of this; a change that cannot be written ends the
///          program.
/// Source:  Kubernetes API, "Resource versions".

#include <fstream>
#include <memory>
#include <string>

#include "libs/apiclient/fake_store.h"

namespace splitlet::apiclient {

class Journal {
 public:
  /// The store has what the file has, if there is one, and all changes so far are too old to be
  /// watched from. The file begins anew with what the store has.
  static StatusOr<std::unique_ptr<Journal>> Open(const std::string& file, Store& store);

  void OnChange(const Store::Change& change);

 private:
  explicit Journal(const std::string& file) : out_(file, std::ios::app) {}

  std::ofstream out_;
};

}  // namespace splitlet::apiclient
