#include "services/config-source/sources/file/reader.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/hash.h"
#include "libs/kube/pod_types.h"

namespace splitlet::config_source {

namespace {

/// File systems count time in steps of up to 2 s (FAT; ext4 and XFS: of a tick).
constexpr Duration kSettles = std::chrono::seconds{2};

}  // namespace

ManifestReader::ManifestReader(fs::FileSystem& files, std::string path, std::string node_name,
                               Decode decode)
    : files_(files),
      path_(std::move(path)),
      node_name_(std::move(node_name)),
      decode_(std::move(decode)) {}

Listing ManifestReader::List() {
  StatusOr<Listing> listing = TryList();
  if (listing.ok()) return *std::move(listing);
  Listing failed;
  failed.outcome = Listing::Outcome::kUnreadable;
  failed.status = listing.status();
  return failed;
}

StatusOr<Listing> ManifestReader::TryList() {
  FAIL_POINT("config-source.list-manifests");
  Listing listing;
  const auto info = files_.Stat(path_, true);
  if (info.status().code() == StatusCode::kNotFound) {
    listing.outcome = Listing::Outcome::kMissing;
    return listing;
  }
  RETURN_IF_ERROR(info, "stat {}", path_);
  listing.outcome = Listing::Outcome::kListed;
  if (info->kind == fs::FileInfo::Kind::kFile) {
    listing.paths.push_back(path_);
    return listing;
  }
  if (info->kind != fs::FileInfo::Kind::kDirectory)
    return InvalidArgument("{}: path is not a directory or file", path_);
  ASSIGN_OR_RETURN(const auto entries, files_.List(path_), "list {}", path_);
  for (const auto& entry : entries) RETURN_IF_ERROR(AddEntry(entry, listing), "list {}", path_);
  std::ranges::sort(listing.paths);
  return listing;
}

Status ManifestReader::AddEntry(const fs::DirEntry& entry, Listing& listing) {
  if (entry.name.starts_with('.')) return OkStatus();
  const std::string path = path_ + "/" + entry.name;
  auto kind = entry.kind;
  listing.links = listing.links || kind == fs::FileInfo::Kind::kSymlink;
  if (kind != fs::FileInfo::Kind::kFile) {
    const auto info = files_.Stat(path, true);
    // A dangling link is a manifest that cannot be used; reading it gives the reason.
    kind = info.ok() ? info->kind : fs::FileInfo::Kind::kFile;
  }
  if (kind == fs::FileInfo::Kind::kFile) {
    listing.paths.push_back(path);
  } else {
    listing.skipped.push_back(path);
  }
  return OkStatus();
}

StatusOr<ManifestReader::Stamp> ManifestReader::StampOf(const std::string& path) {
  ASSIGN_OR_RETURN(const auto info, files_.Stat(path, true), "stat");
  return Stamp{info.inode, info.size, info.modified};
}

StatusOr<std::string> ManifestReader::ReadSettled(const std::string& path, const Stamp& before) {
  FAIL_POINT("config-source.read-manifest");
  auto text = files_.Read(path, kMaxConfigBytes - 1);
  if (text.status().code() == StatusCode::kResourceExhausted)
    return InvalidArgument("{}: the read limit is reached", path);
  RETURN_IF_ERROR(text, "{}", path);
  ASSIGN_OR_RETURN(const Stamp after, StampOf(path), "{}", path);
  if (before != after) return Aborted("{}: changed while it was read", path);
  return text;
}

std::optional<ReadFile> ManifestReader::Unreadable(const std::string& path, const Status& why) {
  const bool link = files_.Stat(path, false).ok();
  if (why.code() == StatusCode::kNotFound && !link) return std::nullopt;
  cache_.erase(path);
  ReadFile read;
  read.path = path;
  read.pod = why;
  return read;
}

std::optional<ReadFile> ManifestReader::Read(const std::string& path, Which which, WallTime now) {
  const auto stamp = Annotate(StampOf(path), path);
  if (!stamp.ok()) return Unreadable(path, stamp.status());
  const auto known = cache_.find(path);
  const bool same = known != cache_.end() && known->second.stamp == *stamp;
  if (which == Which::kChanged && same && known->second.settled) return known->second.read;
  const auto text = ReadSettled(path, *stamp);
  if (!text.ok()) return Unreadable(path, text.status());
  const bool settled = now - stamp->modified > kSettles;
  ReadFile read;
  read.path = path;
  read.content = Fnv1a64(*text) ^ text->size();
  if (known != cache_.end() && known->second.read.content == read.content) {
    known->second.stamp = *stamp;
    known->second.settled = settled;
    return known->second.read;
  }
  auto decoded = decode_(*text, {std::string(kube::kFileSource), node_name_, path});
  if (decoded.ok()) {
    CHECK(decoded->pods.size() == 1, "{} pods in one manifest", decoded->pods.size());
    read.pod = decoded->pods.front();
    read.warnings = std::move(decoded->warnings);
  } else {
    read.pod = decoded.status();
  }
  cache_.insert_or_assign(path, Known{read, *stamp, settled});
  return read;
}

Inspection ManifestReader::Inspect(const std::string& path, WallTime now) {
  using Kind = fs::FileInfo::Kind;
  Inspection inspection;
  inspection.path = path;
  const auto info = files_.Stat(path, false);
  if (info.ok() && info->kind == Kind::kSymlink) return inspection;
  if (info.ok() && info->kind == Kind::kFile) {
    if (auto read = Read(path, Which::kAll, now)) {
      inspection.found = Inspection::Found::kManifest;
      inspection.read = *std::move(read);
      return inspection;
    }
  } else if (!info.ok() && info.status().code() != StatusCode::kNotFound) {
    return inspection;
  }
  // If the directory itself is away, all manifests are missing, and kPathMissingGap applies.
  const auto directory = files_.Stat(path_, true);
  if (!directory.ok() || directory->kind != Kind::kDirectory) return inspection;
  inspection.found = Inspection::Found::kNone;
  cache_.erase(path);
  return inspection;
}

void ManifestReader::Collect(const Listing& listing) {
  std::erase_if(cache_, [&listing](const auto& entry) {
    return !std::ranges::binary_search(listing.paths, entry.first);
  });
}

}  // namespace splitlet::config_source
