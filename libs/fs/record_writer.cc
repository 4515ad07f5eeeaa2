#include "libs/fs/record_writer.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace splitlet::fs {

RecordWriter::Files RecordWriter::FilesOf(const RecordStore& store, bool fsync) {
  return {
      .save = [&store, fsync](const std::string& key,
                              const std::string& bytes) { return store.Save(key, bytes, fsync); },
      .forget = [&store](const std::string& key) { return store.Forget(key); }};
}

RecordWriter::RecordWriter(const exec::Env& env, Files files, Options options, OnFailed on_failed)
    : files_(std::move(files)),
      options_(std::move(options)),
      on_failed_(std::move(on_failed)),
      backoff_(env.clock, options_.backoff),
      retries_(env.loop, env.clock, [this](const std::string& key) { Write(key); }),
      asker_(env.loop, env.strands) {}

void RecordWriter::Save(const std::string& key, std::string bytes, OnSaved on_saved) {
  Entry& entry = entries_[key];
  entry.version = ++last_version_;
  entry.bytes = std::make_shared<const std::string>(std::move(bytes));
  if (on_saved) entry.waiting.push_back({entry.version, asker_.Guard(std::move(on_saved))});
  // A failed write waits for its next attempt, which uses these bytes, so that a full disk gets no
  // additional writes.
  if (entry.writing == 0 && !retries_.Contains(key)) Write(key);
}

void RecordWriter::Forget(const std::string& key) {
  entries_.erase(key);
  retries_.Remove(key);
  backoff_.Reset(key);
  asker_.Ask(
      StrandOf(key), [forget = files_.forget, key] { return forget(key); },
      [this, key](const Status& status) {
        if (status.ok()) return;
        const OnFailed on_failed = on_failed_;
        on_failed(key, {.status = status});
      });
}

void RecordWriter::Write(const std::string& key) {
  Entry& entry = entries_.at(key);
  entry.writing = entry.version;
  asker_.Ask(
      StrandOf(key), [save = files_.save, key, bytes = entry.bytes] { return save(key, *bytes); },
      [this, key, version = entry.version](const Status& status) {
        OnWritten(key, version, status);
      });
}

void RecordWriter::OnWritten(const std::string& key, uint64_t version, const Status& status) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.writing != version) return;  // removed in between
  it->second.writing = 0;
  if (!status.ok()) return OnFailure(key, status);
  backoff_.Reset(key);
  auto& waiting = it->second.waiting;
  const auto newer = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const Waiting& one) { return one.version > version; });
  const std::vector<Waiting> saved(std::make_move_iterator(waiting.begin()),
                                   std::make_move_iterator(newer));
  waiting.erase(waiting.begin(), newer);
  it->second.error.clear();
  if (it->second.version == version) {
    entries_.erase(it);
  } else {
    Write(key);
  }
  // The last step, because a callback may destroy this object.
  for (const Waiting& one : saved) one.on_saved();
}

void RecordWriter::OnFailure(const std::string& key, const Status& status) {
  std::string error(Message(status));
  Failure failure{.status = status, .retry_in = backoff_.Next(key)};
  std::string& last = entries_.at(key).error;
  failure.repeated = last == error;
  last = std::move(error);
  retries_.Add(key, failure.retry_in);
  const OnFailed on_failed = on_failed_;  // a copy, because the call may destroy this object
  on_failed(key, failure);
}

}  // namespace splitlet::fs
