#pragma once

/// The words of a command line that kubectl takes and CLI11 does not.
/// Threads: any.
/// Errors: none.

#include <string>
#include <vector>

namespace splitlet::ctl {

/// The words after "--" of `exec` reach the container unchanged: CLI11 would split "[a,b]".
struct CommandLine {
  std::vector<std::string> words;
  std::vector<std::string> exec_command;
};
/// All arguments are in `words` unless the command is `exec`.
CommandLine SplitCommandLine(const std::vector<std::string>& arguments);

/// "get pods/web" is "get pod web", "describe node/n1" is "describe node n1". Words after --for
/// or "--" stay as they are, and so do the pods of `logs` and `exec`.
std::vector<std::string> KubectlWords(const std::vector<std::string>& words);

/// "web" of "pod/web" and of "web".
std::string WithoutPodPrefix(const std::string& word);

}  // namespace splitlet::ctl
