#include "libs/fs/record_store.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/hash.h"
#include "libs/fs/path.h"
#include "libs/fs/reserve.h"

namespace splitlet::fs {
namespace {

constexpr uint64_t kMaxRecordBytes = 32u << 20;
constexpr std::string_view kMagic = "splitlet-fact";  // part of the format on disk

struct Header {
  uint64_t schema = 0, boot = 0, checksum = 0;
};

bool IsKey(std::string_view key) {
  return !key.empty() && key.front() != '.' && key.size() <= 200 &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                  c == '-';
         });
}

/// Reads " <number>" from the front of `text`.
bool TakeNumber(std::string_view& text, int base, uint64_t& number) {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

/// Parses "splitlet-fact <schema> <boot> <checksum>\n", the last two in hex; leaves the record in
/// `content`.
bool TakeHeader(std::string_view& content, Header& header) {
  const size_t end = content.find('\n');
  if (end == std::string_view::npos || !content.starts_with(kMagic)) return false;
  std::string_view line = content.substr(kMagic.size(), end - kMagic.size());
  content.remove_prefix(end + 1);
  return TakeNumber(line, 10, header.schema) && TakeNumber(line, 16, header.boot) &&
         TakeNumber(line, 16, header.checksum) && line.empty();
}

/// True if the file can never be read as a record, because it is too long or not a regular file.
bool IsNoRecord(FileSystem& files, const std::string& path, const Status& why) {
  if (why.code() == StatusCode::kInvalidArgument || why.code() == StatusCode::kFailedPrecondition)
    return true;
  if (why.code() != StatusCode::kResourceExhausted) return false;
  // Either the file is too long, or this process has too many open files.
  const auto info = files.Stat(path, true);
  return info.ok() && info->size > kMaxRecordBytes;
}

/// A free path in `directory`.
StatusOr<std::string> FreePath(FileSystem& files, const std::string& directory,
                               const std::string& name) {
  constexpr int kMost = 1000;
  for (int n = 1; n <= kMost; ++n) {
    std::string path = fmt::format("{}/{}{}", directory, name, n == 1 ? "" : fmt::format(".{}", n));
    const auto taken = files.Stat(path, false);
    if (taken.status().code() == StatusCode::kNotFound) return path;
    RETURN_IF_ERROR(taken, "stat {}", path);
  }
  return ResourceExhausted("{} already has {} files of {}", directory, kMost, name);
}

}  // namespace

RecordStore::RecordStore(FileSystem& files, const Clock& clock, Options options)
    : files_(files), clock_(clock), options_(std::move(options)) {}

StatusOr<RecordStore::All> RecordStore::ReadAll() const {
  All all;
  const auto entries = files_.List(options_.directory);
  if (entries.status().code() == StatusCode::kNotFound) return all;
  RETURN_IF_ERROR(entries, "list {}", options_.directory);
  for (const DirEntry& entry : *entries) {
    const std::string_view key = NameOfNewContent(entry.name);
    if (IsKey(key) && entry.kind == FileInfo::Kind::kFile) {
      RETURN_IF_ERROR(RemoveUnfinishedOf(key), "unfinished record");
      continue;
    }
    if (!IsKey(entry.name)) continue;
    const std::string path = options_.directory + "/" + entry.name;
    const auto content = files_.Read(path, kMaxRecordBytes);
    if (content.status().code() == StatusCode::kNotFound) continue;  // removed since the listing
    if (!content.ok() && IsNoRecord(files_, path, content.status())) {
      all.unreadable.push_back({entry.name, Message(content.status())});
      continue;
    }
    RETURN_IF_ERROR(content, "read {}", path);
    if (content->empty()) {
      // Saved without fsync before a power cut: the disk kept the name but lost the content.
      RETURN_IF_ERROR(Forget(entry.name), "record emptied by a power cut");
      continue;
    }
    std::string_view record = *content;
    Header header;
    if (!TakeHeader(record, header)) {
      all.unreadable.push_back({entry.name, "no header"});
    } else if (header.schema > options_.schema) {
      all.unreadable.push_back(
          {entry.name, fmt::format("schema level {} is above {}", header.schema, options_.schema),
           true});
    } else if (options_.this_boot_only && header.boot != clock_.Now().boot) {
      RETURN_IF_ERROR(Forget(entry.name), "record of another boot");
    } else if (header.checksum != Fnv1a64(record)) {
      all.unreadable.push_back({entry.name, "checksum does not match"});
    } else {
      all.records.push_back({entry.name, std::string(record), header.boot});
    }
  }
  return all;
}

