#include "services/config-source/sources/file/catalog.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "libs/base/text.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {

void FileCatalog::Restore(const SourcePodRef& pod) {
  files_[pod->origin].good = pod;
  ++version_;
}

void FileCatalog::OnListing(const Listing& listing, Clock::Time now) {
  const auto before = std::pair(outcome_, unreadable_);
  outcome_ = listing.outcome;
  unreadable_.clear();
  switch (listing.outcome) {
    case Listing::Outcome::kListed:
      path_missing_since_ = {};
      OnListed(listing, now);
      break;
    case Listing::Outcome::kMissing: OnPathMissing(now); break;
    case Listing::Outcome::kUnreadable:
      unreadable_ = Message(listing.status);
      for (auto& [path, file] : files_) file.inspected = true;
      break;
  }
  if (before != std::pair(outcome_, unreadable_)) ++version_;
}

void FileCatalog::OnListed(const Listing& listing, Clock::Time now) {
  const std::set<std::string> there(listing.paths.begin(), listing.paths.end());
  MatchRestored(there);
  for (auto at = files_.begin(); at != files_.end();) {
    if (!there.contains(at->first)) {
      at = OnAbsent(at, now);
      continue;
    }
    OnPresent(at->second);
    ++at;
  }
  for (const auto& path : listing.paths) {
    if (files_.try_emplace(path).second) ++version_;
  }
}

/// A saved pod names its manifest as text. A path that is not text matches by its text form.
void FileCatalog::MatchRestored(const std::set<std::string>& there) {
  for (const auto& path : there) {
    const std::string text = ToText(path);
    if (text == path || there.contains(text) || files_.contains(path)) continue;
    auto restored = files_.extract(text);
    if (restored.empty()) continue;
    restored.key() = path;
    files_.insert(std::move(restored));
  }
}

void FileCatalog::OnPresent(File& file) {
  if (file.missing_since) ++version_;
  file.missing_since = {};
  file.gap = kVanishedGap;
}

FileCatalog::Files::iterator FileCatalog::OnAbsent(Files::iterator at, Clock::Time now) {
  File& file = at->second;
  const bool gone =
      file.good == nullptr || (file.missing_since && now - file.missing_since >= file.gap);
  SetMissing(at, now);
  ++version_;
  return gone ? files_.erase(at) : std::next(at);
}

void FileCatalog::SetMissing(Files::iterator at, Clock::Time now) {
  File& file = at->second;
  if (file.missing_since) return;
  file.missing_since = now;
  file.shadowed = std::any_of(
      files_.begin(), at, [&file](const auto& entry) { return AreOfOnePod(entry.second, file); });
  for (auto next = std::next(at); next != files_.end(); ++next)
    if (AreOfOnePod(file, next->second)) next->second.copy = true;
}

bool FileCatalog::AreOfOnePod(const File& one, const File& other) {
  if (one.good == nullptr || other.good == nullptr) return false;
  const SourcePod &a = *one.good, &b = *other.good;
  return a.uid == b.uid || (a.name == b.name && a.name_space == b.name_space);
}

void FileCatalog::OnInspected(const Inspection& inspection, const SeenAt& at) {
  auto file = files_.find(inspection.path);
  if (inspection.found == Inspection::Found::kNone) {
    if (file != files_.end()) OnAbsent(file, at.now);
    return;
  }
  if (file == files_.end()) {
    file = files_.try_emplace(inspection.path).first;
    ++version_;
  }
  OnPresent(file->second);
  OnRead(inspection.read, at);
}

void FileCatalog::OnPathMissing(Clock::Time now) {
  std::erase_if(files_, [](const auto& entry) { return entry.second.good == nullptr; });
  if (!path_missing_since_) path_missing_since_ = now;
  if (now - path_missing_since_ >= kPathMissingGap) files_.clear();
  for (auto at = files_.begin(); at != files_.end(); ++at) {
    at->second.inspected = true;
    // A directory that is made again may take a while to be filled.
    SetMissing(at, now);
    at->second.gap = kPathMissingGap;
  }
  ++version_;
}

