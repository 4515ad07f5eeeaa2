#pragma once

/// The watches of the server in memory: each has frames that wait for it, and may end.
/// Threads: all but Deliver under the server's lock; Deliver without it, from any thread. What a
///          watch hears is in order, and one at a time.
/// Source: Kubernetes API, "Efficient detection of changes", "Watch bookmarks".

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "libs/apiclient/fake_selectors.h"
#include "libs/apiclient/fake_store.h"
#include "libs/apiclient/transport.h"

namespace splitlet::apiclient {

class Watches {
 public:
  /// What is told of one collection. Also an answer that hangs, when `kind` is null.
  struct Watch {
    const Kind* kind = nullptr;
    std::string name_space, name;  // "": all
    Selector selector;
    Format format = Format::kJson;
    bool bookmarks = false;
    std::optional<Clock::Time> until;  // its timeoutSeconds
    Deadline deadline;
    int cancel_id = 0;
    std::function<void()> go_on;  // of an answer that hangs: serves its request after all
    Transport::OnData on_data;
    Transport::Done done;

    std::deque<std::string> frames;
    std::optional<StatusOr<Response>> end;
    bool delivering = false;
  };
  using WatchPtr = std::shared_ptr<Watch>;

  void Add(WatchPtr watch) { watches_.push_back(std::move(watch)); }
  void OnChange(const Store::Change& change);
  /// Those of before `revision`, of which it tells only this one.
  static void Tell(Watch& watch, const Store::Change& change);
  static void TellAll(Watch& watch, const std::vector<Object>& objects);
  static void Bookmark(Watch& watch, int64_t revision, bool initial_end = false);
  void BookmarkAll(int64_t revision);
  void EndAll(const StatusOr<Response>& end);
  /// The answers that hang, no longer kept here.
  std::vector<WatchPtr> TakeHung();
  /// Ends what is over by now.
  void Tick(Clock::Time now, int64_t revision);
  void Deliver(std::mutex& lock);

 private:
  WatchPtr NextToDeliver();

  std::list<WatchPtr> watches_;
};

}  // namespace splitlet::apiclient
