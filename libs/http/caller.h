#pragma once

/// A call of a server in a pod, as a kubelet's probes and hooks make it, without a thread that
/// waits: a connection of its own, no proxy, no certificate verified.
/// Threads: Begin from any. `done` is called once, on any thread, also before Begin returns; it
///          must not block.
/// Errors:  in Outcome::status, in the words of Go's net/http and net, which a kubelet's users
///          know: UNAVAILABLE without a connection or with an answer that is none,
///          DEADLINE_EXCEEDED, CANCELLED by the deadline's token or at the end of the process,
///          RESOURCE_EXHAUSTED for too many redirects or headers, UNIMPLEMENTED when a server
///          that was to speak TLS speaks HTTP, INVALID_ARGUMENT for a URL that is none; ABORTED and
///          FAILED_PRECONDITION when it was not tried, for too many calls or without libcurl. Any
///          HTTP status is an answer, no error.
/// Source:  docs/behaviour/probes.md, "One run".

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::http {

struct Exchange {
  enum class Protocol {
    kHttp,     // version 2 where TLS agrees on it
    kHttp2,    // without TLS and without being asked for
    kConnect,  // a connection is all that is wanted
  };
  Protocol protocol = Protocol::kHttp;
  /// http or https. A GET follows redirects to the same host, ten requests in all; one to another
  /// host is the answer.
  std::string url;
  std::vector<std::string> headers;  // "Name: value", "Name;" for an empty value, "Name:" for none
  std::optional<std::string> body;   // posted
  size_t max_bytes = 0;              // of the answer's body, which is cut there
  bool headers_only = false;         // over with the headers of the answer
};

struct Outcome {
  enum class Stage { kConnecting, kAwaitingHeaders, kReadingBody };
  Status status;                     // OK: it is answered
  Stage stage = Stage::kConnecting;  // how far the last request came
  int code = 0;
  std::string head;  // header lines and trailers of the last answer, as they came
  std::string body;
  std::string url;  // that was asked last
};

/// The last value of a header, without blanks around it; `name` in lower case.
std::optional<std::string> FindHeader(std::string_view head, std::string_view name);

class Caller {
 public:
  using Done = std::function<void(Outcome)>;
  virtual ~Caller() = default;
  virtual void Begin(Exchange exchange, Deadline deadline, Done done) = 0;
};

}  // namespace splitlet::http
