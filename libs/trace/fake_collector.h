#pragma once

/// A collector for tests: accepts OTLP over HTTP on a port of its own and keeps the spans; answers
/// other requests with 400.
/// Threads: any.

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace splitlet::trace {

class FakeCollector {
 public:
  struct Seen {
    std::string service;                             // service.name
    std::string name, trace_id, span_id, parent_id;  // ids in hex
    std::map<std::string, std::string> attributes;
    int kind = 0;
    bool error = false;
  };

  FakeCollector();
  ~FakeCollector();
  FakeCollector(const FakeCollector&) = delete;
  FakeCollector& operator=(const FakeCollector&) = delete;

  std::string url() const;  // "http://127.0.0.1:40123"
  /// HTTP code of all later answers; 0: no answer.
  void Answer(int http_status) { status_ = http_status; }
  std::vector<Seen> spans() const;
  size_t requests() const { return requests_; }
  /// The lines of the last request before its body.
  std::string last_head() const;

 private:
  void AcceptUntilClosed();
  void Serve(int fd);
  bool Keep(const std::string& head, const std::string& body);

  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> status_ = 200;
  std::atomic<size_t> requests_ = 0;
  mutable std::mutex mutex_;
  std::vector<Seen> spans_;
  std::string head_;
  std::vector<int> open_;
  std::vector<std::jthread> connections_;
  std::jthread acceptor_;
};

}  // namespace splitlet::trace
