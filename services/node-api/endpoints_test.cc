#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/logs/log_query.h"
#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Endpoint : public NodeApiTest {
 protected:
  Endpoint() { AllowAll(); }
};

TEST_F(Endpoint, MethodsAndForms) {
  Start();
  PutPod();
  const struct {
    const char* name;
    Ask ask;
    std::string want;
  } kCases[] = {
      {"a wrong method", {.method = "POST"}, "405 405: Method Not Allowed"},
      {"an unknown form", {.headers = {{"Accept", "application/yaml"}}}, "406 406: Not Acceptable"},
      {"any form", {.headers = {{"Accept", "*/*"}}}, "200 {\"kind\":\"PodList\""},
      {"below stats", {.target = "/stats/container"}, "404 404: Page Not Found"},
      {"below runningpods", {.target = "/runningpods/x"}, "404 404: Page Not Found"},
      {"logs need their pod", {.target = "/containerLogs/default/web"}, "404 404: Page Not Found"},
      {"no profiles", {.target = "/debug/pprof/"}, "404 404: Page Not Found"},
      {"configz", {.target = "/configz"}, R"(200 {"kubeletconfig":{}})"},
      {"checkpoint of no container",
       {.method = "POST", .target = "/checkpoint/default/no/app"},
       "404 pod does not exist"},
      {"checkpoint of no container",
       {.method = "POST", .target = "/checkpoint/default/web/no"},
       "404 container no does not"},
      {"checkpoint",
       {.method = "POST", .target = "/checkpoint/default/web/app"},
       R"(200 {"items":["/root/checkpoints/a.tar"]})"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Text(c.ask), StartsWith(c.want));
  }
  EXPECT_EQ(Send({.method = "POST"})->Header("Allow"), "GET");
  EXPECT_EQ(Send({.target = "/stats?x=1", .token = ""})->Header("Location"), "/stats/?x=1");
}

TEST_F(Endpoint, TheReadOnlyPortServesSome) {
  Start();
  const struct {
    const char* target;
    std::string want;
  } kCases[] = {
      {"/pods", "200 {"},
      {"/healthz", "200 ok"},
      {"/metrics/slis", "200 #"},
      {"/stats/summary", "200 {"},
      {"/exec/a/b/c", "405 Debug endpoints are disabled."},
      {"/run/a/b/c", "405 Debug endpoints are disabled."},
      {"/containerLogs/a/b/c", "405 Debug endpoints are disabled."},
      {"/logs/", "405 Debug endpoints are disabled."},
      {"/configz", "404 404 page not found"},
      {"/checkpoint/a/b/c", "404 404 page not found"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.target);
    EXPECT_THAT(Text({.target = c.target, .token = "", .surface = Surface::kReadOnly}),
                StartsWith(c.want));
  }
}

TEST_F(Endpoint, HandlersThatAreSwitchedOff) {
  config.handlers.debugging = false;
  Start();
  EXPECT_EQ(Text({.method = "POST", .target = "/run/a/b/c"}), "405 Debug endpoints are disabled.");
  EXPECT_EQ(Code({.method = "POST", .target = "/run/a/b/c", .token = ""}), 401);
  EXPECT_EQ(Text({.target = "/debug/pprof/"}), "405 Debug endpoints are disabled.");
  EXPECT_EQ(Code({.method = "PUT", .target = "/debug/flags/v"}), 404);
  EXPECT_EQ(Code({.target = "/pods"}), 200);
  EXPECT_EQ(Code({.target = "/configz"}), 404);
}

