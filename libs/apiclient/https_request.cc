#include "libs/apiclient/https_request.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <utility>

#include "libs/base/one_line.h"

namespace splitlet::apiclient {
namespace {

constexpr size_t kMaxBody = 64u << 20;
constexpr size_t kMaxHead = 64u << 10;
constexpr long kBuffer = 64 << 10;
/// A connection is dead if sent data is not acknowledged for this long.
constexpr int kUserTimeoutMs = 30'000;
constexpr int kKeepIdleSeconds = 15, kKeepIntervalSeconds = 5;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::string_view Trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Splits "[::1]:6443"; the port is 443 by default.
struct HostAndPort {
  std::string host, port;
};
HostAndPort Split(const std::string& authority) {
  const size_t colon = authority.rfind(':');
  const size_t bracket = authority.rfind(']');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  if (!has_port) return {authority, "443"};
  return {authority.substr(0, colon), authority.substr(colon + 1)};
}

}  // namespace

/// HTTP has three forms of a date; senders use this one.
/// Source: RFC 9110.
std::optional<Duration> ParseRetryAfter(std::string_view value, WallTime now) {
  constexpr int64_t kMostSeconds = 24 * 3600;
  int64_t seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, seconds);
  if (error == std::errc{} && last == end && seconds >= 0)
    return std::chrono::seconds{std::min(seconds, kMostSeconds)};
  std::tm parts{};
  const std::string text(value);
  const char* const rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const WallTime at{std::chrono::seconds{::timegm(&parts)}};
  return std::clamp<Duration>(at - now, Duration{0}, std::chrono::seconds{kMostSeconds});
}

HttpsRequest::HttpsRequest(const http::CurlLibrary& curl, Call call)
    : curl_(curl),
      call_(std::move(call)),
      handle_(nullptr, curl.easy_cleanup),
      lines_(nullptr, curl.slist_free_all),
      connect_to_(nullptr, curl.slist_free_all) {}

template <class Value>
void HttpsRequest::Set(CURLoption option, Value value) {
  CHECK(curl_.easy_setopt(handle_.get(), option, value) == CURLE_OK, "curl has no option {}",
        static_cast<int>(option));
}

/// libcurl does not copy the bytes; ServerAccess owns them.
void HttpsRequest::SetBlob(CURLoption option, const std::string& bytes) {
  curl_blob blob{};
  blob.data = const_cast<char*>(bytes.data());
  blob.len = bytes.size();
  blob.flags = CURL_BLOB_NOCOPY;
  Set(option, &blob);
}

void HttpsRequest::AddLine(Lines& lines, const std::string& line) {
  curl_slist* const longer = curl_.slist_append(lines.get(), line.c_str());
  CHECK(longer != nullptr, "out of memory");
  static_cast<void>(lines.release());
  lines.reset(longer);
}

Status HttpsRequest::Prepare(Duration left) {
  handle_.reset(curl_.easy_init());
  if (handle_ == nullptr) return ResourceExhausted("libcurl has no handle");
  const Status placed = SetPlace();
  if (!placed.ok()) return placed;
  SetConnection(left);
  SetTls();
  SetProxy();
  SetRequest();
  return OkStatus();
}

/// If the certificate is for another name, that name is in the URL, and the connection goes to the
/// server's address.
Status HttpsRequest::SetPlace() {
  const ServerAccess& access = *call_.access;
  std::string url = access.server;
  if (!access.tls_server_name.empty() && url.starts_with("https://")) {
    const auto [host, port] = Split(access.host);
    const std::string prefix =
        access.server.substr(std::string_view("https://").size() + access.host.size());
    url = fmt::format("https://{}:{}{}", access.tls_server_name, port, prefix);
    AddLine(connect_to_, fmt::format("{}:{}:{}:{}", access.tls_server_name, port, host, port));
    Set(CURLOPT_CONNECT_TO, connect_to_.get());
    AddLine(lines_, "Host: " + access.host);
  }
  url += call_.request.path;
  if (curl_.easy_setopt(handle_.get(), CURLOPT_URL, url.c_str()) != CURLE_OK)
    return InvalidArgument("{}: not the address of a server", access.server);
  return OkStatus();
}

void HttpsRequest::SetConnection(Duration left) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  Set(CURLOPT_TIMEOUT_MS, std::max<long>(1, ms));
  Set(CURLOPT_CONNECTTIMEOUT_MS, std::max<long>(1, ms));
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_QUICK_EXIT, 1L);  // do not wait for a name lookup
  Set(CURLOPT_ERRORBUFFER, error_.data());
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  Set(CURLOPT_PIPEWAIT, 1L);  // wait for a connection that is being made, and use a stream of it
  Set(CURLOPT_BUFFERSIZE, kBuffer);
  Set(CURLOPT_SOCKOPTFUNCTION, &HttpsRequest::SocketCallback);
  Set(CURLOPT_SOCKOPTDATA, &call_.connections);
  Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

void HttpsRequest::SetTls() {
  const ServerAccess& access = *call_.access;
  Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Set(CURLOPT_SSL_VERIFYPEER, access.insecure ? 0L : 1L);
  Set(CURLOPT_SSL_VERIFYHOST, access.insecure ? 0L : 2L);
  if (access.insecure || !access.ca.empty()) {
    // The machine's own CAs are not trusted in addition, and take long to read.
    Set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!access.ca.empty()) SetBlob(CURLOPT_CAINFO_BLOB, access.ca);
  if (!access.certificate.empty()) SetBlob(CURLOPT_SSLCERT_BLOB, access.certificate);
  if (!access.key.empty()) SetBlob(CURLOPT_SSLKEY_BLOB, access.key);
}

