#pragma once

/// A call to a server in a pod, as a kubelet's probes and hooks make it, without a waiting thread.
/// It uses a connection of its own and no proxy, and verifies no certificate.
/// Threads: Begin from any. `done` is called once, on any thread, also before Begin returns; it
///          must not block.
/// Errors:  in Outcome::status, with the texts of Go's net/http and net, which users of a kubelet
///          know: UNAVAILABLE: no connection or a malformed answer; DEADLINE_EXCEEDED; CANCELLED by
///          the deadline's token or at the end of the process; RESOURCE_EXHAUSTED: too many
///          redirects or headers; UNIMPLEMENTED: HTTP instead of TLS; INVALID_ARGUMENT: malformed
///          URL; ABORTED: not tried, too many calls; FAILED_PRECONDITION: not tried, no libcurl.
///          Any HTTP status is an answer and no error.
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
    kHttp,     // HTTP/2 if the TLS handshake negotiates it
    kHttp2,    // HTTP/2 without TLS and without negotiation
    kConnect,  // connects only
  };
  Protocol protocol = Protocol::kHttp;
  /// http or https. A GET follows redirects to the same host, up to ten requests in all; a redirect
  /// to another host is returned as the answer.
  std::string url;
  std::vector<std::string> headers;  // "Name: value"; "Name;" sends an empty value, "Name:" removes
                                     // the header
  std::optional<std::string> body;   // sent by POST
  size_t max_bytes = 0;              // the answer's body is cut at this length
  bool headers_only = false;         // true: ends after the headers of the answer
};

struct Outcome {
  enum class Stage { kConnecting, kAwaitingHeaders, kReadingBody };
  Status status;                     // OK: answered
  Stage stage = Stage::kConnecting;  // how far the last request came
  int code = 0;
  std::string head;  // header lines and trailers of the last answer, unchanged
  std::string body;
  std::string url;  // URL of the last request
};

/// The last value of a header, trimmed; `name` is in lower case.
std::optional<std::string> FindHeader(std::string_view head, std::string_view name);

class Caller {
 public:
  using Done = std::function<void(Outcome)>;
  virtual ~Caller() = default;
  virtual void Begin(Exchange exchange, Deadline deadline, Done done) = 0;
};

}  // namespace splitlet::http
