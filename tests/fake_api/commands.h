#pragma once

/// The commands of fake-api's control socket. See README.md.
/// Threads: one at a time.
/// Errors:  INVALID_ARGUMENT for an invalid line, NOT_FOUND for a missing object.
/// Source:  tests/fake_api/README.md.

#include <string>
#include <vector>

#include "libs/fake_api/api_server.h"
#include "tests/fake_api/server.h"

namespace splitlet::fake_api {

class Commands {
 public:
  Commands(FakeApiServer& api, Server& server) : api_(api), server_(server) {}
  /// The answer without "OK ".
  StatusOr<std::string> Run(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  StatusOr<std::string> Ask(const std::string& method, const std::string& path,
                            const std::string& body);
  StatusOr<std::string> RunObject(const Words& words, const std::string& line);
  StatusOr<std::string> Repeat(int times, const std::string& line);
  StatusOr<std::string> RunSwitch(const Words& words);
  StatusOr<std::string> SetFault(const Words& words);
  std::string TakeSeen();

  FakeApiServer& api_;
  Server& server_;
};

}  // namespace splitlet::fake_api
