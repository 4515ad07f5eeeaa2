#pragma once

/// Requests to an API server by libcurl on one thread. All requests share a connection if the
/// server has HTTP/2; otherwise each has one, which a later request reuses. A second thread reads
/// the credentials (access.h): at first, ten seconds after the last read, and when the server
/// answers 401. Then the request is sent once more if the credentials changed. Streams with a
/// client certificate cause reads too, and end with UNAVAILABLE when the certificate changes.
/// Connections with old credentials serve only their running requests. A silent connection is ended
/// with all its requests: when a request on it timed out, or when nothing came for longer than the
/// interval of a watch's bookmarks.
/// Owns:    the running requests, their connections, two threads from the first request on.
/// Threads: Begin, BeginStream and host from any. Callbacks come on the first thread, in the
///          destructor, or before Begin returns.
///          The process ignores SIGPIPE, which a broken connection may raise.
/// Errors:  those of Transport; RESOURCE_EXHAUSTED: more than 4,096 running requests; UNAVAILABLE:
///          no kubeconfig. If the kubeconfig or one of its files disappears or becomes malformed,
///          the last good version stays in use, and the log reports it. While a TLS bootstrap makes
///          the kubeconfig, the error is marked as awaited and logged at debug.
/// Killed:  the destructor ends all requests with CANCELLED, and does not wait for name lookups.
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
    process::ProgramRunner run;                               // runs credential plugins
    std::shared_ptr<PluginMetrics> plugin_metrics = nullptr;  // null: none
  };
  struct Options {
    std::string kubeconfig;
    std::string user_agent;
    std::string rotated_certificate;  // as AccessReader's; empty: none
    Duration read_every = std::chrono::seconds{10};
    /// Within this time a missing kubeconfig counts as being created (AccessReader).
    Duration made_within{0};
    size_t max_calls = 4096;
    /// A request with a shorter timeout proves nothing about its connection.
    Duration least_wait = std::chrono::seconds{3};
    /// A server sends each watch one bookmark a minute.
    Duration quiet_limit = std::chrono::seconds{150};
  };
  HttpsTransport(Deps deps, Options options);
  ~HttpsTransport() override;

  void Begin(Request request, Deadline deadline, Done done) override;
  void BeginStream(Request request, Deadline deadline, OnData on_data, Done done) override;
  std::string host() const override;

 private:
  class Engine;  // runs on the first thread
  struct Call {
    uint64_t id = 0;
    Request request;
    Deadline deadline;
    OnData on_data;  // only for a stream
    Done done;
  };
  using ReadResult = StatusOr<std::shared_ptr<const ServerAccess>>;
  /// Messages to the first thread.
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
  Connections connections_;  // used by the first thread only
  http::CurlMulti multi_;    // used by the first thread only, except Wake
  AccessReader reader_;      // used by the second thread only, except GiveUp

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable asked_;
  Inbox inbox_;
  std::optional<std::shared_ptr<const ServerAccess>> to_read_;  // the refused access, or null
  std::string host_;
  uint64_t last_id_ = 0;
  size_t calls_ = 0;
  bool started_ = false;
  std::thread engine_thread_, reader_thread_;
};

}  // namespace splitlet::apiclient