/// Without a proxy in the kubeconfig libcurl follows the environment.
void HttpsRequest::SetProxy() {
  constexpr std::string_view kSocks = "socks5://";
  std::string proxy = call_.access->proxy_url;
  if (proxy.empty()) return;
  // The proxy resolves names, as with Go's client.
  if (proxy.starts_with(kSocks)) proxy.replace(0, kSocks.size(), "socks5h://");
  Set(CURLOPT_PROXY, proxy.c_str());
  Set(CURLOPT_NOPROXY, "");
}

void HttpsRequest::SetRequest() {
  const Request& request = call_.request;
  if (!request.accept.empty()) AddLine(lines_, "Accept: " + request.accept);
  if (!request.content_type.empty()) AddLine(lines_, "Content-Type: " + request.content_type);
  if (!call_.access->authorization.empty())
    AddLine(lines_, "Authorization: " + call_.access->authorization);
  AddLine(lines_, "Expect:");  // curl would wait a second for a "100 Continue"
  const bool has_body = !request.body.empty() || request.method == "POST" ||
                        request.method == "PUT" || request.method == "PATCH";
  if (has_body) {
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    Set(CURLOPT_POSTFIELDS, request.body.data());
  }
  Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  Set(CURLOPT_HTTPHEADER, lines_.get());
  Set(CURLOPT_USERAGENT, call_.user_agent.c_str());
  if (call_.access->compression && !call_.on_data) Set(CURLOPT_ACCEPT_ENCODING, "gzip");
  Set(CURLOPT_PATH_AS_IS, 1L);
  Set(CURLOPT_HEADERFUNCTION, &HttpsRequest::HeaderCallback);
  Set(CURLOPT_HEADERDATA, this);
  Set(CURLOPT_WRITEFUNCTION, &HttpsRequest::BodyCallback);
  Set(CURLOPT_WRITEDATA, this);
}

int HttpsRequest::SocketCallback(void* user, curl_socket_t socket, curlsocktype /*purpose*/) {
  const auto set = [socket](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalSeconds);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  static_cast<Connections*>(user)->OnOpened(socket);
  return CURL_SOCKOPT_OK;
}

size_t HttpsRequest::HeaderCallback(const char* data, size_t size, size_t count, void* user) {
  return static_cast<HttpsRequest*>(user)->OnHeader({data, size * count});
}

size_t HttpsRequest::BodyCallback(const char* data, size_t size, size_t count, void* user) {
  return static_cast<HttpsRequest*>(user)->OnBody({data, size * count});
}

size_t HttpsRequest::OnHeader(std::string_view line) {
  head_bytes_ += line.size();
  too_long_ = too_long_ || head_bytes_ > kMaxHead;
  if (too_long_) return 0;
  if (line.starts_with("HTTP/")) {  // status line of the answer, or of a "100 Continue" before it
    long code = 0;
    curl_.easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &code);
    answer_ = {.code = static_cast<int>(code)};
    return line.size();
  }
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    const std::string name = Lower(line.substr(0, colon));
    const std::string_view value = Trim(line.substr(colon + 1));
    if (name == "content-type") answer_.content_type = value;
    if (name == "retry-after") answer_.retry_after = ParseRetryAfter(value, call_.now);
  }
  if (!Trim(line).empty() || answer_.code < 200) return line.size();
  head_is_over_ = true;
  if (Streams()) call_.on_data({});
  return line.size();
}

size_t HttpsRequest::OnBody(std::string_view data) {
  if (Streams()) {
    if (!data.empty()) call_.on_data(data);
    return data.size();
  }
  too_long_ = answer_.body.size() + data.size() > kMaxBody;
  if (too_long_) return 0;
  answer_.body += data;
  return data.size();
}

Status HttpsRequest::ErrorOf(CURLcode code) const {
  if (too_long_) return ResourceExhausted("the answer is too long");
  const std::string why = OneLine(error_[0] != '\0' ? error_.data() : curl_.easy_strerror(code));
  switch (static_cast<int>(code)) {
    case CURLE_OPERATION_TIMEDOUT: return DeadlineExceeded("{}: {}", call_.access->host, why);
    case CURLE_SSL_CERTPROBLEM: return Unauthenticated("client certificate: {}", why);
    case CURLE_URL_MALFORMAT:
      return InvalidArgument("{}: not the address of a server", call_.access->server);
    default: return Unavailable("{}: {}", call_.access->host, why);
  }
}

Duration HttpsRequest::Waited() const {
  curl_off_t sent_us = 0, all_us = 0;
  curl_.easy_getinfo(handle_.get(), CURLINFO_PRETRANSFER_TIME_T, &sent_us);
  curl_.easy_getinfo(handle_.get(), CURLINFO_TOTAL_TIME_T, &all_us);
  return sent_us == 0 ? Duration{0} : Duration{std::chrono::microseconds{all_us - sent_us}};
}

StatusOr<Response> HttpsRequest::TakeAnswer(CURLcode code) {
  if (code != CURLE_OK) return ErrorOf(code);
  if (!head_is_over_)
    return Unavailable("{}: the connection ended in the head", call_.access->host);
  return std::move(answer_);
}

}  // namespace splitlet::apiclient
