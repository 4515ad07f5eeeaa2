#pragma once

/// The commands of fake-csi's control socket, carried out on a FakeDriver. README.md lists them.
/// Threads: one at a time.
/// Errors: INVALID_ARGUMENT for a line that is no command.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/csi/fake_driver.h"

namespace splitlet::fake_csi {

class Commands {
 public:
  explicit Commands(csi::FakeDriver& driver) : driver_(driver) {}
  /// The answer without "OK ".
  StatusOr<std::string> Run(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  Status SetCapabilities(const Words& words);
  Status SetNode(const Words& words);
  Status SetStats(const Words& words);
  Status AddFault(const Words& words);

  csi::FakeDriver& driver_;
};

}  // namespace splitlet::fake_csi
