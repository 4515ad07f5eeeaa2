#include "libs/http/http.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include "libs/base/cancel.h"
#include "libs/http/curl_library.h"
#include "libs/http/lower.h"

namespace splitlet::http {
namespace {

constexpr int kMaxRedirects = 10;

/// State for libcurl's callbacks.
struct Sink {
  uint64_t max_bytes = 0;
  const CancelToken* cancel = nullptr;
  bool too_long = false;
  Answer answer;
};

size_t OnBody(const char* data, size_t size, size_t count, void* user) {
  auto& sink = *static_cast<Sink*>(user);
  const size_t bytes = size * count;
  if (sink.answer.body.size() + bytes >= sink.max_bytes) {
    sink.too_long = true;
    return 0;
  }
  sink.answer.body.append(data, bytes);
  return bytes;
}

/// Keeps the text after the version in the last status line, after all redirects.
size_t OnHeader(const char* data, size_t size, size_t count, void* user) {
  const std::string_view line(data, size * count);
  Sink& sink = *static_cast<Sink*>(user);
  if (line.starts_with("HTTP/")) {
    Answer& answer = sink.answer;
    const size_t blank = line.find(' ');
    answer.status =
        blank == std::string_view::npos ? std::string() : std::string(line.substr(blank + 1));
    while (!answer.status.empty() && static_cast<unsigned char>(answer.status.back()) <= ' ')
      answer.status.pop_back();
    answer.body.clear();
  }
  return line.size();
}

// libcurl calls this at least once a second, with the bytes transferred so far.
template <class... Amounts>
int OnProgress(void* user, Amounts... /*unused*/) {
  const auto* cancel = static_cast<Sink*>(user)->cancel;
  return cancel != nullptr && cancel->cancelled() ? 1 : 0;
}

}  // namespace

struct Client::Connection {
  explicit Connection(const CurlLibrary& library)
      : curl(library), handle(library.easy_init(), library.easy_cleanup) {}

  template <class Value>
  void Set(CURLoption option, Value value) {
    CHECK(curl.easy_setopt(handle.get(), option, value) == CURLE_OK, "curl has no option {}",
          static_cast<int>(option));
  }

  void Prepare(const Request& request, curl_slist* headers, Sink& sink) {
    curl.easy_reset(handle.get());  // keeps the connection
    error[0] = '\0';
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_HTTPHEADER, headers);
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_ERRORBUFFER, error.data());
    Set(CURLOPT_WRITEFUNCTION, &OnBody);
    Set(CURLOPT_WRITEDATA, &sink);
    Set(CURLOPT_HEADERFUNCTION, &OnHeader);
    Set(CURLOPT_HEADERDATA, &sink);
    Set(CURLOPT_NOPROGRESS, 0L);
    Set(CURLOPT_XFERINFOFUNCTION, &OnProgress<curl_off_t, curl_off_t, curl_off_t, curl_off_t>);
    Set(CURLOPT_XFERINFODATA, &sink);
    if (!request.body) return;
    Set(CURLOPT_POSTFIELDS, request.body->data());
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
  }

  /// Target of a redirect in the last answer; empty: none.
  std::string Redirect() {
    const char* target = nullptr;
    curl.easy_getinfo(handle.get(), CURLINFO_REDIRECT_URL, &target);
    return target == nullptr ? std::string() : std::string(target);
  }

  Status ToStatus(CURLcode code, const Sink& sink) const {
    if (sink.too_long) return ResourceExhausted("the read limit is reached");
    if (code == CURLE_ABORTED_BY_CALLBACK) return Cancelled("given up");
    const std::string_view why = error[0] != '\0' ? error.data() : curl.easy_strerror(code);
    // OpenSSL's text for a record that is not TLS.
    if (code == CURLE_SSL_CONNECT_ERROR &&
        why.find("wrong version number") != std::string_view::npos)
      return Unimplemented("the server does not speak TLS");
    return MakeStatus(
        code == CURLE_OPERATION_TIMEDOUT ? StatusCode::kDeadlineExceeded : StatusCode::kUnavailable,
        why);
  }

  const CurlLibrary& curl;
  const std::unique_ptr<CURL, decltype(CurlLibrary::easy_cleanup)> handle;
  std::array<char, CURL_ERROR_SIZE> error{};
};

Client::Client(const Clock& clock) : clock_(clock) {}
Client::~Client() = default;

std::string PlaceOf(std::string_view url) {
  const size_t at = url.find("://");
  if (at == std::string_view::npos) return {};
  const std::string scheme = Lower(url.substr(0, at));
  url.remove_prefix(at + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const size_t user = url.rfind('@'); user != std::string_view::npos)
    url.remove_prefix(user + 1);
  const size_t colon = url.rfind(':');
  const bool has_port = colon != std::string_view::npos && url.find(']', colon) == url.npos;
  if (has_port) return scheme + "://" + Lower(url);
  return scheme + "://" + Lower(url) + (scheme == "https" ? ":443" : ":80");
}

StatusOr<Answer> Client::Call(const Request& request, const Deadline& deadline) {
  Request step = request;
  for (int redirects = 0;; ++redirects) {
    auto answer = CallOnce(step, deadline);
    if (!answer.ok()) return answer;
    const std::string target = request.body ? std::string() : connection_->Redirect();
    if (target.empty()) return answer;
    if (redirects == kMaxRedirects) return Unavailable("more than {} redirects", kMaxRedirects);
    const std::string from = PlaceOf(step.url), to = PlaceOf(target);
    if (from.starts_with("https:") && !to.starts_with("https:"))
      return FailedPrecondition("redirected from https to {}, not following", to);
    if (from != to) step.headers.clear();
    step.url = target;
  }
}

StatusOr<Answer> Client::CallOnce(const Request& request, const Deadline& deadline) {
  if (connection_ == nullptr) {
    ASSIGN_OR_RETURN(const CurlLibrary* curl, LoadCurl(), "HTTP");
    auto made = std::make_unique<Connection>(*curl);
    if (made->handle == nullptr) return Unavailable("libcurl cannot be set up");
    connection_ = std::move(made);
  }
  Connection& c = *connection_;
  std::unique_ptr<curl_slist, decltype(c.curl.slist_free_all)> headers(nullptr,
                                                                       c.curl.slist_free_all);
  const auto add = [&](const std::string& line) {
    curl_slist* const longer = c.curl.slist_append(headers.get(), line.c_str());
    CHECK(longer != nullptr, "out of memory");
    static_cast<void>(headers.release());
    headers.reset(longer);
  };
  for (const auto& line : request.headers) add(line);
  if (request.body)
    add("Expect:");  // curl would wait a second for a "100 Continue", which few
                     // servers send
  Sink sink{.max_bytes = request.max_bytes, .cancel = deadline.cancel.get()};
  c.Prepare(request, headers.get(), sink);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(Remaining(clock_, deadline));
  c.Set(CURLOPT_TIMEOUT_MS, std::max<long>(1, left.count()));
  const CURLcode code = c.curl.easy_perform(c.handle.get());
  if (code != CURLE_OK) return c.ToStatus(code, sink);
  long http_code = 0;
  c.curl.easy_getinfo(c.handle.get(), CURLINFO_RESPONSE_CODE, &http_code);
  sink.answer.code = static_cast<int>(http_code);
  return std::move(sink.answer);
}

}  // namespace splitlet::http