TEST_F(Endpoint, OneByOneTheyAreSwitchedOffToo) {
  config.handlers = {.system_logs = false, .profiles = false, .flags = false};
  Start();
  EXPECT_EQ(Text({.target = "/logs/"}), "405 logs endpoint is disabled.");
  EXPECT_EQ(Text({.target = "/debug/pprof/heap"}), "405 profiling endpoint is disabled.");
  EXPECT_EQ(Text({.method = "PUT", .target = "/debug/flags/v"}), "405 flags endpoint is disabled.");
  EXPECT_EQ(Text({.target = "/debug/flags/v"}), "405 flags endpoint is disabled.");
  EXPECT_EQ(Code({.target = "/debug/flags/v", .token = ""}), 401);
  EXPECT_EQ(Code({.target = "/debug/flags/v", .surface = Surface::kReadOnly}), 404);
}

TEST_F(Endpoint, PathsWhoseFeatureGateIsOffAreUnknown) {
  config.handlers = {.flagz = false, .statusz = false, .checkpoint = false};
  Start();
  EXPECT_EQ(Code({.target = "/flagz"}), 404);
  EXPECT_EQ(Code({.target = "/statusz"}), 404);
  EXPECT_EQ(Code({.method = "POST", .target = "/checkpoint/default/web/app"}), 404);
  EXPECT_EQ(Code({.target = "/configz"}), 200);
  const auto paths = PathsOf(config.handlers);
  EXPECT_EQ(std::ranges::find(paths, "/checkpoint"), paths.end());
  EXPECT_NE(std::ranges::find(paths, "/configz"), paths.end());
}

TEST_F(Endpoint, ANodeThatIsOpenToAnybodySaysSo) {
  config.server.anonymous = true;
  config.server.authorization = "AlwaysAllow";
  Start();
  const auto lines = log_sink.lines();
  EXPECT_EQ(
      std::ranges::count(lines, "every client that reaches the port may run commands in every pod",
                         &FakeLogSink::Line::message),
      1);
}

