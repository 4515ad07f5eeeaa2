#include "libs/http/transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <utility>

#include "libs/http/lower.h"

namespace splitlet::http {
namespace {

constexpr int kMaxRequests = 10;
constexpr size_t kMaxHead = 64u << 10;
constexpr long kBuffer = 4096;
constexpr long kUploadBuffer = 16384;

std::string_view Trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The value of a header line of this name.
std::optional<std::string_view> ValueOf(std::string_view line, std::string_view name) {
  const size_t colon = line.find(':');
  if (colon != name.size() || Lower(line.substr(0, colon)) != name) return std::nullopt;
  return Trim(line.substr(colon + 1));
}

int CodeOf(std::string_view status_line) {
  const size_t blank = status_line.find(' ');
  if (blank == std::string_view::npos) return 0;
  const std::string_view rest = status_line.substr(blank + 1);
  int code = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), code);
  return code;
}

bool IsRedirect(int code) {
  return code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
}

bool IsAddress(const std::string& host) {
  in6_addr any{};
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  const std::string bare = in_brackets ? host.substr(1, host.size() - 2) : host;
  return ::inet_pton(AF_INET, bare.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, bare.substr(0, bare.find('%')).c_str(), &any) == 1;
}

/// "connection refused"
std::string ReasonOf(int error) {
  std::string text(Message(ErrnoStatus(error)));
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

std::optional<std::string> FindHeader(std::string_view head, std::string_view name) {
  std::optional<std::string> found;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    if (const auto value = ValueOf(head.substr(0, end), name)) found = std::string(*value);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return found;
}

Transfer::Transfer(const CurlLibrary& curl, Exchange exchange)
    : curl_(curl),
      exchange_(std::move(exchange)),
      handle_(nullptr, curl.easy_cleanup),
      lines_(nullptr, curl.slist_free_all) {
  outcome_.url = exchange_.url;
  host_ = Resolve(exchange_.url).host;
  has_name_ = !IsAddress(host_);
}

template <class Value>
void Transfer::Set(CURLoption option, Value value) {
  CHECK(curl_.easy_setopt(handle_.get(), option, value) == CURLE_OK, "curl has no option {}",
        static_cast<int>(option));
}

Status Transfer::Prepare(Duration left) {
  if (host_.empty()) return InvalidArgument("invalid URL");
  handle_.reset(curl_.easy_init());
  if (handle_ == nullptr) return ResourceExhausted("libcurl has no handle");
  ++requests_;
  error_[0] = '\0';
  location_.clear();
  too_long_ = enough_ = false;
  socket_error_ = 0;
  outcome_.stage = Outcome::Stage::kConnecting;
  outcome_.code = 0;
  outcome_.head.clear();
  outcome_.body.clear();
  Set(CURLOPT_PRIVATE, this);
  Set(CURLOPT_URL, outcome_.url.c_str());
  SetConnection(left);
  SetRequest();
  return OkStatus();
}

void Transfer::SetConnection(Duration left) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  Set(CURLOPT_TIMEOUT_MS, std::max<long>(1, ms));
  Set(CURLOPT_CONNECTTIMEOUT_MS, std::max<long>(1, ms));
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_QUICK_EXIT, 1L);  // do not wait for a name lookup
  Set(CURLOPT_ERRORBUFFER, error_.data());
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  Set(CURLOPT_FRESH_CONNECT, 1L);
  Set(CURLOPT_FORBID_REUSE, 1L);
  Set(CURLOPT_PROXY, "");
  Set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  Set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::OpenSocket);
  Set(CURLOPT_OPENSOCKETDATA, this);
  Set(CURLOPT_BUFFERSIZE, kBuffer);
  Set(CURLOPT_SSL_VERIFYPEER, 0L);
  Set(CURLOPT_SSL_VERIFYHOST, 0L);
  // Nothing is verified, so the machine's CAs are not read, which would take longer than a
  // handshake.
  Set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
  Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
}

