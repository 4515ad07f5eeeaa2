#include "services/config-source/curl_fetcher.h"

#include <curl/curl.h>

#include <algorithm>

namespace splitlet::config_source {
namespace {

struct CloseHandle {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, CloseHandle>;
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

/// What libcurl's callbacks fill.
struct Sink {
  uint64_t max_bytes = 0;
  bool too_long = false;
  std::string status;
  std::string body;
};

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto& sink = *static_cast<Sink*>(user);
  const size_t bytes = size * count;
  if (sink.body.size() + bytes >= sink.max_bytes) {
    sink.too_long = true;
    return 0;
  }
  sink.body.append(data, bytes);
  return bytes;
}

/// Keeps what follows the version in the last status line: of the answer after all redirects.
size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    auto& sink = *static_cast<Sink*>(user);
    const size_t blank = line.find(' ');
    sink.status = blank == line.npos ? std::string() : std::string(line.substr(blank + 1));
    while (!sink.status.empty() && static_cast<unsigned char>(sink.status.back()) <= ' ')
      sink.status.pop_back();
    sink.body.clear();
  }
  return size * count;
}

HeaderList MakeHeaders(const HttpRequest& request) {
  HeaderList list;
  for (const auto& [name, values] : request.headers) {
    for (const auto& value : values) {
      const std::string line = value.empty() ? name + ";" : name + ": " + value;
      curl_slist* longer = curl_slist_append(list.get(), line.c_str());
      CHECK(longer != nullptr, "out of memory");
      static_cast<void>(list.release());
      list.reset(longer);
    }
  }
  return list;
}

Status ToStatus(CURLcode code, const Sink& sink, const char* detail) {
  if (sink.too_long) return ResourceExhausted("the read limit is reached");
  const std::string why = *detail != '\0' ? detail : curl_easy_strerror(code);
  return MakeStatus(
      code == CURLE_OPERATION_TIMEDOUT ? StatusCode::kDeadlineExceeded : StatusCode::kUnavailable,
      std::string_view(why));
}

class CurlFetcher final : public HttpFetcher {
 public:
  explicit CurlFetcher(const Clock& clock) : clock_(clock) {}

  StatusOr<HttpReply> Get(const HttpRequest& request, Deadline deadline) override {
    if (handle_ == nullptr) handle_.reset(curl_easy_init());
    if (handle_ == nullptr) return Unavailable("libcurl cannot be set up");
    CURL* curl = handle_.get();
    Sink sink{.max_bytes = request.max_bytes};
    char detail[CURL_ERROR_SIZE] = "";
    const HeaderList headers = MakeHeaders(request);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(Remaining(clock_, deadline)).count();
    curl_easy_reset(curl);  // keeps the connection
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, std::max<long>(1, left));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnBody);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, OnHeader);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &sink);
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK) return ToStatus(code, sink, detail);
    long answer = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
    return HttpReply{static_cast<int>(answer), std::move(sink.status), std::move(sink.body)};
  }

 private:
  const Clock& clock_;
  Handle handle_;
};

}  // namespace

std::unique_ptr<HttpFetcher> MakeCurlFetcher(const Clock& clock) {
  return std::make_unique<CurlFetcher>(clock);
}

}  // namespace splitlet::config_source