TEST_F(Endpoint, FeatureGatesHaveAMetric) {
  config.gates = config::FeatureGates({{"ContainerCheckpoint", false}, {"MemoryQoS", true}});
  Start();
  const std::string text = Text({.target = "/metrics"});
  for (const char* line :
       {R"(kubernetes_feature_enabled{name="ContainerCheckpoint",stage="BETA"} 0)",
        R"(kubernetes_feature_enabled{name="MemoryQoS",stage="ALPHA"} 1)",
        R"(kubernetes_feature_enabled{name="NodeSwap",stage=""} 1)",
        R"(kubernetes_feature_enabled{name="InPlacePodVerticalScaling",stage=""} 0)"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
}

TEST_F(Endpoint, PodsAsTheyAreShown) {
  Start();
  EXPECT_EQ(Text({}), R"(200 {"kind":"PodList","apiVersion":"v1","metadata":{},"items":null})");
  PutPod();
  EXPECT_EQ(Text({.target = "/pods/"}), Text({}));
  EXPECT_THAT(Text({}), AllOf(HasSubstr(R"("name":"web")"), HasSubstr(R"("phase":"Running")"),
                              HasSubstr(R"("reason":"ImagePullBackOff")")));
  EXPECT_THAT(Text({.target = "/runningpods/"}),
              AllOf(HasSubstr(R"("name":"app")"), Not(HasSubstr(R"("name":"done")"))));
}

TEST_F(Endpoint, Healthz) {
  Start();
  const auto text = [this](const std::string& target, Surface surface = Surface::kSecured) {
    return Text({.target = target, .surface = surface});
  };
  EXPECT_EQ(text("/healthz"), "200 ok");
  EXPECT_EQ(text("/healthz?verbose"),
            "200 [+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\n"
            "healthz check passed");
  sync_loop = Unavailable("it is stuck");
  all.Advance(std::chrono::minutes{4});
  EXPECT_EQ(text("/healthz"), "200 ok");
  all.Advance(std::chrono::minutes{2});
  EXPECT_EQ(text("/healthz"),
            "500 [+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\n"
            "[+]device-plugin ok\nhealthz check failed");
  EXPECT_THAT(text("/healthz/syncloop"),
              AllOf(StartsWith("500 internal server error: "), HasSubstr("it is stuck")));
  EXPECT_EQ(text("/healthz/ping"), "200 ok");
  EXPECT_EQ(text("/healthz/device-plugin"), "200 ok");
  EXPECT_EQ(text("/healthz/nosuch"), "404 404 page not found");
  EXPECT_EQ(text("/healthz?exclude=syncloop"), "200 ok");
  EXPECT_THAT(text("/healthz?exclude=syncloop&exclude=nope&verbose"),
              HasSubstr("no matches for \"nope\""));
  EXPECT_EQ(text("/healthz", Surface::kHealthz), "200 ok");
  EXPECT_EQ(text("/healthz/syncloop", Surface::kHealthz), "404 404 page not found");
  EXPECT_EQ(text("/pods", Surface::kHealthz), "404 404 page not found");
  EXPECT_THAT(text("/metrics/slis"),
              HasSubstr(R"(kubernetes_healthcheck{name="syncloop",type="healthz"} 0)"));
  EXPECT_EQ(Text({.method = "DELETE", .target = "/metrics/slis"}), "200 metrics reset");
  EXPECT_THAT(text("/metrics/slis"), Not(HasSubstr("name=\"syncloop\"")));
  EXPECT_EQ(text("/healthz?exclude=syncloop"), "200 ok");
  EXPECT_THAT(text("/metrics/slis"),
              HasSubstr(R"(kubernetes_healthchecks_total{name="ping",status="success")"
                        R"(,type="healthz"} 1)"));
}

TEST_F(Endpoint, LogsOfContainers) {
  Start();
  PutPod();
  log_files->Make("/logs/app.log",
                  "2026-01-02T03:04:05.6Z stdout F one\n2026-01-02T03:04:06Z stderr F two\n");
  log_files->Make("/logs/done.log", "2026-01-02T03:04:05Z stdout F last\n");
  const auto log = [this](const std::string& rest) {
    const auto answered = Send({.target = "/containerLogs/default/web/" + rest});
    return answered->answer ? fmt::format("{} {}{}", answered->answer->code, answered->answer->body,
                                          answered->streamed)
                            : "no answer";
  };
  EXPECT_EQ(log("app"), "200 one\ntwo\n");
  EXPECT_EQ(Send({.target = "/containerLogs/default/web/app"})->writes, 1u) << "not one by one";
  EXPECT_EQ(log("app?tailLines=1&timestamps=true"), "200 2026-01-02T03:04:06.000000000Z two\n");
  EXPECT_EQ(log("app?limitBytes=2"), "200 on");
  EXPECT_EQ(log("done"), "200 last\n");
  on_log_wait = [this] {
    log_files->Append("/logs/done.log", "2026-01-02T03:04:06Z stdout F late\n");
  };
  const auto followed = Send({.target = "/containerLogs/default/web/done?follow=true"});
  EXPECT_EQ(followed->streamed, "last\nlate\n");
  EXPECT_EQ(followed->writes, 2u) << "what is there is sent before more is waited for";
  EXPECT_EQ(log("waits"),
            "400 container \"waits\" in pod \"web\" is waiting to start: trying and failing to "
            "pull image\n");
  EXPECT_EQ(log("app?previous=true"),
            "400 previous terminated container \"app\" in pod \"web\" not found\n");
  EXPECT_EQ(log("nosuch"), "404 container \"nosuch\" not found in pod \"web\"\n");
  EXPECT_EQ(Text({.target = "/containerLogs/default/no/app"}), "404 pod \"no\" does not exist");
}

TEST_F(Endpoint, ALogThatIsNotBelowTheFolderOfLogsIsNotRead) {
  config.pod_logs_dir = "/var/log/pods";
  Start();
  PutPod();
  log_files->Make("/logs/app.log", "2026-01-02T03:04:05Z stdout F secret\n");
  EXPECT_EQ(Text({.target = "/containerLogs/default/web/app"}),
            "400 unable to retrieve container logs for containerd://c1: /logs/app.log is not below "
            "/var/log/pods");
}

TEST_F(Endpoint, ThoseWhoAskForMetricsTogetherGetOneText) {
  AllowAll();
  processes->texts["pleg"] = "# TYPE a counter\na 1\n";
  Start();
  std::vector<std::shared_ptr<Answered>> asked;
  for (int i = 0; i < 3; ++i) asked.push_back(Begin({.target = "/metrics"}));
  const auto probes = Begin({.target = "/metrics/probes"});
  all.Advance(1ms);
  for (const auto& one : asked) {
    ASSERT_TRUE(one->answer);
    EXPECT_EQ(one->answer->shared_body, asked[0]->answer->shared_body);
    EXPECT_THAT(one->answer->body, HasSubstr("\na 1\n"));
  }
  ASSERT_TRUE(probes->answer);
  EXPECT_THAT(probes->answer->body, Not(HasSubstr("\na 1\n")));
  EXPECT_EQ(Code({.target = "/metrics"}), 200) << "the next round";
}

TEST_F(Endpoint, ReadersOfOnePodsLogsLeaveTheRestToOthers) {
  Start();
  PutPod();
  log_files->Make("/logs/done.log", "2026-01-02T03:04:05Z stdout F one\n");
  log_files->Make("/logs/other.log", "2026-01-02T03:04:05Z stdout F other\n");
  PutOtherPod();
  all.Pause(log_readers);
  const Ask log{.target = "/containerLogs/default/web/done?follow=true"};
  std::vector<std::shared_ptr<Answered>> readers;
  for (size_t i = 0; i < 300; ++i) readers.push_back(Send(log));
  EXPECT_TRUE(readers[LogStreams::kMaxOfPod - 1]->streams);
  EXPECT_EQ(readers[LogStreams::kMaxOfPod]->answer->code, 429);
  EXPECT_EQ(Text(log), "429 too many logs of this pod are being read");
  const auto other = Send({.target = "/containerLogs/default/other/app?follow=true"});
  EXPECT_TRUE(other->streams);
  all.Resume(log_readers);
  all.Advance(1ms);
  EXPECT_EQ(Code(log), 200);
}

TEST_F(Endpoint, ManyReadLogsAtOnceAndHoldUpNobodyElse) {
  Start();
  PutPod();
  EXPECT_TRUE(files.Replace("/var/log/syslog", "content", {}).ok());
  log_files->Make("/var/log/syslog", "content");
  log_files->Make("/logs/done.log", "2026-01-02T03:04:05Z stdout F one\n");
  all.Pause(log_readers);
  const Ask log{.target = "/containerLogs/default/web/done?follow=true"};
  std::vector<std::shared_ptr<Answered>> readers;
  for (size_t i = LogStreams::kMaxOfPod; i < LogStreams::kMaxStreams; ++i)
    readers.push_back(Send({.target = "/logs/syslog"}));
  for (size_t i = 0; i < LogStreams::kMaxOfPod; ++i) readers.push_back(Send(log));
  for (const auto& reader : readers) ASSERT_TRUE(reader->streams);
  EXPECT_EQ(Text(log), "429 too many logs are being read");
  EXPECT_EQ(Code({}), 200);
  EXPECT_EQ(Code({.method = "POST", .target = "/run/default/web/app?cmd=ls"}), 200);
  all.Resume(log_readers);
  all.Advance(1ms);
  EXPECT_EQ(readers.back()->streamed, "one\n");
  EXPECT_EQ(Code(log), 200);
}

TEST(LogQuery, WhatIsRefused) {
  const struct {
    const char* query;
    int code;  // 0: accepted
  } kCases[] = {
      {"", 0},
      {"tailLines=-1", 422},
      {"tailLines=abc", 400},
      {"tailLines=5&tail=all", 0},
      {"tail=x", 400},
      {"limitBytes=0", 422},
      {"sinceSeconds=0", 422},
      {"sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z", 422},
      {"sinceTime=yesterday", 400},
      {"sinceTime=2026-01-01T00:00:00Z", 0},
      {"stream=All", 0},
      {"stream=Stdout", 400},
      {"follow", 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.query);
    const LogQuery read = ReadLogQuery(Query(c.query), WallFromNanos(1'800'000'000'000'000'000));
    EXPECT_EQ(read.refusal ? read.refusal->code : 0, c.code);
  }
  EXPECT_TRUE(ReadLogQuery(Query("follow"), {}).options.follow);
  EXPECT_FALSE(ReadLogQuery(Query("follow=False"), {}).options.follow);
  EXPECT_EQ(ReadLogQuery(Query("tailLines=5&tail=all"), {}).options.tail_lines, std::nullopt);
}

TEST_F(Endpoint, LogsOfTheNode) {
  EXPECT_TRUE(files.Replace("/var/log/syslog", "content", {}).ok());
  EXPECT_TRUE(files.Replace("/var/log/a<b/x", "", {}).ok());
  log_files->Make("/var/log/syslog", "content");
  leads_out = {"/link"};
  Start();
  EXPECT_THAT(Text({.target = "/logs/"}),
              AllOf(HasSubstr("<a href=\"./syslog\">syslog</a>"), HasSubstr("a&lt;b/</a>")));
  EXPECT_EQ(Send({.target = "/logs/syslog"})->streamed, "content");
  EXPECT_EQ(Code({.target = "/logs/nosuch"}), 404);
  EXPECT_EQ(Text({.target = "/logs/link"}), "403 403 Forbidden");
  EXPECT_EQ(Code({.target = "/logs/../etc/passwd"}), 404);
  EXPECT_EQ(Code({.target = "/logs/%2e%2e/etc/passwd"}), 404);
}

const https::Headers kUpgrade = {{"Connection", "Upgrade"},
                                 {"Upgrade", "SPDY/3.1"},
                                 {"X-Stream-Protocol-Version", "v4.channel.k8s.io"},
                                 {"Host", "node-a:10250"}};

TEST_F(Endpoint, Streams) {
  Start();
  PutPod();
  const https::Headers socket = {{"Connection", "keep-alive, Upgrade"}, {"Upgrade", "websocket"}};
  const struct {
    const char* name;
    Ask ask;
    std::string want;
  } kCases[] = {
      {"no stream",
       {.method = "POST", .target = "/exec/default/web/app?command=ls"},
       "400 you must specify at least 1 of stdin, stdout, stderr"},
      {"no pod",
       {.method = "POST", .target = "/exec/default/no/app?command=ls&output=1"},
       "404 pod does not exist"},
      {"no container",
       {.method = "POST", .target = "/exec/default/web/no?command=ls&output=1"},
       "500 container not found (\"no\")"},
      {"one that has ended",
       {.method = "POST", .target = "/exec/default/web/done?command=ls&output=1"},
       "500 container not found (\"done\")"},
      {"attach to no container",
       {.method = "POST", .target = "/attach/default/web/no?output=1"},
       "500 container no not found in pod web_default"},
      {"attach to another incarnation",
       {.method = "POST", .target = "/attach/default/web/u9/app?output=1"},
       "500 pod web_default not found"},
      {"no upgrade",
       {.method = "POST", .target = "/exec/default/web/app?command=ls&output=1"},
       "500 Upgrade request required"},
      {"exec",
       {.method = "POST",
        .target = "/exec/default/web/app?command=ls&output=1",
        .headers = kUpgrade},
       "passed on"},
      {"exec in any incarnation",
       {.method = "GET",
        .target = "/exec/default/web/u9/app?command=ls&output=1",
        .headers = kUpgrade},
       "passed on"},
      {"ports",
       {.method = "POST", .target = "/portForward/default/web", .headers = kUpgrade},
       "passed on"},
      {"ports of another incarnation",
       {.method = "POST", .target = "/portForward/default/web/u9", .headers = kUpgrade},
       "404 pod not found"},
      {"a socket without ports",
       {.target = "/portForward/default/web", .headers = socket},
       "400 query parameter \"port\" is required"},
      {"a socket with a wrong port",
       {.target = "/portForward/default/web?port=0", .headers = socket},
       "400 unable to parse"},
      {"a socket with ports",
       {.target = "/portForward/default/web?port=80,81", .headers = socket},
       "passed on"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Text(c.ask), StartsWith(c.want));
  }
  EXPECT_EQ(pod_calls->opened.back().ports_size(), 2);
}

TEST_F(Endpoint, WhatTheRuntimesServerGets) {
  Start();
  PutPod();
  const auto passed = Send({.method = "POST",
                            .target = "/exec/default/web/app?command=ls&command=/&output=1&tty=1"
                                      "&error=1",
                            .headers = kUpgrade});
  ASSERT_TRUE(passed->backend);
  EXPECT_EQ(passed->backend->address, "127.0.0.1");
  EXPECT_EQ(passed->backend->port, 4321);
  EXPECT_EQ(passed->backend->head,
            "POST /exec/token HTTP/1.1\r\nHost: node-a:10250\r\nConnection: Upgrade\r\n"
            "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
            "X-Forwarded-For: 10.0.0.7\r\nContent-Length: 0\r\n\r\n");
  const auto& opened = pod_calls->opened.back();
  EXPECT_EQ(opened.container_id(), "c1");
  EXPECT_EQ(opened.user(), "bob") << "pod-worker's log names him";
  EXPECT_EQ(opened.command_size(), 2);
  EXPECT_FALSE(opened.want_stderr());
  EXPECT_TRUE(opened.tty());
}

TEST_F(Endpoint, WhatTheRuntimeRefuses) {
  Start();
  PutPod();
  const Ask exec{.method = "POST", .target = "/exec/default/web/app?command=ls&output=1"};
  pod_calls->url = ResourceExhausted("too many");
  const auto busy = Send(exec);
  EXPECT_EQ(busy->answer->code, 429);
  EXPECT_EQ(busy->Header("Retry-After"), "60");
  pod_calls->url = NotFound("gone");
  EXPECT_EQ(Text(exec), "404 gone");
  pod_calls->url = Unavailable("away");
  EXPECT_EQ(Text(exec), "500 away");
  pod_calls->url = std::string("https://127.0.0.1:1/x");
  EXPECT_EQ(Code(exec), 500);
}

TEST_F(Endpoint, StreamsThatAreAskedForAtOnceWaitForTheirTurn) {
  AllowAll();
  Start();
  PutPod();
  const Ask exec{
      .method = "POST", .target = "/exec/default/web/app?command=ls&output=1", .headers = kUpgrade};
  ASSERT_EQ(Text(exec), "passed on");  // from here on the caller is authenticated
  constexpr size_t kAtOnce = 100;
  std::vector<std::shared_ptr<Answered>> sessions;
  for (size_t i = 0; i < kAtOnce; ++i) sessions.push_back(Begin(exec));
  all.Advance(1ms);
  for (const auto& session : sessions) EXPECT_TRUE(session->backend);
}

TEST_F(Endpoint, Run) {
  Start();
  PutPod();
  const Ask run{.method = "POST", .target = "/run/default/web/app?cmd=ls%20/"};
  pod_calls->reply->set_output("bin\n");
  pod_calls->reply->set_errors("odd\n");
  EXPECT_EQ(Text(run), "200 bin\nodd");
  EXPECT_EQ(pod_calls->ran.back().command_size(), 2);
  pod_calls->reply->set_exit_code(3);
  EXPECT_EQ(Text(run), "500 command terminated with exit code 3");
  EXPECT_EQ(Text({.method = "POST", .target = "/run/default/no/app?cmd=ls"}),
            "404 pod does not exist");
}

}  // namespace
}  // namespace splitlet::node_api