void Transfer::SetRequest() {
  if (exchange_.protocol == Exchange::Protocol::kConnect) return Set(CURLOPT_CONNECT_ONLY, 1L);
  if (exchange_.protocol == Exchange::Protocol::kHttp2)
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
  lines_.reset();
  const auto add = [this](const std::string& line) {
    curl_slist* const longer = curl_.slist_append(lines_.get(), line.c_str());
    CHECK(longer != nullptr, "out of memory");
    static_cast<void>(lines_.release());
    lines_.reset(longer);
  };
  for (const auto& line : exchange_.headers) add(line);
  if (exchange_.body) {
    add("Expect:");  // curl would wait a second for a "100 Continue", which few servers send
    Set(CURLOPT_UPLOAD_BUFFERSIZE, kUploadBuffer);
    Set(CURLOPT_POSTFIELDSIZE, static_cast<long>(exchange_.body->size()));
    Set(CURLOPT_POSTFIELDS, exchange_.body->data());
  }
  Set(CURLOPT_HTTPHEADER, lines_.get());
  Set(CURLOPT_PATH_AS_IS, 1L);
  Set(CURLOPT_HEADERFUNCTION, &Transfer::HeaderCallback);
  Set(CURLOPT_HEADERDATA, this);
  Set(CURLOPT_WRITEFUNCTION, &Transfer::BodyCallback);
  Set(CURLOPT_WRITEDATA, this);
}

/// Closing a socket must not wait for its peer. A kubelet sets SO_LINGER, whose close() blocks for
/// a second if the peer does not acknowledge; here it would delay all calls.
int Transfer::OpenSocket(void* user, curlsocktype /*purpose*/, curl_sockaddr* address) {
  const int opened = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (opened < 0) {
    static_cast<Transfer*>(user)->socket_error_ = errno;
    return CURL_SOCKET_BAD;
  }
  const int seconds = 1;
  ::setsockopt(opened, IPPROTO_TCP, TCP_LINGER2, &seconds, sizeof(seconds));
  return opened;
}

size_t Transfer::HeaderCallback(const char* data, size_t size, size_t count, void* user) {
  return static_cast<Transfer*>(user)->OnHeader({data, size * count});
}

size_t Transfer::BodyCallback(const char* data, size_t size, size_t count, void* user) {
  return static_cast<Transfer*>(user)->OnBody({data, size * count});
}

size_t Transfer::OnHeader(std::string_view line) {
  const bool first = line.starts_with("HTTP/") && outcome_.stage != Outcome::Stage::kReadingBody;
  if (first) {  // status line of the answer, or of a "100 Continue" before it
    outcome_.code = CodeOf(line);
    location_.clear();
  }
  if (outcome_.head.size() + line.size() > kMaxHead) {
    too_long_ = true;
    return 0;
  }
  outcome_.head += line;
  if (const auto target = ValueOf(line, "location")) location_ = std::string(*target);
  const bool over = line == "\r\n" || line == "\n";
  if (!over || outcome_.code < 200) return line.size();
  outcome_.stage = Outcome::Stage::kReadingBody;
  // The body of a redirect to the same host is dropped.
  const bool follows = !exchange_.body && IsRedirect(outcome_.code) && !location_.empty() &&
                       Resolve(location_).host == host_;
  if (!follows) location_.clear();
  enough_ = enough_ || follows || exchange_.headers_only;
  return enough_ ? 0 : line.size();
}

size_t Transfer::OnBody(std::string_view data) {
  const size_t room = exchange_.max_bytes - outcome_.body.size();
  outcome_.body += data.substr(0, room);
  enough_ = outcome_.body.size() == exchange_.max_bytes;
  return enough_ ? 0 : data.size();
}

