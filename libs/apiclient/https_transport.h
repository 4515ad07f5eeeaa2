#pragma once

/// Requests to an API server by libcurl on one thread. All of them share a connection where the
/// server has HTTP/2, else each has one, which the next one takes over. What they are made with
/// (access.h) is read by a second thread: at first, when ten seconds have passed since, and when
/// the server answers 401; then the request is sent once more, if something has changed.
/// It is read again, too, while streams go on that were made with a client certificate: they end
/// with UNAVAILABLE when it changes. Connections made with one of before serve only the requests
/// that are under way on them. One over which the server says nothing any more is ended with all
/// that goes on on it: when a request on it has timed out, or when nothing has come for longer than
/// the bookmarks of a watch let pass.
/// Owns:    the requests under way, their connections, two threads from the first request on.
/// Threads: Begin, BeginStream and host from any. Callbacks come on its first thread, also from its
///          end, or before Begin returns.
///          The process ignores SIGPIPE, which a connection that breaks may give.
/// Errors:  as Transport says; RESOURCE_EXHAUSTED also above 4,096 requests at once. Without a
///          kubeconfig UNAVAILABLE. When one that was there goes, or becomes bad, or a file of it
///          does, what was read last stays in use, and the log says so. While a TLS bootstrap is
///          making the kubeconfig the error is marked as awaited, and the log says it at debug.
/// Killed:  its end gives up all that is under way, with CANCELLED, and waits for no name that is
///          looked up.
/// Source:  docs/behaviour/api-client.md, "The way there"; client-go transport.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libs/apiclient/access.h"
#include "libs/apiclient/connections.h"
#include "libs/apiclient/transport.h"
#include "libs/base/log.h"
#include "libs/http/curl_multi.h"

namespace splitlet::apiclient {

class HttpsTransport final : public Transport {
 public:
  struct Deps {
    const Clock& clock;
    fs::FileSystem& files;
    Log log;
    const http::CurlLibrary& curl;
    process::ProgramRunner run;                               // of credential plugins
    std::shared_ptr<PluginMetrics> plugin_metrics = nullptr;  // null: none
  };
  struct Options {
    std::string kubeconfig;
    std::string user_agent;
    std::string rotated_certificate;  // as AccessReader's; empty: none
    Duration read_every = std::chrono::seconds{10};
    /// For how long from now on a kubeconfig that is missing is being made (AccessReader).
    Duration made_within{0};
    size_t max_calls = 4096;
    /// A request that timed out earlier says nothing of its connection.
    Duration least_wait = std::chrono::seconds{3};
    /// A server sends each watch a bookmark a minute.
    Duration quiet_limit = std::chrono::seconds{150};
  };
  HttpsTransport(Deps deps, Options options);
  ~HttpsTransport() override;

  void Begin(Request request, Deadline deadline, Done done) override;
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override;
  std::string host() const override;

 private:
  class Engine;  // the first thread's
  struct Call {
    uint64_t id = 0;
    Request request;
    Deadline deadline;
    OnData on_data;  // of a stream alone
    Done done;
  };
  using ReadResult = StatusOr<std::shared_ptr<const ServerAccess>>;
  /// What the first thread is told.
  struct Inbox {
    std::vector<Call> begun;
    std::vector<uint64_t> cancelled;
    std::optional<ReadResult> read;
    bool stop = false;
  };
  void Enqueue(Call call);
  bool EnsureThreads();
  void ReadAsAsked();
  void PostCancel(uint64_t id);
  void PostRead(std::shared_ptr<const ServerAccess> refused);
  void OnAnswered();
  void SetHost(const std::string& host);
  Inbox TakeInbox();

  const Deps deps_;
  const Options options_;
  Connections connections_;  // the first thread's
  http::CurlMulti multi_;    // the first thread's, but for Wake
  AccessReader reader_;      // the second thread's, but for GiveUp

  mutable std::mutex mutex_;  // of all below
  std::condition_variable asked_;
  Inbox inbox_;
  std::optional<std::shared_ptr<const ServerAccess>> to_read_;  // what was refused, or null
  std::string host_;
  uint64_t last_id_ = 0;
  size_t calls_ = 0;
  bool started_ = false;
  std::thread engine_thread_, reader_thread_;
};

}  // namespace splitlet::apiclient
