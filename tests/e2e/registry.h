#pragma once

/// Registries on loopback, good and broken ones (registry.py).
/// Threads: one. The program ends with the object, whose end of a pipe is its input.
/// Errors:  a registry that cannot be started fails the test.

#include <sys/types.h>

#include <string>

#include "tests/harness/child.h"

namespace splitlet::e2e {

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  const std::string& host() const { return host_; }  // "127.0.0.1:5000"
  /// A config.json with the credentials of its private images.
  std::string Login() const;
  /// True if a client has received half of a delayed image.
  bool Holds() const { return Said().find("held") != std::string::npos; }
  void Release() const;

 private:
  std::string Said() const { return harness::ReadFile(out_ / "said"); }

  const harness::TempDir out_{"rg"};
  pid_t pid_ = 0;
  int input_ = -1;
  std::string host_;
};

}  // namespace splitlet::e2e
