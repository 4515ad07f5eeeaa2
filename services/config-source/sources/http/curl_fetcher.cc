#include "services/config-source/sources/http/curl_fetcher.h"

#include "libs/http/http.h"

namespace splitlet::config_source {
namespace {

class CurlFetcher final : public HttpFetcher {
 public:
  explicit CurlFetcher(const Clock& clock) : client_(clock) {}

  StatusOr<HttpReply> Get(const HttpRequest& request, Deadline deadline) override {
    http::Request call{.url = request.url, .max_bytes = request.max_bytes};
    for (const auto& [name, values] : request.headers)
      for (const auto& value : values)
        call.headers.push_back(value.empty() ? name + ";" : name + ": " + value);
    return client_.Call(call, deadline);
  }

 private:
  http::Client client_;
};

}  // namespace

std::unique_ptr<HttpFetcher> MakeCurlFetcher(const Clock& clock) {
  return std::make_unique<CurlFetcher>(clock);
}

}  // namespace splitlet::config_source