void FileCatalog::OnRead(const ReadFile& read, const SeenAt& seen_at) {
  const auto at = files_.find(read.path);
  if (at == files_.end()) return;
  File& file = at->second;
  const bool same = file.inspected && file.content == read.content;
  file.inspected = true;
  file.content = read.content;
  if (read.pod.ok()) {
    if (same && file.problem.empty() && file.good == *read.pod) return;
    file.good = *read.pod;
    file.problem.clear();
    file.problem_since = seen_at.wall;
    file.bad_reads = file.restless_reads = 0;
    file.retry_at = {};
  } else {
    const std::string problem = Message(read.pod.status());
    const bool reported = same && file.problem == problem;
    file.bad_reads = reported ? file.bad_reads + 1 : 0;
    file.restless_reads = reported ? 0 : file.restless_reads + 1;
    const int inspections = std::clamp(std::max(file.bad_reads, file.restless_reads - 1), 0, 20);
    file.retry_at = seen_at.now + kBrokenRetry * (1 << inspections);
    if (reported && file.bad_reads == 1) ++version_;
    if (reported) return;
    if (file.problem.empty()) file.problem_since = seen_at.wall;
    file.problem = problem;
  }
  file.warnings = read.warnings;
  ++version_;
}

SourceSet FileCatalog::Set() const {
  SourceSet set;
  std::map<std::string, std::string> taken;  // full name or UID -> path
  for (const auto& [path, file] : files_) {
    // A shadowed manifest did not deliver its pod before, and does not begin to.
    if (!file.missing_since || !file.shadowed) AddPod(path, set, taken);
  }
  AddCompleteness(set);
  return set;
}

/// A missing manifest that is not dropped yet keeps its pod from its copies: the second inspection
/// may find it again.
void FileCatalog::AddPod(const std::string& path, SourceSet& set,
                         std::map<std::string, std::string>& taken) const {
  const File& file = files_.at(path);
  const bool reported = file.bad_reads > 0 || file.restless_reads >= kRestlessReads;
  const std::string problem = reported ? file.problem : std::string();
  if (!problem.empty()) set.problems.push_back({path, problem, file.problem_since});
  for (const auto& warning : file.warnings)
    set.problems.push_back({path, warning, file.problem_since});
  if (file.good == nullptr) return;
  const SourcePod& pod = *file.good;
  if (!file.inspected) {
    set.undecided.insert(pod.uid);
    return;
  }
  const auto [by_uid, new_uid] = taken.try_emplace("uid " + pod.uid, path);
  const auto [by_name, new_name] =
      taken.try_emplace(kube::FullName(pod.name, pod.name_space), path);
  if (new_uid && new_name) {
    set.pods.push_back({file.good, problem});
    return;
  }
  const auto& winner = new_uid ? by_name->second : by_uid->second;
  // A manifest that just appeared may be the missing one under its new name.
  if (file.missing_since || (files_.at(winner).missing_since && !file.copy)) return;
  if (!new_name) set.duplicates.push_back(file.good);
  set.problems.push_back({path,
                          fmt::format("the same pod {} is in {}, which comes first",
                                      kube::PodKey(pod.name_space, pod.name), winner),
                          file.problem_since});
}

void FileCatalog::AddCompleteness(SourceSet& set) const {
  if (outcome_ == Listing::Outcome::kUnreadable) {
    set.reason = unreadable_;
    return;
  }
  if (outcome_ == Listing::Outcome::kMissing && !files_.empty()) {
    set.reason = "path does not exist; its pods are kept for now";
    return;
  }
  for (const auto& [path, file] : files_) {
    if (file.missing_since) continue;
    if (!file.inspected) {
      set.reason = fmt::format("{}: not read yet", path);
      return;
    }
    if (file.good == nullptr) {
      set.reason = file.problem;
      return;
    }
  }
  set.complete = true;
}

bool FileCatalog::IsThere(const std::string& path) const {
  const auto at = files_.find(path);
  return at != files_.end() && !at->second.missing_since;
}

Duration FileCatalog::NextInspection(Clock::Time now) const {
  Duration wait = period_;
  if (outcome_ != Listing::Outcome::kListed) wait = std::min(wait, kNoListingRetry);
  if (outcome_ == Listing::Outcome::kMissing && !files_.empty())
    wait = std::min(wait, std::max(Duration{0}, kPathMissingGap - (now - path_missing_since_)));
  for (const auto& [path, file] : files_)
    if (const auto next = NextInspectionOf(file, now)) wait = std::min(wait, *next);
  return wait;
}

std::vector<std::string> FileCatalog::Due(Clock::Time now) const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_)
    if (NextInspectionOf(file, now) == Duration{0}) paths.push_back(path);
  return paths;
}

/// Without a listing an inspection shows nothing; the retry of the listing follows.
std::optional<Duration> FileCatalog::NextInspectionOf(const File& file, Clock::Time now) const {
  if (!IsListed()) return std::nullopt;
  const Clock::Time at = file.missing_since ? file.missing_since + file.gap : file.retry_at;
  if (!at) return std::nullopt;
  return std::max(Duration{0}, at - now);
}

}  // namespace splitlet::config_source
