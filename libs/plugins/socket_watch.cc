#include "libs/plugins/socket_watch.h"

#include <utility>

#include "libs/plugins/answer.h"

namespace splitlet::plugins {
namespace {

constexpr const char* kStrand = "plugins/sockets";

}  // namespace

SocketWatch::SocketWatch(Deps deps)
    : deps_(std::move(deps)), env_(deps_.env), asker_(env_.loop, env_.strands) {}

void SocketWatch::Start() {
  resync_.emplace(env_.loop, kResync, [this] { OnHint(); });
  SetFolders({});
  Inspect();
}

void SocketWatch::OnHint() {
  if (phase_ == Phase::kIdle) return Inspect();
  again_ = true;
}

/// New watchers start before the folders are read, so that the inspection sees earlier changes.
void SocketWatch::Inspect() {
  phase_ = Phase::kInspecting;
  again_ = false;
  asker_.Ask(
      kStrand,
      [&files = deps_.files, directory = deps_.directory, starting = TakeNewFolders()] {
        Inspection inspection;
        for (const auto& start : starting)
          inspection.watched[start.folder] = start.watcher->Start(start.folder, start.callbacks);
        inspection.found = FindSockets(files, directory);
        return inspection;
      },
      [this](Inspection inspection) { OnInspected(std::move(inspection)); });
}

std::vector<SocketWatch::Starting> SocketWatch::TakeNewFolders() {
  std::vector<Starting> starting;
  for (auto& [path, folder] : folders_) {
    if (folder.state != Folder::State::kNew) continue;
    folder.state = Folder::State::kStarting;
    folder.watcher = deps_.make_watcher();
    const exec::Task hint = asker_.Guard([this] { OnHint(); });
    const auto lost =
        AnswerOnLoop<Status>(env_.loop, asker_, [this, path = path](const Status& why) {
          OnWatched(path, why);
          OnUnwatchedResync();
        });
    starting.push_back(
        {.folder = path,
         .watcher = folder.watcher,
         .callbacks = {[&loop = env_.loop, hint](const fs::Hint&) { loop.Post(hint); },
                       [lost](const Status& why) { lost(why); }}});
  }
  return starting;
}

void SocketWatch::OnWatched(const std::string& folder, const Status& watched) {
  const auto it = folders_.find(folder);
  if (it == folders_.end()) return;
  it->second.state = watched.ok() ? Folder::State::kWatched : Folder::State::kFailed;
  const std::string error = watched.ok() ? "" : ToString(watched);
  if (std::exchange(it->second.error, error) == error) return;
  if (watched.ok())
    env_.log.Info("watching the plugin sockets again", {KV("path", folder)});
  else
    env_.log.Warn("cannot watch the plugin sockets, will read the folder every 10 s",
                  {KV("path", folder), KV("err", watched)});
}

void SocketWatch::OnInspected(Inspection inspection) {
  for (const auto& [folder, watched] : inspection.watched) {
    const auto it = folders_.find(folder);
    // A watch that was lost since stays failed.
    if (it != folders_.end() && it->second.state == Folder::State::kStarting)
      OnWatched(folder, watched);
  }
  KeepUnread(found_, inspection.found);
  LogChanges(inspection.found);
  found_ = std::move(inspection.found);
  // A socket may have come before the watcher of its folder.
  again_ = SetFolders(found_.folders) || again_;
  OnUnwatchedResync();
  phase_ = Phase::kPausing;
  asker_.RunAfter(kPause, [this] {
    phase_ = Phase::kIdle;
    if (again_) Inspect();
  });
  deps_.on_found(found_);
}

/// Sets a timer while a folder has no watcher; the timer starts it again.
void SocketWatch::OnUnwatchedResync() {
  if (retrying_) return;
  for (const auto& [path, folder] : folders_)
    retrying_ = retrying_ || folder.state == Folder::State::kFailed;
  if (!retrying_) return;
  asker_.RunAfter(kUnwatchedResync, [this] {
    retrying_ = false;
    for (auto& [path, folder] : folders_)
      if (folder.state == Folder::State::kFailed) folder.state = Folder::State::kNew;
    OnHint();
  });
}

/// True if there is a folder that had no watcher yet.
bool SocketWatch::SetFolders(const std::set<std::string>& found) {
  std::erase_if(folders_, [&](const auto& entry) {
    return entry.first != deps_.directory && !found.contains(entry.first);
  });
  const size_t before = folders_.size();
  folders_.try_emplace(deps_.directory);
  for (const auto& path : found) folders_.try_emplace(path);
  return folders_.size() != before;
}

void SocketWatch::LogChanges(const FoundSockets& now) const {
  for (const auto& [path, why] : now.refused) {
    const auto before = found_.refused.find(path);
    if (before == found_.refused.end() || before->second != why)
      env_.log.Warn("skipping an entry of the plugin registry",
                    {KV("path", path), KV("reason", why)});
  }
  for (const auto& [path, why] : now.unread) {
    const auto before = found_.unread.find(path);
    if (before == found_.unread.end() || before->second != why)
      env_.log.Warn("cannot read a part of the plugin registry, keeping what is known of it",
                    {KV("path", path), KV("err", why)});
  }
}

}  // namespace splitlet::plugins
