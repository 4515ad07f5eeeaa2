#pragma once

/// Translates command lines of kubectl that CLI11 does not accept.
/// Threads: any.
/// Errors: none.

#include <string>
#include <vector>

namespace splitlet::ctl {

/// The words after "--" of `exec` reach the container unchanged, because CLI11 would split "[a,b]".
struct CommandLine {
  std::vector<std::string> words;
  std::vector<std::string> exec_command;
};
/// For commands other than `exec`, all arguments are in `words`.
CommandLine SplitCommandLine(const std::vector<std::string>& arguments);

/// "get pods/web" becomes "get pod web", "describe node/n1" becomes "describe node n1". Words after
/// --for or "--" stay unchanged, and so do the pods of `logs` and `exec`.
std::vector<std::string> KubectlWords(const std::vector<std::string>& words);

/// Returns "web" for "pod/web" and for "web".
std::string WithoutPodPrefix(const std::string& word);

}  // namespace splitlet::ctl
