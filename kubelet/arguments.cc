#include "kubelet/arguments.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "libs/base/one_line.h"
#include "libs/base/trim.h"

namespace splitlet::kubelet {
namespace {

struct Word {
  std::string name;
  std::optional<std::string> value;
};

/// "--a=b", "--a", "-v", "-v=2", "-v2".
StatusOr<Word> Split(const std::string& text) {
  const bool is_long = text.starts_with("--");
  if (!text.starts_with('-') || text.size() < (is_long ? 3u : 2u))
    return InvalidArgument("unknown command \"{}\"", OneLine(text));
  std::string rest = text.substr(is_long ? 2 : 1);
  const size_t equals = rest.find('=');
  Word word;
  if (equals != std::string::npos) word.value = rest.substr(equals + 1);
  word.name = rest.substr(0, equals);
  if (is_long) return word;
  if (word.name == "h") word.name = "help";
  const bool joined = word.name.size() > 1 && word.name.front() == 'v' && !word.value;
  if (!joined) return word;
  return Word{"v", word.name.substr(1)};
}

bool IsNumber(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && last == end && !text.empty();
}

Status CheckValue(const FlagRow& row, const std::string& value) {
  if (row.value == FlagValue::kBool && value != "true" && value != "false")
    return InvalidArgument("--{}: want true or false, not \"{}\"", row.name, OneLine(value));
  if (row.value == FlagValue::kInt && !IsNumber(value))
    return InvalidArgument("--{}: want a number, not \"{}\"", row.name, OneLine(value));
  return OkStatus();
}

bool IsAddress(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

/// The valid labels of the list.
std::string Addresses(const std::string& value, std::vector<std::string>& warnings) {
  std::string good;
  for (size_t begin = 0; begin <= value.size();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    std::string one = value.substr(begin, end - begin);
    while (one.starts_with(' ')) one.erase(0, 1);
    while (one.ends_with(' ')) one.pop_back();
    if (IsAddress(one)) {
      good += (good.empty() ? "" : ",") + one;
    } else if (!one.empty()) {
      warnings.push_back(
          fmt::format("--node-ip: \"{}\" is no IP address and is left out", OneLine(one)));
    }
    begin = end + 1;
  }
  return good;
}

Status TakeOwn(const FlagRow& row, const std::string& value, Arguments& out) {
  if (row.name == "config") out.config = value;
  if (row.name == "config-dir") out.config_dir = value;
  if (row.name == "lock-file") out.lock_file = value;
  if (row.name == "exit-on-lock-contention") out.exit_on_lock_contention = value == "true";
  if (row.name == "node-ip") out.node_ip = Addresses(value, out.warnings);
  if (row.name == "help" && value == "true") out.print = Arguments::Print::kHelp;
  if (row.name == "version" && value != "false") out.print = Arguments::Print::kVersion;
  return OkStatus();
}

/// "true" or "false" for the words that Go takes as such.
std::string Plain(const FlagRow& row, std::string value) {
  if (row.value != FlagValue::kBool) return value;
  for (const char* yes : {"1", "t", "T", "TRUE", "True"})
    if (value == yes) return "true";
  for (const char* no : {"0", "f", "F", "FALSE", "False"})
    if (value == no) return "false";
  return value;
}

/// The value of a flag in `passed`; null: the flag is absent.
std::string* FindPassed(const std::string& flag, std::vector<std::string>& passed) {
  for (size_t i = 0; i + 1 < passed.size(); i += 2)
    if (passed[i] == flag) return &passed[i + 1];
  return nullptr;
}

/// " a=1,,b" -> "a=1,b=": a label without a value has an empty one.
std::string Labels(std::string_view given) {
  std::string labels;
  while (!given.empty()) {
    const size_t end = std::min(given.find(','), given.size());
    const std::string_view one = Trimmed(given.substr(0, end));
    given.remove_prefix(std::min(end + 1, given.size()));
    if (one.empty()) continue;
    labels += (labels.empty() ? "" : ",") + std::string(one);
    if (one.find('=') == std::string_view::npos) labels += '=';
  }
  return labels;
}

void Pass(const FlagRow& row, const std::string& given, std::vector<std::string>& passed) {
  const std::string value = row.value == FlagValue::kMap ? Labels(given) : given;
  const std::string flag = "--" + std::string(row.target);
  std::string* const before = FindPassed(flag, passed);
  if (before == nullptr) {
    passed.insert(passed.end(), {flag, value});
  } else if (row.value == FlagValue::kMap) {
    *before += (before->empty() || value.empty() ? "" : ",") + value;
  } else {
    *before = value;
  }
}

/// An empty value counts as if the flag were not given.
void DropEmpty(std::vector<std::string>& passed) {
  std::vector<std::string> kept;
  for (size_t i = 0; i + 1 < passed.size(); i += 2)
    if (!passed[i + 1].empty()) kept.insert(kept.end(), {passed[i], passed[i + 1]});
  passed = std::move(kept);
}

Status Take(const FlagRow& row, const std::string& given, Arguments& out) {
  const std::string value = Plain(row, given);
  RETURN_IF_ERROR(CheckValue(row, value), "flags");
  switch (row.fate) {
    case FlagFate::kHere: return TakeOwn(row, value, out);
    case FlagFate::kPassed: Pass(row, value, out.passed); return OkStatus();
    case FlagFate::kField: out.overrides.push_back({&row, value}); return OkStatus();
    case FlagFate::kNothing:
      if (!value.empty() && value != "false")
        out.warnings.push_back(fmt::format("--{}: does nothing here: {}", row.name, row.target));
      return OkStatus();
  }
  UNREACHABLE();
}

/// Flags of splitlet, which no kubelet has.
std::string* FindOwn(const std::string& name, Arguments& out) {
  if (name == "splitlet-dir") return &out.directory;
  return name == "splitlet-scripts" ? &out.scripts : nullptr;
}

}  // namespace

StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words) {
  Arguments out;
  for (size_t i = 0; i < words.size(); ++i) {
    auto word = Split(words[i]);
    if (!word.ok()) return word.status();
    std::string* const own = FindOwn(word->name, out);
    const FlagRow* const row = FindFlag(word->name);
    if (row == nullptr && own == nullptr)
      return InvalidArgument("unknown flag: --{}", OneLine(word->name));
    const bool alone = row != nullptr && (row->value == FlagValue::kBool || row->name == "version");
    if (!word->value && alone) word->value = "true";
    if (!word->value && i + 1 == words.size())
      return InvalidArgument("flag needs an argument: --{}", word->name);
    const std::string value = word->value ? *word->value : words[++i];
    if (own != nullptr) {
      *own = value;
    } else {
      const Status taken = Take(*row, value, out);
      if (!taken.ok()) return taken;
    }
  }
  DropEmpty(out.passed);
  if (out.exit_on_lock_contention && out.lock_file.empty())
    return InvalidArgument("--exit-on-lock-contention needs --lock-file FILE");
  if (!out.directory.starts_with('/'))
    return InvalidArgument("--splitlet-dir: \"{}\" is not an absolute path",
                           OneLine(out.directory));
  return out;
}

void ResolvePassedPaths(const std::string& folder, Arguments& arguments) {
  for (const FlagRow& row : FlagRows()) {
    if (row.fate != FlagFate::kPassed || row.value != FlagValue::kPath) continue;
    std::string* const path = FindPassed("--" + std::string(row.target), arguments.passed);
    if (path != nullptr && !path->starts_with('/'))
      *path = (std::filesystem::path(folder) / *path).lexically_normal().string();
  }
}

std::string HelpText() {
  std::string text =
      "splitlet-kubelet: the node agent splitlet with the command line of a kubelet.\n\n"
      "  --splitlet-dir DIR      folder of sockets, records and the bus; an absolute path "
      "(default: "
      "/var/lib/splitlet-kubelet)\n"
      "  --splitlet-scripts DIR  folder of nats.sh (default: beside the programs, else "
      "/usr/lib/splitlet)\n\nFlags of a kubelet, and their effect here:\n";
  for (const FlagRow& row : FlagRows()) {
    const char* becomes = "";
    switch (row.fate) {
      case FlagFate::kHere: break;
      case FlagFate::kPassed: becomes = "passed to every process as --"; break;
      case FlagFate::kField: becomes = "sets the field "; break;
      case FlagFate::kNothing: becomes = "nothing: "; break;
    }
    text += fmt::format("  --{:<46} {}{}\n", row.name, becomes, row.target);
  }
  return text;
}

}  // namespace splitlet::kubelet
