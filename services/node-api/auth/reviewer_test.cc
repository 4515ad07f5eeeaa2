#include "services/node-api/auth/reviewer.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "libs/apiclient/client.h"
#include "libs/apiclient/scripted_transport.h"
#include "services/node-api/auth/review_transport.h"

namespace splitlet::node_api {
namespace {

using apiclient::Answered;

class ReviewMetricsTest : public testing::Test {
 protected:
  /// The metrics of "authn" or "authz" with this code, as text.
  std::string Seen(const std::string& kind, const std::string& code) const {
    std::string seen;
    for (const auto& family : registry.Collect())
      for (const auto& metric : family.metric) {
        if (metric.label.at(0).name != "code" || metric.label.at(0).value != code) continue;
        if (family.name == "apiserver_delegated_" + kind + "_request_total")
          seen += fmt::format("{} asked ", metric.counter.value);
        if (family.name == "apiserver_delegated_" + kind + "_request_duration_seconds")
          seen += fmt::format("{} timed ", metric.histogram.sample_count);
      }
    return seen;
  }

  FakeClock clock;
  prometheus::Registry registry;
};

TEST_F(ReviewMetricsTest, EachAnswerIsCountedByItsCode) {
  auto scripted = std::make_unique<apiclient::ScriptedTransport>();
  auto& answers = scripted->answers;
  ReviewTransport transport(clock, std::move(scripted), registry);
  apiclient::Client client(clock, transport, {.content = apiclient::ContentType::kJson});
  const auto reviewer = MakeReviewer(client);
  const auto reviewed = [](const char* kind) {
    return fmt::format(R"({{"apiVersion":"v1","kind":"{}","status":{{}}}})", kind);
  };
  const struct {
    StatusOr<apiclient::Response> of_token, of_access;
    const char* code;
  } kCases[] = {
      {Answered(201, reviewed("TokenReview")), Answered(201, reviewed("SubjectAccessReview")),
       "201"},
      {Answered(200, reviewed("TokenReview")), Answered(200, reviewed("SubjectAccessReview")),
       "200"},
      {Answered(403, "{}"), Answered(403, "{}"), "403"},
      {Answered(500, "{}"), Answered(500, "{}"), "500"},
      {Unavailable("it is away"), Unavailable("it is away"), "<error>"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.code);
    answers = {c.of_token, c.of_access};
    const auto who = reviewer->ReviewToken("token", After(clock, 1s));
    EXPECT_EQ(Seen("authn", c.code), "1 asked 1 timed ");
    EXPECT_EQ(Seen("authz", c.code), "");
    const auto may = reviewer->MayAccess({.verb = "get"}, After(clock, 1s));
    EXPECT_EQ(Seen("authz", c.code), "1 asked 1 timed ");
    EXPECT_EQ(who.ok() && may.ok(), c.code[0] == '2') << who.status() << ", " << may.status();
  }
}

TEST_F(ReviewMetricsTest, TheTimeIsThatOfTheAnswer) {
  auto scripted = std::make_unique<apiclient::ScriptedTransport>();
  auto& asked = scripted->asked;
  ReviewTransport transport(clock, std::move(scripted), registry);
  transport.Begin({.method = "POST", .path = "/apis/authentication.k8s.io/v1/tokenreviews"},
                  After(clock, 10s), [](const StatusOr<apiclient::Response>&) {});
  clock.Advance(1200ms);
  EXPECT_EQ(Seen("authn", "201"), "");
  asked.at(0).done(Answered(201));
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  const std::string name = "apiserver_delegated_authn_request_duration_seconds";
  for (const char* line : {"_bucket{code=\"201\",le=\"0.25\"} 0",
                           "_bucket{code=\"201\",le=\"1\"} 0", "_bucket{code=\"201\",le=\"1.5\"} 1",
                           "_bucket{code=\"201\",le=\"10\"} 1", "_sum{code=\"201\"} 1.2"})
    EXPECT_NE(text.find(name + line + "\n"), text.npos) << line << "\n" << text;
}

}  // namespace
}  // namespace splitlet::node_api
