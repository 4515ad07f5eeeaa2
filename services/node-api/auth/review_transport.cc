#include "services/node-api/auth/review_transport.h"

#include <utility>

namespace splitlet::node_api {

void ReviewTransport::Begin(apiclient::Request request, Deadline deadline, Done done) {
  auto& asked = request.path.ends_with("/tokenreviews") ? metrics_.tokens : metrics_.rights;
  below_->Begin(std::move(request), std::move(deadline),
                [this, &asked, began = clock_.Now(),
                 done = std::move(done)](StatusOr<apiclient::Response> answer) {
                  const std::chrono::duration<double> took = clock_.Now() - began;
                  asked.Count(answer.ok() ? answer->code : 0, took.count());
                  done(std::move(answer));
                });
}

/// A review is never a stream, so nothing is counted.
void ReviewTransport::BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                                  Done done) {
  below_->BeginStream(std::move(request), std::move(deadline), std::move(on_data), std::move(done));
}

}  // namespace splitlet::node_api