Transfer::Place Transfer::Resolve(const std::string& target) const {
  const std::unique_ptr<CURLU, decltype(CurlLibrary::url_cleanup)> url(curl_.url(),
                                                                       curl_.url_cleanup);
  CHECK(url != nullptr, "out of memory");
  for (const std::string* part : {&outcome_.url, &target})
    if (curl_.url_set(url.get(), CURLUPART_URL, part->c_str(),
                      CURLU_PATH_AS_IS | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
      return {};
  const auto get = [&](CURLUPart part) {
    char* text = nullptr;
    if (curl_.url_get(url.get(), part, &text, 0) != CURLUE_OK) return std::string();
    const std::unique_ptr<char, decltype(CurlLibrary::free)> owned(text, curl_.free);
    return std::string(text);
  };
  return {get(CURLUPART_URL), get(CURLUPART_SCHEME), Lower(get(CURLUPART_HOST))};
}

bool Transfer::OnEnded(CURLcode code) {
  if (enough_) code = CURLE_OK;
  if (outcome_.stage == Outcome::Stage::kConnecting) {
    curl_off_t connected = 0;
    curl_.easy_getinfo(handle_.get(), CURLINFO_CONNECT_TIME_T, &connected);
    if (connected > 0) outcome_.stage = Outcome::Stage::kAwaitingHeaders;
  }
  outcome_.status = StatusOf(code);
  return !(outcome_.status.ok() && !location_.empty() && Follow());
}

bool Transfer::Follow() {
  Place next = Resolve(location_);
  outcome_.url = next.url;
  outcome_.stage = Outcome::Stage::kConnecting;
  if (requests_ >= kMaxRequests) {
    outcome_.status = ResourceExhausted("stopped after {} redirects", kMaxRequests);
    return false;
  }
  if (next.scheme != "http" && next.scheme != "https") {
    outcome_.status = Unavailable("unsupported protocol scheme \"{}\"", next.scheme);
    return false;
  }
  // A host name given with the request applies to the first server only.
  if (location_.find("://") != std::string::npos)
    std::erase_if(exchange_.headers,
                  [](const std::string& line) { return ValueOf(line, "host").has_value(); });
  return true;
}

long Transfer::Info(CURLINFO what) const {
  long value = 0;
  curl_.easy_getinfo(handle_.get(), what, &value);
  return value;
}

std::string Transfer::HostAndPort() const {
  const size_t at = outcome_.url.find("://");
  std::string_view rest(outcome_.url);
  if (at != std::string::npos) rest.remove_prefix(at + 3);
  return std::string(rest.substr(0, rest.find_first_of("/?#")));
}

bool Transfer::MayLookUpStill() const {
  curl_off_t looked_up = 0;
  if (handle_ != nullptr) curl_.easy_getinfo(handle_.get(), CURLINFO_NAMELOOKUP_TIME_T, &looked_up);
  return has_name_ && outcome_.status.code() != StatusCode::kUnavailable && !outcome_.status.ok() &&
         looked_up == 0;
}

Status Transfer::StatusOf(CURLcode code) const {
  const std::string why = error_[0] != '\0' ? error_.data() : curl_.easy_strerror(code);
  if (too_long_)
    return ResourceExhausted("net/http: server response headers exceeded {} bytes; aborted",
                             kMaxHead);
  switch (static_cast<int>(code)) {
    case CURLE_OK: return OkStatus();
    case CURLE_COULDNT_CONNECT: {
      if (socket_error_ == EMFILE || socket_error_ == ENFILE || socket_error_ == ENOBUFS)
        return Aborted("socket: {}", ReasonOf(socket_error_));
      const int error = static_cast<int>(Info(CURLINFO_OS_ERRNO));
      return Unavailable("dial tcp {}: connect: {}", HostAndPort(),
                         error == 0 ? why : ReasonOf(error));
    }
    case CURLE_COULDNT_RESOLVE_HOST: return Unavailable("dial tcp: lookup {}: no such host", host_);
    case CURLE_OPERATION_TIMEDOUT:
      if (exchange_.protocol == Exchange::Protocol::kConnect)
        return DeadlineExceeded("dial tcp {}: i/o timeout", HostAndPort());
      return DeadlineExceeded("context deadline exceeded ({})",
                              outcome_.stage == Outcome::Stage::kReadingBody
                                  ? "Client.Timeout or context cancellation while reading body"
                                  : "Client.Timeout exceeded while awaiting headers");
    case CURLE_GOT_NOTHING: return Unavailable("EOF");
    case CURLE_PARTIAL_FILE: return Unavailable("unexpected EOF");
    case CURLE_URL_MALFORMAT: return InvalidArgument("invalid URL: {}", why);
    case CURLE_UNSUPPORTED_PROTOCOL:  // libcurl's code for an answer that looks like HTTP/0.9
    case CURLE_WEIRD_SERVER_REPLY: return Unavailable("malformed HTTP response");
    default: break;
  }
  // OpenSSL's text for a record that is not TLS.
  if (code == CURLE_SSL_CONNECT_ERROR && why.find("wrong version number") != std::string::npos)
    return Unimplemented("http: server gave HTTP response to HTTPS client");
  return Unavailable("{}", why);
}

Outcome Transfer::TakeOutcome() {
  handle_.reset();
  return std::move(outcome_);
}

}  // namespace splitlet::http
