#include "libs/trace/http_sender.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "libs/base/cancel.h"
#include "libs/trace/otlp.h"

namespace splitlet::trace {
namespace {

constexpr size_t kMaxAnswerBytes = 64 << 10;

struct CloseHandle {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

size_t KeepAnswer(const char* data, size_t size, size_t count, void* to) {
  auto& answer = *static_cast<std::string*>(to);
  if (answer.size() + size * count > kMaxAnswerBytes) return 0;
  answer.append(data, size * count);
  return size * count;
}

Status StatusOfCurl(CURLcode code, const std::string& text) {
  if (code == CURLE_ABORTED_BY_CALLBACK) return Cancelled("given up");
  if (code == CURLE_OPERATION_TIMEDOUT) return DeadlineExceeded("no answer in time");
  return Unavailable("{}", text.empty() ? curl_easy_strerror(code) : text);
}

Status StatusOfHttp(long code, const std::string& answer) {
  if (code >= 200 && code < 300) return CheckAnswer(answer);
  if (code == 429 || code == 502 || code == 503 || code == 504)
    return Unavailable("HTTP status {}", code);
  return InvalidArgument("HTTP status {}", code);
}

}  // namespace

struct HttpSender::Handle {
  std::unique_ptr<CURL, CloseHandle> curl{curl_easy_init()};
  std::unique_ptr<curl_slist, FreeList> headers;
  std::array<char, CURL_ERROR_SIZE> error{};
  std::string answer;
  std::shared_ptr<CancelToken> cancel;

  void AddHeader(const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
    CHECK(longer != nullptr, "out of memory");
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  template <class Value>
  void Set(CURLoption option, Value value) {
    CHECK(curl_easy_setopt(curl.get(), option, value) == CURLE_OK, "curl has no such option");
  }
};

HttpSender::HttpSender(const Collector& collector, const Clock& clock)
    : clock_(clock), handle_(std::make_unique<Handle>()) {
  Handle& h = *handle_;
  CHECK(h.curl != nullptr, "out of memory");
  h.AddHeader("Content-Type: application/x-protobuf");
  h.AddHeader("Expect:");  // curl would wait a second for a 100 that no collector sends
  for (const auto& [name, value] : collector.headers) h.AddHeader(name + ": " + value);
  h.Set(CURLOPT_URL, collector.endpoint.c_str());
  h.Set(CURLOPT_HTTPHEADER, h.headers.get());
  h.Set(CURLOPT_NOSIGNAL, 1L);
  h.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  h.Set(CURLOPT_ERRORBUFFER, h.error.data());
  h.Set(CURLOPT_WRITEFUNCTION, KeepAnswer);
  h.Set(CURLOPT_WRITEDATA, &h.answer);
  h.Set(CURLOPT_NOPROGRESS, 0L);
  // Asked at least once a second.
  h.Set(
      CURLOPT_XFERINFOFUNCTION,
      +[](void* cancel, curl_off_t, curl_off_t, curl_off_t, curl_off_t) -> int {
        const auto& token = *static_cast<std::shared_ptr<CancelToken>*>(cancel);
        return token != nullptr && token->cancelled() ? 1 : 0;
      });
  h.Set(CURLOPT_XFERINFODATA, &h.cancel);
}

HttpSender::~HttpSender() = default;

Status HttpSender::Send(const otlp::ExportTraceServiceRequest& request, const Deadline& deadline) {
  const std::string body = BytesOf(request);
  Handle& h = *handle_;
  h.answer.clear();
  h.error[0] = '\0';
  h.cancel = deadline.cancel;
  const auto left = std::max<int64_t>(Remaining(clock_, deadline) / 1ms, 1);
  h.Set(CURLOPT_TIMEOUT_MS, static_cast<long>(left));
  h.Set(CURLOPT_POSTFIELDS, body.data());
  h.Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  const CURLcode code = curl_easy_perform(h.curl.get());
  if (code != CURLE_OK) return StatusOfCurl(code, h.error.data());
  long http_code = 0;
  curl_easy_getinfo(h.curl.get(), CURLINFO_RESPONSE_CODE, &http_code);
  return StatusOfHttp(http_code, h.answer);
}

}  // namespace splitlet::trace
