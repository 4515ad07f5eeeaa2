#pragma once

/// Shared by programs that a person runs on a stack (splitletctl, splitlet-chaos): errors in
/// kubectl's form, the stack of --state-dir, signals. Called by their main functions.
/// Threads: the main one.
/// Errors: one line on stderr; exit code 1.

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/operate/client.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace splitlet::operate {

struct Context {
  const Client& client;
  std::ostream& out;
  std::ostream& err;
  std::function<bool()> stopped;  // by a signal: ends what watches
  int& exit_code;                 // of a command that does not fail; 0 unless it is set
};
using Command = std::function<Status(const Context&)>;

/// --state-dir, or kStateDirVariable of the environment.
void AddStateDirFlag(CLI::App& app, std::optional<std::string>& top);
inline constexpr const char* kStateDirVariable = "SPLITLET_STATE_DIR";
/// --state-dir's value in the environment.
std::optional<std::string> GivenStateDir();

/// Prints one line about malformed arguments. Returns the exit code.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error);

/// Makes a non-empty `path` absolute. For paths in a command's arguments, before RunOnStack changes
/// the directory.
void MakeAbsolute(std::string& path);

/// Prints the error. Returns the exit code.
int Fail(const Status& status);

/// Runs `command` in the directory of the stack below `top`; `patience` is the client's. Returns
/// the exit code, or ends the process: gRPC's threads sometimes abort when libraries are torn down
/// at exit.
int RunOnStack(const std::optional<std::string>& top, const Command& command,
               Duration patience = Duration{0});

/// Path of another program of splitlet: beside this program if it exists, else its bare name, for
/// PATH.
std::string ProgramPath(const std::string& name);

}  // namespace splitlet::operate
