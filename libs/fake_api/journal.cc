#include "libs/fake_api/journal.h"

#include <google/protobuf/message.h>

#include <charconv>
#include <filesystem>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::fake_api {
namespace {

/// "REVISION PATH JSON"; a line without JSON records a deletion.
std::string LineOf(int64_t revision, const Kind& kind, const Object& object, bool gone) {
  const auto& meta = MetaOf(*object);
  std::string line =
      fmt::format("{} {}", revision, PathOf({&kind, meta.namespace_(), meta.name(), {}}));
  if (!gone) line += " " + Encode(*object, {kind.api_version(), kind.kind}, Format::kJson);
  return line + "\n";
}

Status ReadLine(const std::string& line, Store::Objects& objects, int64_t& revision) {
  const size_t first = line.find(' ');
  const size_t second = std::min(line.find(' ', first + 1), line.size());
  if (first == std::string::npos) return DataLoss("no path");
  std::from_chars(line.data(), line.data() + first, revision);
  const auto place = ParsePath(line.substr(first + 1, second - first - 1));
  if (!place || place->name.empty() || place->kind->list == nullptr) return DataLoss("no object");
  if (second == line.size()) {
    objects[place->kind].erase(place->key());
    return OkStatus();
  }
  std::unique_ptr<google::protobuf::Message> object(place->kind->item->New());
  RETURN_IF_ERROR(
      kube::DecodeInto(line.substr(second + 1), place->key(), kube::Strictness::kLenient, *object),
      "journal");
  objects[place->kind][place->key()] = std::move(object);
  return OkStatus();
}

/// Drops a last line without a newline, because no client received an answer to that change.
Status Read(const std::string& file, Store& store) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return OkStatus();
  Store::Objects objects;
  int64_t revision = 0;
  int number = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    ++number;
    RETURN_IF_ERROR(ReadLine(line, objects, revision), "{}: line {}", file, number);
  }
  if (number > 0) store.Restore(std::move(objects), revision);
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& file, Store& store) {
  RETURN_IF_ERROR(Read(file, store), "journal");
  const std::string fresh = file + ".new";
  std::error_code error;
  std::filesystem::remove(fresh, error);
  std::unique_ptr<Journal> journal(new Journal(fresh));
  // Mode 0600, because the file holds secrets.
  std::filesystem::permissions(
      fresh, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
  if (error) return Unavailable("{} cannot be written", file);
  for (const Kind& kind : Kinds())
    for (const Object& object : store.List(kind, ""))
      journal->out_ << LineOf(store.revision(), kind, object, false);
  journal->out_ << std::flush;
  std::filesystem::rename(fresh, file, error);
  if (!journal->out_ || error) return Unavailable("{} cannot be written", file);
  return journal;
}

void Journal::OnChange(const Store::Change& change) {
  const bool gone = change.type == Store::Change::Type::kDeleted;
  out_ << LineOf(change.revision, *change.kind, change.now, gone) << std::flush;
  CHECK(out_.good(), "the journal cannot be written");
}

}  // namespace splitlet::fake_api
