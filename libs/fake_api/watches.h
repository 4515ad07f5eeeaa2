#pragma once

/// Watches of the fake API server: frames that wait for delivery, and how each watch ended.
/// Threads: Deliver without the server's lock, from any thread; all else under the lock. A watch
///          receives its frames in order, one at a time.
/// Source: Kubernetes API, "Efficient detection of changes", "Watch bookmarks".

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "libs/apiclient/transport.h"
#include "libs/fake_api/selectors.h"
#include "libs/fake_api/store.h"

namespace splitlet::fake_api {

class Watches {
 public:
  /// A watch of one collection. A null `kind` marks a hanging answer.
  struct Watch {
    const Kind* kind = nullptr;
    std::string name_space, name;  // "": all
    Selector selector;
    Format format = Format::kJson;
    bool bookmarks = false;
    std::optional<Clock::Time> until;  // end of its timeoutSeconds
    Deadline deadline;
    int cancel_id = 0;
    std::function<void()> go_on;  // for a hanging answer: serves the request after all
    apiclient::Transport::OnData on_data;
    apiclient::Transport::Done done;

    std::deque<std::string> frames;
    std::optional<StatusOr<apiclient::Response>> end;
    bool delivering = false;
  };
  using WatchPtr = std::shared_ptr<Watch>;

  void Add(WatchPtr watch) { watches_.push_back(std::move(watch)); }
  void OnChange(const Store::Change& change);
  /// Send and SendAll reach only one watch: a change, or the objects of a list.
  static void Send(Watch& watch, const Store::Change& change);
  static void SendAll(Watch& watch, const std::vector<Object>& objects);
  static void Bookmark(Watch& watch, int64_t revision, bool initial_end = false);
  void BookmarkAll(int64_t revision);
  void EndAll(const StatusOr<apiclient::Response>& end);
  /// Removes and returns the hanging answers.
  std::vector<WatchPtr> TakeHung();
  /// Ends watches and hanging answers whose time has passed.
  void Tick(Clock::Time now, int64_t revision);
  void Deliver(std::mutex& lock);

 private:
  WatchPtr NextToDeliver();

  std::list<WatchPtr> watches_;
};

}  // namespace splitlet::fake_api
