#include "ctl/commands/pod_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "libs/base/one_line.h"

namespace splitlet::ctl {

PodTableOptions TableOptions(const GetOptions& options, const std::vector<operate::PodView>& pods) {
  const bool several = std::ranges::any_of(
      pods, [&pods](const operate::PodView& v) { return v.name_space != pods.front().name_space; });
  return {.wide = options.output == "wide",
          .namespaces = options.all_namespaces || several,
          .header = !options.no_headers};
}

std::string NameLines(const std::vector<operate::PodView>& pods) {
  std::string lines;
  for (const operate::PodView& pod : pods) lines += "pod/" + OneLine(pod.name) + "\n";
  return lines;
}

std::string PodChanges::Take(const std::vector<operate::PodView>& pods, WallTime now) {
  std::vector<operate::PodView> changed;
  std::map<std::string, std::string> present;
  for (const operate::PodView& view : pods) {
    std::string& text = present[view.uid] = ShownOf(view, now);
    const auto before = shown_.find(view.uid);
    if (before == shown_.end() || before->second != text) changed.push_back(view);
  }
  shown_ = std::move(present);
  if (changed.empty() && !first_) return "";
  std::string text = Text(changed, now);
  first_ = false;
  return text;
}

std::string PodChanges::ShownOf(const operate::PodView& view, WallTime now) const {
  if (options_.output == "json" || options_.output == "yaml") return PodJson(view);
  if (options_.output == "name") return "";
  const PodRow row = MakePodRow(view, now);
  return fmt::format("{} {} {} {} {}", row.ready, row.total, row.status, row.restarts,
                     options_.output == "wide" ? row.ip : "");
}

std::string PodChanges::Text(const std::vector<operate::PodView>& changed, WallTime now) {
  if (options_.output == "name") return NameLines(changed);
  if (options_.output == "json" || options_.output == "yaml") {
    std::string text;
    for (const operate::PodView& pod : changed)
      text += options_.output == "json" ? PodJson(pod) : "---\n" + PodYaml(pod);
    return text;
  }
  PodTableOptions table = TableOptions(options_, changed);
  table.header = first_ && table.header;
  table.widths = &widths_;
  return PodTable(changed, now, table);
}

}  // namespace splitlet::ctl
