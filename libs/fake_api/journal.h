#pragma once

/// Keeps the objects of the fake API server in a file, so that a restart continues with them. Each
/// change is written before its client gets the answer, but without fsync, so a reboot may lose
/// changes.
/// Threads: one at a time.
/// Errors:  DATA_LOSS: the file is no journal. The program ends if a change cannot be written.
/// Source:  Kubernetes API, "Resource versions".

#include <fstream>
#include <memory>
#include <string>

#include "libs/fake_api/store.h"

namespace splitlet::fake_api {

class Journal {
 public:
  /// Restores the store from the file, if it exists, before the first watch. Then rewrites the file
  /// with only the store's objects.
  static StatusOr<std::unique_ptr<Journal>> Open(const std::string& file, Store& store);

  void OnChange(const Store::Change& change);

 private:
  explicit Journal(const std::string& file) : out_(file, std::ios::app) {}

  std::ofstream out_;
};

}  // namespace splitlet::fake_api
