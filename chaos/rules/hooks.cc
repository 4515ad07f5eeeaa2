#include "chaos/rules/hooks.h"

#include <fmt/format.h>

#include <string>

namespace splitlet::chaos {
namespace {

/// A worker killed between recording a hook and calling it skips the hook. That explains one
/// missing hook, not this many.
constexpr size_t kManyHooks = 4;

/// "web-3" of "web-3.2"
std::string PodOf(const std::string& witness) { return witness.substr(0, witness.find('.')); }

}  // namespace

void HooksRule::OnInspected(const Snapshot& snapshot) {
  for (const auto& [file, witness] : snapshot.witnesses)
    if (witness.hooks_again > 0)
      context().findings.Add("hooks", PodOf(file), "a hook started twice in one container");
}

void HooksRule::AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const {
  size_t starts = 0, ends = 0;
  int post_starts = 0, pre_stops = 0;
  for (const auto& [file, witness] : snapshot.witnesses) {
    const PodTemplate* from = context().pods.TemplateOf(context().node.FullName(PodOf(file)));
    if (from == nullptr || !from->hooked) continue;
    starts += witness.starts.size();
    ends += witness.terms.size();
    post_starts += witness.post_starts;
    pre_stops += witness.pre_stops;
  }
  if (starts >= kManyHooks && post_starts == 0)
    found.push_back(MakeViolation(
        "hooks", "node", fmt::format("{} containers started, no postStart began", starts)));
  if (ends >= kManyHooks && pre_stops == 0)
    found.push_back(MakeViolation("hooks", "node",
                                  fmt::format("{} containers got TERM, no preStop began", ends)));
}

}  // namespace splitlet::chaos
