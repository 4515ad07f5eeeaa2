#include "libs/base/trace.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "libs/rpc/rpc.h"
#include "libs/trace/exporter.h"
#include "libs/trace/fake_collector.h"
#include "opentelemetry/trace_service.grpc.pb.h"

namespace splitlet::trace {
namespace {

bool Until(const std::function<bool()>& condition) {
  const RealClock clock;
  const Deadline deadline = After(clock, 20s);
  while (!condition()) {
    if (Remaining(clock, deadline) == Duration{0}) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

struct World {
  explicit World(const Collector& collector, int64_t per_million = 1'000'000) {
    exporter = std::make_shared<Exporter>(Exporter::Deps{.clock = clock,
                                                         .log = Log(log),
                                                         .metrics = metrics,
                                                         .sender = MakeSender(collector, clock)},
                                          Exporter::Options{.origin = {"pleg", "node-a", "1.2.3"},
                                                            .endpoint = collector.endpoint,
                                                            .sample_per_million = per_million});
    SpanSink::SetCurrent(exporter);
  }
  ~World() { Stop(); }
  void Stop() {
    SpanSink::SetCurrent(nullptr);
    exporter.reset();
  }
  Span Begin() { return Span::Begin("begin", random); }
  size_t Warnings() const {
    size_t count = 0;
    for (const auto& line : log.lines()) count += line.level == LogLevel::kWarn ? 1 : 0;
    return count;
  }

  RealClock clock;
  FakeLogSink log;
  prometheus::Registry registry;
  TraceMetrics metrics{registry};
  Random random{3};
  std::shared_ptr<Exporter> exporter;
};

Collector To(const FakeCollector& fake) {
  return {.endpoint = fake.url() + "/v1/traces", .headers = {{"x-key", "secret"}}};
}

TEST(Exporting, SpansArriveWithIdsKindAttributesAndTheProcessTheyAreOf) {
  FakeCollector fake;
  World world(To(fake));
  Span first = world.Begin();
  {
    Span second("put desired", SpanKind::kProducer, first.traceparent());
    second.Set("splitlet.key", "u1");
    second.End(Unavailable("no bus"));
  }
  const std::string trace = TraceIdOf(first.traceparent());
  first.End();
  ASSERT_TRUE(Until([&] { return fake.spans().size() == 2; }));
  const auto spans = fake.spans();
  EXPECT_EQ(spans[0].name, "put desired");
  EXPECT_EQ(spans[0].service, "splitlet-pleg");
  EXPECT_EQ(spans[0].trace_id, trace);
  EXPECT_EQ(spans[0].parent_id, spans[1].span_id);
  EXPECT_EQ(spans[0].kind, 4) << "producer";
  EXPECT_EQ(spans[0].attributes.at("splitlet.key"), "u1");
  EXPECT_TRUE(spans[0].error);
  EXPECT_EQ(spans[1].parent_id, "");
  EXPECT_FALSE(spans[1].error);
  EXPECT_NE(fake.last_head().find("POST /v1/traces HTTP/1.1\r\n"), std::string::npos);
  EXPECT_NE(fake.last_head().find("Content-Type: application/x-protobuf\r\n"), std::string::npos);
  EXPECT_NE(fake.last_head().find("x-key: secret\r\n"), std::string::npos);
  ASSERT_TRUE(Until([&] { return world.metrics.sent.Value() == 2; }));
  EXPECT_TRUE(world.log.lines().empty()) << "all went well";
}

TEST(Exporting, WhatWaitsIsSentAtTheEnd) {
  FakeCollector fake;
  World world(To(fake));
  for (int i = 0; i < 1000; ++i) world.Begin().End();
  world.Stop();
  EXPECT_EQ(fake.spans().size(), 1000U);
  EXPECT_LE(fake.requests(), 3U) << "in batches";
  EXPECT_EQ(world.metrics.sent.Value(), 1000);
  EXPECT_EQ(world.metrics.queued.Value(), 0);
}

TEST(Exporting, ACollectorThatRefusesCostsSpansAndOneLine) {
  FakeCollector fake;
  fake.Answer(400);
  World world(To(fake));
  for (int i = 1; i <= 2; ++i) {
    world.Begin().End();
    ASSERT_TRUE(Until([&] { return world.metrics.failed.Value() == i; }));
  }
  EXPECT_EQ(fake.requests(), 2U) << "a refusal is not tried again";
  EXPECT_EQ(world.Warnings(), 1U);
  fake.Answer(200);
  world.Begin().End();
  ASSERT_TRUE(Until([&] { return world.metrics.sent.Value() == 1; }));
  ASSERT_TRUE(Until([&] { return world.log.lines().size() == 2; }));
  EXPECT_EQ(world.log.lines().back().message, "exporting traces again");
}

TEST(Exporting, ACollectorThatIsBusyIsTriedAgain) {
  FakeCollector fake;
  fake.Answer(503);
  World world(To(fake));
  world.Begin().End();
  ASSERT_TRUE(Until([&] { return fake.requests() >= 1; }));
  fake.Answer(200);
  ASSERT_TRUE(Until([&] { return world.metrics.sent.Value() == 1; }));
  EXPECT_EQ(world.metrics.failed.Value(), 0);
}

TEST(Exporting, AHungCollectorHoldsUpNeitherTheWorkNorTheEnd) {
  FakeCollector fake;
  fake.Answer(0);
  World world(To(fake));
  world.Begin().End();
  ASSERT_TRUE(Until([&] { return fake.requests() == 1; }));
  constexpr size_t kMore = Exporter::kMaxQueued + 10;
  for (size_t i = 0; i < kMore; ++i) world.Begin().End();
  EXPECT_EQ(world.metrics.dropped.Value(), 10) << "the queue is bounded";
  const Clock::Time before = world.clock.Now();
  world.Stop();
  EXPECT_LT(world.clock.Now() - before, Exporter::kSendLimit) << "the end does not wait for it";
  EXPECT_EQ(world.metrics.failed.Value(), static_cast<double>(Exporter::kMaxQueued + 1));
}

TEST(Exporting, NobodyThereIsTheSameAsAway) {
  std::string nobody;
  {
    const FakeCollector fake;
    nobody = fake.url();
  }
  World world({.endpoint = nobody + "/v1/traces"});
  world.Begin().End();
  world.Stop();
  EXPECT_EQ(world.metrics.failed.Value(), 1);
  EXPECT_EQ(world.Warnings(), 1U);
}

class GrpcCollector final : public otlp::TraceService::Service {
 public:
  grpc::Status Export(grpc::ServerContext*, const otlp::ExportTraceServiceRequest* request,
                      otlp::ExportTraceServiceResponse* answer) override {
    for (const auto& resource : request->resource_spans())
      for (const auto& scope : resource.scope_spans()) spans += scope.spans_size();
    answer->mutable_partial_success()->set_rejected_spans(rejects);
    answer->mutable_partial_success()->set_error_message("too old");
    return grpc::Status::OK;
  }
  std::atomic<int> spans = 0, rejects = 0;
};

TEST(Exporting, OverGrpcToo) {
  std::string dir = "/tmp/splitlet-trace-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  FakeLogSink log;
  GrpcCollector fake;
  auto server = rpc::StartServer({.socket_path = dir + "/c/s", .services = {&fake}}, Log(log));
  ASSERT_TRUE(server.ok()) << server.status();
  World world({.protocol = Collector::Protocol::kGrpc, .endpoint = "unix:" + dir + "/c/s"});
  world.Begin().End();
  ASSERT_TRUE(Until([&] { return world.metrics.sent.Value() == 1; }));
  EXPECT_EQ(fake.spans, 1);
  fake.rejects = 1;
  world.Begin().End();
  ASSERT_TRUE(Until([&] { return world.metrics.failed.Value() == 1; }));
  const auto told = [&] {
    const auto lines = world.log.lines();
    return std::ranges::any_of(lines, [](const auto& line) {
      return std::ranges::any_of(line.fields, [](const auto& field) {
        return field.value.find("too old") != std::string::npos;
      });
    });
  };
  EXPECT_TRUE(Until(told)) << "the line comes after the count";
  world.Stop();
  *server = nullptr;
  std::filesystem::remove_all(dir);
}

TEST(Sampling, IsDecidedByTheIdAlone) {
  const std::string high(16, 'a');
  const struct {
    const char* name;
    std::string id;
    int64_t per_million;
    bool want;
  } kCases[] = {
      {"nothing", high + "0000000000000000", 0, false},
      {"everything", high + "ffffffffffffffff", 1'000'000, true},
      {"half, the lowest", high + "0000000000000000", 500'000, true},
      {"half, just below", high + "7ffffffffffff000", 500'000, true},
      {"half, above", high + "8000000000000000", 500'000, false},
      {"a thousandth, above", high + "0100000000000000", 1000, false},
      {"a thousandth, below", high + "0000100000000000", 1000, true},
      {"no id", "", 500'000, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(SamplesTrace(c.id, c.per_million), c.want);
  }
}

}  // namespace
}  // namespace splitlet::trace
