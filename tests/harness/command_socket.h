#pragma once

/// The control socket of a fake program: one line is a command, one line is its answer.
/// Threads: one; blocks until the client has sent its line.
/// Errors:  a client that goes away gets no answer.

#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::harness {

/// Accepts a connection of `listener`, runs the command in its first line, answers "OK <result>" or
/// "ERROR <code> <message>", and closes the connection.
void ServeCommand(int listener,
                  const std::function<StatusOr<std::string>(const std::string& line)>& run);

}  // namespace splitlet::harness