RecordStore::Writing::Writing(const RecordStore& store, const std::string& key)
    : store_(store), key_(key) {
  const std::lock_guard lock(store_.mutex_);
  store_.writing_.insert(key_);
}

RecordStore::Writing::~Writing() {
  const std::lock_guard lock(store_.mutex_);
  store_.writing_.erase(store_.writing_.find(key_));
}

/// Holds the lock, so that a write of the same key starts after the removal.
Status RecordStore::RemoveUnfinishedOf(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  if (writing_.contains(key)) return OkStatus();
  const std::string path = NewContentPath(PathOf(std::string(key)));
  return Annotate(files_.Remove(path), "remove " + path);
}

std::string RecordStore::PathOf(const std::string& key) const {
  CHECK(IsKey(key), "{} is not a valid key of a record", key);
  return options_.directory + "/" + key;
}

std::string RecordStore::ContentOf(std::string_view bytes) const {
  return fmt::format("{} {} {:x} {:x}\n{}", kMagic, options_.schema, clock_.Now().boot,
                     Fnv1a64(bytes), bytes);
}

Status RecordStore::Save(const std::string& key, std::string_view bytes, bool fsync) const {
  FAIL_POINT("fs.save-fact.before");
  const Writing writing(*this, key);
  RETURN_IF_ERROR(files_.Replace(PathOf(key), ContentOf(bytes), {.fsync = fsync}), "save {}/{}",
                  options_.directory, key);
  FAIL_POINT("fs.save-fact.after");
  return OkStatus();
}

Status RecordStore::SaveForEnd(const std::string& key, std::string_view bytes, bool fsync) const {
  const Status saved = Save(key, bytes, fsync);
  if (saved.code() != StatusCode::kResourceExhausted || options_.reserve_directory.empty())
    return saved;
  const Writing writing(*this, key);
  const Reserve reserve(files_, options_.reserve_directory);
  RETURN_IF_ERROR(reserve.Write(PathOf(key), ContentOf(bytes), {.fsync = fsync}), "save {}/{}: {}",
                  options_.directory, key, Message(saved));
  return OkStatus();
}

Status RecordStore::KeepRoom() const {
  RETURN_IF_ERROR(files_.MakeDirs(options_.directory, 0750), "make {}", options_.directory);
  if (options_.reserve_directory.empty()) return OkStatus();
  return Annotate(Reserve(files_, options_.reserve_directory).Keep(), "keep the reserve");
}

Status RecordStore::GiveRoom() const {
  if (options_.reserve_directory.empty()) return OkStatus();
  return Annotate(Reserve(files_, options_.reserve_directory).GiveHalf(), "give up the reserve");
}

Status RecordStore::Forget(const std::string& key) const {
  FAIL_POINT("fs.forget-fact.before");
  RETURN_IF_ERROR(files_.Remove(PathOf(key)), "remove {}/{}", options_.directory, key);
  FAIL_POINT("fs.forget-fact.after");
  return OkStatus();
}

StatusOr<std::string> RecordStore::PutAside(const std::string& key) const {
  FAIL_POINT("fs.put-fact-aside.before");
  CHECK(IsKey(key), "{} is not a valid key of a record", key);
  const std::string from = options_.directory + "/" + key;
  RETURN_IF_ERROR(files_.Stat(from, false), "{}", from);
  const std::string aside = options_.directory + "-discarded";
  RETURN_IF_ERROR(files_.MakeDirs(aside, 0700), "make {}", aside);
  ASSIGN_OR_RETURN(std::string to, FreePath(files_, aside, key), "put {} aside", from);
  RETURN_IF_ERROR(files_.Rename(from, to), "put {} aside", from);
  FAIL_POINT("fs.put-fact-aside.after");
  return to;
}

}  // namespace splitlet::fs
