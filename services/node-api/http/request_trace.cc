#include "services/node-api/http/request_trace.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "libs/base/span.h"
#include "services/node-api/http/call_options.h"

namespace splitlet::node_api {
namespace {

/// Records the status code in the span, and ends the span with the request.
class TracedResponder final : public https::Responder {
 public:
  TracedResponder(std::shared_ptr<https::Responder> inner, Span span)
      : inner_(std::move(inner)), span_(std::move(span)) {}

  void SetKnown() override { inner_->SetKnown(); }
  void OnGone(std::function<void()> gone) override { inner_->OnGone(std::move(gone)); }
  void Send(https::Answer answer) override {
    Record(answer.code);
    inner_->Send(std::move(answer));
  }
  std::shared_ptr<https::Stream> Begin(https::Answer head) override {
    Record(head.code);
    return inner_->Begin(std::move(head));
  }
  void PassTo(https::Backend backend) override { inner_->PassTo(std::move(backend)); }

 private:
  void Record(int code) { span_.Set("http.response.status_code", fmt::format("{}", code)); }

  const std::shared_ptr<https::Responder> inner_;
  Span span_;
};

Span BeginSpan(const std::string& name, const std::string& traceparent, Random& random) {
  if (traceparent.empty()) return Span::Begin(name, random);
  return {name, SpanKind::kServer, traceparent};
}

}  // namespace

void TraceRequest(RoutedRequest& asked, Random& random) {
  https::Request& request = asked.request;
  const std::string came =
      asked.surface == Surface::kSecured ? TraceparentOf(request) : std::string();
  Span span = BeginSpan(std::string(PathOf(asked.route)), came, random);
  if (!span.recorded()) return;
  request.SetHeader(kTraceparent, span.traceparent());
  span.Set("http.request.method", request.method);
  span.Set("url.path", asked.path);
  asked.responder = std::make_shared<TracedResponder>(std::move(asked.responder), std::move(span));
}

}  // namespace splitlet::node_api
