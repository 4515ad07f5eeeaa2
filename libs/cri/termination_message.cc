#include "libs/cri/termination_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "libs/base/text.h"
#include "libs/kube/pod_types.h"
#include "libs/logs/log_line.h"

namespace splitlet::cri {
namespace {

constexpr uint64_t kLogWindowBytes = 256 << 10;  // room for 80 lines of normal length

std::string Annotation(const Container& container, std::string_view key) {
  const auto found = container.annotations.find(std::string(key));
  return found == container.annotations.end() ? "" : found->second;
}

std::string MessageFromLog(const Container& container, const TailReader& read_tail) {
  const auto log = read_tail(container.log_path, kLogWindowBytes);
  if (!log.ok()) {
    return fmt::format("Error on reading termination message from logs: {}", Message(log.status()));
  }
  return TailText(LastLogLines(*log, log->size() == kLogWindowBytes), kMaxLogMessageBytes);
}

std::string OwnMessage(const Container& container, const TailReader& read_tail) {
  const std::string path = Annotation(container, kube::kTerminationMessagePath);
  const bool may_use_log =
      Annotation(container, kube::kTerminationMessagePolicy) == "FallbackToLogsOnError" &&
      container.exit_code != 0 && container.reason != "ContainerCannotRun";
  const auto otherwise = [&] {
    return may_use_log ? MessageFromLog(container, read_tail) : std::string();
  };
  if (path.empty()) return otherwise();
  const auto mount =
      std::find_if(container.mounts.begin(), container.mounts.end(), [&path](const Mount& m) {
        // A relative path counts from the container's root.
        return m.container_path == path || m.container_path == "/" + path;
      });
  if (mount == container.mounts.end()) return otherwise();
  auto text = read_tail(mount->host_path, kMaxTerminationMessageBytes);
  if (!text.ok() && text.status().code() != StatusCode::kNotFound) {
    return ToText(fmt::format("Error on reading termination log {}: {}", mount->host_path,
                              Message(text.status())));
  }
  if (!text.ok() || text->empty()) return otherwise();
  std::string_view bytes = *text;
  // A text of exactly this length may be the end of a longer one, cut inside a character.
  if (bytes.size() == kMaxTerminationMessageBytes) bytes = SkipCutCharacter(bytes);
  return TailText(bytes, kMaxTerminationMessageBytes);
}

}  // namespace

std::string LastLogLines(std::string_view log, bool cut) {
  std::vector<std::string_view> lines;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    lines.push_back(log.substr(0, end));
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
  }
  size_t first = cut && !lines.empty() ? 1 : 0;
  if (lines.size() > kMaxLogMessageLines)
    first = std::max(first, lines.size() - kMaxLogMessageLines);
  std::string text;
  logs::LineParser parser;
  for (size_t i = first; i < lines.size(); ++i) {
    auto line = parser.Docker(lines[i]);
    if (!line) line = parser.Cri(lines[i]);
    if (line) text.append(line->text).append(line->ends ? "\n" : "");
  }
  return text;
}

std::string ResolveMessage(const Container& container, const TailReader& read_tail) {
  std::string message = ToText(container.message);
  if (container.state != ContainerState::kExited) return message;
  const std::string own = OwnMessage(container, read_tail);
  if (own.empty()) return message;
  return message.empty() ? own : message + ": " + own;
}

}  // namespace splitlet::cri
