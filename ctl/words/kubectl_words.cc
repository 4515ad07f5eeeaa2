#include "ctl/words/kubectl_words.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace splitlet::ctl {
namespace {

/// The kind's name for `get` and `describe`; empty: a kind that neither command has.
std::string KindOf(const std::string& word) {
  if (word == "pod" || word == "pods" || word == "po") return "pod";
  if (word == "node" || word == "nodes" || word == "no") return "node";
  return {};
}

/// The first word that is neither a flag nor the value of a flag.
std::string_view CommandOf(std::span<const std::string> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--state-dir")
      ++i;
    else if (!arguments[i].starts_with('-'))
      return arguments[i];
  }
  return {};
}

}  // namespace

CommandLine SplitCommandLine(const std::vector<std::string>& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  if (mark == arguments.end() || CommandOf({arguments.begin(), mark}) != "exec")
    return {.words = arguments, .exec_command = {}};
  return {.words = {arguments.begin(), mark}, .exec_command = {mark + 1, arguments.end()}};
}

std::vector<std::string> KubectlWords(const std::vector<std::string>& words) {
  static constexpr std::array<std::string_view, 3> kShowing = {"get", "describe", "trace"};
  std::vector<std::string> out;
  bool shows = false, plain = false;
  for (const std::string& word : words) {
    shows = shows || std::ranges::find(kShowing, word) != kShowing.end();
    plain = plain || word == "--" || word == "logs" || word == "exec";
    const size_t slash = word.find('/');
    const std::string kind = KindOf(word.substr(0, slash));
    const bool follows_for = !out.empty() && out.back() == "--for";
    if (slash == std::string::npos || kind.empty() || !shows || plain || follows_for) {
      out.push_back(word);
      continue;
    }
    out.push_back(kind);
    out.push_back(word.substr(slash + 1));
  }
  return out;
}

std::string WithoutPodPrefix(const std::string& word) {
  const size_t slash = word.find('/');
  if (slash == std::string::npos || KindOf(word.substr(0, slash)) != "pod") return word;
  return word.substr(slash + 1);
}

}  // namespace splitlet::ctl
