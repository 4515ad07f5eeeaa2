#pragma once

/// Code of command-line programs for a stack (splitletctl, splitlet-chaos): errors in kubectl's
/// form, the stack of --state-dir, signals. Called by their main functions.
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
  std::function<bool()> stopped;  // true after a signal, which ends a watching command
  int& exit_code;                 // exit code of a successful command; 0 by default
};
using Command = std::function<Status(const Context&)>;

/// --state-dir, or kStateDirVariable of the environment.
void AddStateDirFlag(CLI::App& app, std::optional<std::string>& top);
inline constexpr const char* kStateDirVariable = "SPLITLET_STATE_DIR";
/// Environment variable for --state-dir.
std::optional<std::string> GivenStateDir();

/// Prints one line about malformed arguments. Returns the exit code.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error);

/// Makes a non-empty `path` absolute. For paths in a command's arguments, before RunOnStack changes
/// the directory.
void MakeAbsolute(std::string& path);

/// Prints the error. Returns the exit code.
int Fail(const Status& status);

/// Runs `command` in the directory of the stack below `top`; `patience` is passed to the client.
/// Returns the exit code, or exits immediately, because gRPC's threads sometimes abort at a normal
/// exit.
int RunOnStack(const std::optional<std::string>& top, const Command& command,
               Duration patience = Duration{0});

/// Path of another program of splitlet: in the folder of this program, if it exists there, else its
/// bare name, for PATH.
std::string ProgramPath(const std::string& name);

}  // namespace splitlet::operate
