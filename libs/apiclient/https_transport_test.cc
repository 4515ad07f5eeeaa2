#include "libs/apiclient/https_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <sstream>

#include "libs/apiclient/connect.h"
#include "libs/apiclient/test_api_server.h"
#include "libs/apiclient/test_authority.h"
#include "libs/apiclient/test_http2.h"
#include "libs/base/cancel.h"
#include "libs/fs/real_file_system.h"
#include "libs/kube/time_text.h"

namespace splitlet::apiclient {
namespace {

class Https : public testing::Test {
 protected:
  Https() {
    signal(SIGPIPE, SIG_IGN);  // as every process of ours does
    folder = testing::TempDir() + "https_transport/" +
             testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
  }
  ~Https() override { std::filesystem::remove_all(folder); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(files.Replace(folder + "/" + name, text, {}).ok());
  }
  void WriteConfig(const std::string& cluster, const std::string& user = "") {
    Write("config",
          "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
          "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
          "clusters: [{name: c, cluster: {" +
              cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n");
  }
  std::string Trusting(const TestApiServer& server) const {
    return fmt::format("server: '{}', certificate-authority-data: {}", server.url(),
                       kube::EncodeBase64(authority.pem()));
  }
  std::shared_ptr<SSL_CTX> Tls(const std::string& names = "IP:127.0.0.1") const {
    return authority.Server(names);
  }
  void Start(Duration read_every = 10s, Duration quiet_limit = 150s, Duration least_wait = 100ms,
             Duration made_within = 0s) {
    const auto curl = http::LoadCurl();
    ASSERT_TRUE(curl.ok()) << curl.status();
    transport = std::make_unique<HttpsTransport>(
        HttpsTransport::Deps{.clock = clock,
                             .files = files,
                             .log = Log(sink),
                             .curl = **curl,
                             .run = process::RunProgram},
        HttpsTransport::Options{.kubeconfig = folder + "/config",
                                .user_agent = "kubelet/v1 test",
                                .rotated_certificate = folder + "/rotated.pem",
                                .read_every = read_every,
                                .made_within = made_within,
                                .least_wait = least_wait,
                                .quiet_limit = quiet_limit});
  }
  std::future<StatusOr<Response>> Begin(Request request, Deadline deadline) {
    const auto answer = std::make_shared<std::promise<StatusOr<Response>>>();
    transport->Begin(std::move(request), std::move(deadline),
                     [answer](StatusOr<Response> given) { answer->set_value(std::move(given)); });
    return answer->get_future();
  }
  /// "200 body", or "UNAVAILABLE: reason".
  static std::string Shown(const StatusOr<Response>& answer) {
    if (answer.ok()) return fmt::format("{} {}", answer->code, answer->body);
    return fmt::format("{}: {}", CodeName(answer.status().code()), Message(answer.status()));
  }
  std::string Get(const std::string& path = "/x", Duration limit = 20s) {
    return Shown(Begin({.path = path}, After(clock, limit)).get());
  }
  struct Stream {
    std::promise<void> head;
    std::promise<StatusOr<Response>> end;
    bool opened = false;
  };
  /// Returns the stream once it has a head; the stream stays open.
  std::shared_ptr<Stream> OpenStream() {
    const auto opened = std::make_shared<Stream>();
    transport->BeginStream(
        {.path = "/watch"}, After(clock, 60s),
        [opened](std::string_view) {
          if (!std::exchange(opened->opened, true)) opened->head.set_value();
        },
        [opened](StatusOr<Response> answer) { opened->end.set_value(std::move(answer)); });
    opened->head.get_future().wait();
    return opened;
  }
  static TestApiServer::Serve Says(const std::string& body) {
    return [body](const TestApiServer::Asked&, Peer& peer) { return peer.Answer(200, body); };
  }

  const RealClock clock;
  fs::RealFileSystem files;
  FakeLogSink sink;
  TestAuthority authority;
  std::string folder;
  std::unique_ptr<HttpsTransport> transport;
};

TEST_F(Https, RequestsAreAsAskedAndOneConnectionServesThemInTurn) {
  std::vector<TestApiServer::Asked> seen;
  TestApiServer server(
      [&seen](const TestApiServer::Asked& asked, Peer& peer) {
        seen.push_back(asked);
        return peer.Answer(201, "made", "Content-Type: application/json\r\nRetry-After: 7\r\n");
      },
      Tls());
  WriteConfig(Trusting(server), "token: secret");
  Start();
  EXPECT_EQ(transport->host(), "");
  const auto answer = Begin({.method = "POST",
                             .path = "/api/v1/nodes?a=b",
                             .accept = "application/json",
                             .content_type = "text/plain",
                             .body = std::string("a\0b", 3)},
                            After(clock, 20s))
                          .get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->code, 201);
  EXPECT_EQ(answer->body, "made");
  EXPECT_EQ(answer->content_type, "application/json");
  EXPECT_EQ(answer->retry_after, 7s);
  EXPECT_EQ(transport->host(), fmt::format("127.0.0.1:{}", server.port));
  EXPECT_EQ(Get(), "201 made");
  for (const char* method : {"PUT", "PATCH", "DELETE"})
    EXPECT_EQ(Shown(Begin({.method = method, .path = "/x", .body = "b"}, After(clock, 20s)).get()),
              "201 made");
  EXPECT_EQ(server.connections, 1);
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0].head.find("POST /api/v1/nodes?a=b HTTP/1.1\r\n"), 0u) << seen[0].head;
  for (const char* line :
       {"Authorization: Bearer secret", "User-Agent: kubelet/v1 test", "Accept: application/json",
        "Content-Type: text/plain", "Accept-Encoding: gzip", "Content-Length: 3"})
    EXPECT_TRUE(seen[0].Has(line)) << line << "\n" << seen[0].head;
  EXPECT_EQ(seen[0].body, std::string("a\0b", 3));
  EXPECT_EQ(seen[1].head.find("GET /x HTTP/1.1\r\n"), 0u);
  EXPECT_EQ(seen[4].head.find("DELETE /x HTTP/1.1\r\n"), 0u);
  EXPECT_EQ(seen[4].body, "b");
}

TEST_F(Https, ManyAtOnceAreAllAnswered) {
  TestApiServer server(Says("well"), Tls());
  WriteConfig(Trusting(server));
  Start();
  std::vector<std::future<StatusOr<Response>>> answers;
  for (int i = 0; i < 60; ++i) answers.push_back(Begin({.path = "/x"}, After(clock, 30s)));
  for (auto& answer : answers) EXPECT_EQ(Shown(answer.get()), "200 well");
}

TEST_F(Https, TheServerIsWhomTheKubeconfigTrusts) {
  TestApiServer server(Says("well"), Tls("DNS:api.test"));
  const TestAuthority other;
  const std::string here = "server: '" + server.url() + "'";
  const auto ca = [](const TestAuthority& of) {
    return ", certificate-authority-data: " + kube::EncodeBase64(of.pem());
  };
  const struct {
    std::string cluster, want;
  } kCases[] = {
      {here, "UNAVAILABLE: 127.0.0.1"},
      {here + ca(other), "UNAVAILABLE: 127.0.0.1"},
      {here + ca(authority), "UNAVAILABLE: 127.0.0.1"},
      {here + ca(authority) + ", tls-server-name: other.test", "UNAVAILABLE: 127.0.0.1"},
      {here + ca(other) + ", tls-server-name: api.test", "UNAVAILABLE: 127.0.0.1"},
      {here + ca(authority) + ", tls-server-name: api.test", "200 well"},
      {here + ", insecure-skip-tls-verify: true", "200 well"},
  };
  for (const auto& c : kCases) {
    WriteConfig(c.cluster);
    Start();
    EXPECT_EQ(Get().find(c.want), 0u) << c.cluster << "\n" << Get();
  }
}

TEST_F(Https, ANewClientCertificateIsShownOnANewConnection) {
  TestApiServer server(
      [](const TestApiServer::Asked&, Peer& peer) { return peer.Answer(200, peer.Name()); }, Tls());
  WriteConfig(Trusting(server), "client-certificate: pair.pem, client-key: pair.pem");
  const auto pair = [this](const std::string& name) {
    const auto issued = authority.Issue(name, "");
    return issued.key + issued.certificate;
  };
  Write("pair.pem", pair("one"));
  Start(0s);
  EXPECT_EQ(Get(), "200 one");
  EXPECT_EQ(Get(), "200 one");
  EXPECT_EQ(server.connections, 1);
  Write("pair.pem", pair("two"));
  EXPECT_EQ(Get(), "200 two");
  EXPECT_EQ(Get(), "200 two");
  EXPECT_EQ(server.connections, 2);
  std::filesystem::remove(folder + "/pair.pem");
  EXPECT_EQ(Get(), "200 two") << "what was read last stays in use";
  EXPECT_EQ(sink.lines().size(), 1u);
}

TEST_F(Https, ARotatedCertificateIsShownWhateverTheKubeconfigNames) {
  TestApiServer server(
      [](const TestApiServer::Asked&, Peer& peer) { return peer.Answer(200, peer.Name()); }, Tls());
  const auto own = authority.Issue("own", ""), rotated = authority.Issue("rotated", "");
  WriteConfig(Trusting(server), "client-certificate-data: " + kube::EncodeBase64(own.certificate) +
                                    ", client-key-data: " + kube::EncodeBase64(own.key));
  Start(0s);
  EXPECT_EQ(Get(), "200 own");
  Write("rotated.pem", rotated.certificate + rotated.key);
  EXPECT_EQ(Get(), "200 rotated");
}

/// Answers with the client's name from its certificate, and "/watch" without end.
bool NamesOrStreams(const TestApiServer::Asked& asked, Peer& peer) {
  if (!asked.head.starts_with("GET /watch ")) return peer.Answer(200, peer.Name());
  peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  peer.WaitForEnd();
  return false;
}

TEST_F(Https, AWatchEndsWhenTheClientCertificateChanges) {
  const auto pair = [this](const char* name) {
    const auto issued = authority.Issue(name, "");
    return issued.key + issued.certificate;
  };
  const std::string one = pair("one"), two = pair("two");
  const struct {
    const char* name;
    std::string file, now;
    bool ends;
  } kCases[] = {
      {"another certificate", "pair.pem", two, true},
      {"none any more", "config", "token: x", true},
      {"the same, written again", "pair.pem", one, false},
      {"another token beside it", "token", "b", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestApiServer server(NamesOrStreams, Tls());
    WriteConfig(Trusting(server),
                "client-certificate: pair.pem, client-key: pair.pem, tokenFile: token");
    Write("pair.pem", one);
    Write("token", "a");
    Start(0s);
    const auto watch = OpenStream();
    if (c.file == "config") {
      WriteConfig(Trusting(server), c.now);
    } else {
      Write(c.file, c.now);
    }
    EXPECT_EQ(Get().substr(0, 3), "200");
    EXPECT_EQ(watch->end.get_future().wait_for(0s) == std::future_status::ready, c.ends);
    transport.reset();
  }
}

TEST_F(Https, AWatchEndsThoughNothingElseIsAsked) {
  const auto own = authority.Issue("own", ""), rotated = authority.Issue("rotated", "");
  TestApiServer server(NamesOrStreams, Tls());
  WriteConfig(Trusting(server), "client-certificate-data: " + kube::EncodeBase64(own.certificate) +
                                    ", client-key-data: " + kube::EncodeBase64(own.key));
  Start(0s, 10s);  // checked each two seconds
  const auto watch = OpenStream();
  Write("rotated.pem", rotated.certificate + rotated.key);
  EXPECT_EQ(Shown(watch->end.get_future().get()),
            "UNAVAILABLE: the client certificate has changed");
  EXPECT_EQ(Get(), "200 rotated");
}

TEST_F(Https, AKeyThatIsNoneIsSaidAndNotShown) {
  TestApiServer server(Says("well"), Tls());
  WriteConfig(Trusting(server), "client-certificate: c, client-key: k");
  Write("c", authority.Issue("one", "").certificate);
  Write("k", "hunter2");
  Start();
  const std::string shown = Get();
  EXPECT_EQ(shown.find("UNAUTHENTICATED: client certificate: "), 0u) << shown;
  EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
}

TEST_F(Https, ATokenThatIsRefusedIsReadAnewOnce) {
  TestApiServer server(
      [](const TestApiServer::Asked& asked, Peer& peer) {
        return asked.Has("Authorization: Bearer good") ? peer.Answer(200, "well")
                                                       : peer.Answer(401, "who?");
      },
      Tls());
  WriteConfig(Trusting(server), "tokenFile: token");
  Write("token", "bad");
  Start(1h);
  EXPECT_EQ(Get(), "401 who?");
  EXPECT_EQ(server.requests, 1) << "nothing has changed";
  Write("token", "good\n");
  EXPECT_EQ(Get(), "200 well");
  EXPECT_EQ(server.requests, 3);
  EXPECT_EQ(Get(), "200 well");
  EXPECT_EQ(server.requests, 4);
}

TEST_F(Https, ThereMayBeNoKubeconfigYet) {
  TestApiServer server(Says("well"), Tls());
  Start();
  EXPECT_EQ(Get().find("UNAVAILABLE: " + folder + "/config: "), 0u);
  WriteConfig(Trusting(server));
  std::string shown;
  const auto until = After(clock, 20s);
  while (shown != "200 well" && Remaining(clock, until) > 0s) shown = Get();
  EXPECT_EQ(shown, "200 well");
}

TEST_F(Https, AKubeconfigThatIsBeingMadeIsNotMissed) {
  const auto warnings = [this] {
    const auto lines = sink.lines();
    return std::ranges::count(lines, LogLevel::kWarn, &FakeLogSink::Line::level);
  };
  Start(10s, 150s, 100ms, 1h);
  const auto awaited = Begin({.path = "/x"}, After(clock, 20s)).get();
  EXPECT_TRUE(IsAwaited(awaited.status())) << awaited.status();
  EXPECT_EQ(warnings(), 0);
  Start();
  EXPECT_FALSE(IsAwaited(Begin({.path = "/x"}, After(clock, 20s)).get().status()));
  EXPECT_EQ(warnings(), 1);
}

TEST_F(Https, AProgramSaysTheToken) {
  TestApiServer server(
      [](const TestApiServer::Asked& asked, Peer& peer) {
        return asked.Has("Authorization: Bearer from-plugin") ? peer.Answer(200, "well")
                                                              : peer.Answer(401, "");
      },
      Tls());
  Write("login",
        "#!/bin/sh\ncase \"$KUBERNETES_EXEC_INFO\" in *ExecCredential*) ;; *) exit 3;; esac\n"
        "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
        "\"status\":{\"token\":\"from-plugin\"}}'\n");
  std::filesystem::permissions(folder + "/login", std::filesystem::perms::owner_all);
  WriteConfig(Trusting(server),
              "exec: {command: ./login, apiVersion: client.authentication.k8s.io/v1}");
  Start();
  EXPECT_EQ(Get(), "200 well");
}

TEST_F(Https, AProgramThatHangsHoldsNobodyLongerThanAsked) {
  Write("login", "#!/bin/sh\nexec sleep 100\n");
  std::filesystem::permissions(folder + "/login", std::filesystem::perms::owner_all);
  WriteConfig("server: 'https://127.0.0.1:1'",
              "exec: {command: ./login, apiVersion: client.authentication.k8s.io/v1}");
  Start();
  EXPECT_EQ(Get("/x", 100ms), "DEADLINE_EXCEEDED: the credentials were not read in time");
  const auto begun = clock.Now();
  auto waiting = Begin({.path = "/x"}, After(clock, 60s));
  transport.reset();
  EXPECT_EQ(Shown(waiting.get()), "CANCELLED: given up");
  EXPECT_LT(clock.Now() - begun, 20s);
}

TEST_F(Https, AStreamComesInPieces) {
  std::promise<void> go_on;
  auto may_go_on = go_on.get_future().share();
  TestApiServer server(
      [may_go_on](const TestApiServer::Asked&, Peer& peer) {
        peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        may_go_on.wait();
        peer.WriteChunk("one");
        peer.WriteChunk("two");
        return peer.Write("0\r\n\r\n");
      },
      Tls());
  WriteConfig(Trusting(server));
  Start();
  std::promise<StatusOr<Response>> end;
  std::promise<void> head;
  std::string all;
  bool first = true;
  transport->BeginStream(
      {.path = "/x"}, After(clock, 20s),
      [&](std::string_view piece) {
        if (std::exchange(first, false)) {
          EXPECT_EQ(piece, "");
          head.set_value();
        }
        all += piece;
      },
      [&](StatusOr<Response> answer) { end.set_value(std::move(answer)); });
  head.get_future().wait();
  go_on.set_value();
  EXPECT_EQ(Shown(end.get_future().get()), "200 ");
  EXPECT_EQ(all, "onetwo");
}

TEST_F(Https, AStreamThatSpeaksWithoutAPauseIsHeardWholeAndHoldsUpNobody) {
  constexpr int kPieces = 3000;
  std::atomic<bool> answered = false;
  TestApiServer server(
      [&answered](const TestApiServer::Asked& asked, Peer& peer) {
        if (!asked.head.starts_with("GET /watch")) return peer.Answer(200, "here");
        peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int i = 0; i < kPieces || !answered; ++i)
          if (!peer.WriteChunk(fmt::format("{}\n", i))) return false;
        return peer.Write("0\r\n\r\n");
      },
      Tls());
  WriteConfig(Trusting(server));
  Start();
  std::promise<StatusOr<Response>> end;
  std::promise<void> much;
  std::string all;
  bool told = false;
  transport->BeginStream(
      {.path = "/watch"}, After(clock, 60s),
      [&](std::string_view piece) {
        all += piece;
        if (all.size() > 1000 && !std::exchange(told, true)) much.set_value();
      },
      [&](StatusOr<Response> answer) { end.set_value(std::move(answer)); });
  much.get_future().wait();
  EXPECT_EQ(Get("/x"), "200 here");
  answered = true;
  EXPECT_EQ(Shown(end.get_future().get()), "200 ");
  std::istringstream lines(all);
  int expected = 0;
  for (int line = 0; lines >> line; ++expected) ASSERT_EQ(line, expected);
  EXPECT_GE(expected, kPieces);
}

TEST_F(Https, AStreamThatIsRefusedIsAnsweredWhole) {
  TestApiServer server(
      [](const TestApiServer::Asked&, Peer& peer) { return peer.Answer(410, "gone"); }, Tls());
  WriteConfig(Trusting(server));
  Start();
  std::promise<StatusOr<Response>> end;
  transport->BeginStream(
      {.path = "/x"}, After(clock, 20s), [](std::string_view) { ADD_FAILURE(); },
      [&](StatusOr<Response> answer) { end.set_value(std::move(answer)); });
  EXPECT_EQ(Shown(end.get_future().get()), "410 gone");
}

TEST_F(Https, ConnectionsThatBreakAreUnavailable) {
  const struct {
    const char* name;
    TestApiServer::Serve serve;
  } kCases[] = {
      {"before the answer", [](const auto&, Peer&) { return false; }},
      {"in the head",
       [](const auto&, Peer& p) { return p.Write("HTTP/1.1 200 OK\r\nA") && false; }},
      {"in the body",
       [](const auto&, Peer& p) {
         return p.Write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") && false;
       }},
      {"in a chunk",
       [](const auto&, Peer& p) {
         return p.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc") && false;
       }},
      {"no HTTP", [](const auto&, Peer& p) { return p.Write("hello\r\n\r\n") && false; }},
  };
  for (const auto& c : kCases) {
    TestApiServer server(c.serve, Tls());
    WriteConfig(Trusting(server));
    Start();
    EXPECT_EQ(Get().find("UNAVAILABLE: 127.0.0.1"), 0u) << c.name << ": " << Get();
  }
  WriteConfig("server: 'https://127.0.0.1:1'");
  Start();
  EXPECT_EQ(Get().find("UNAVAILABLE: 127.0.0.1:1: "), 0u) << Get();
  WriteConfig("server: 'https://no-such-name.invalid'");
  Start();
  EXPECT_EQ(Get().find("UNAVAILABLE: no-such-name.invalid: "), 0u) << Get();
}

TEST_F(Https, ASlowServerCostsNoMoreThanTheDeadline) {
  TestApiServer server(
      [](const TestApiServer::Asked&, Peer& peer) {
        peer.Write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
        peer.WaitForEnd();
        return false;
      },
      Tls());
  WriteConfig(Trusting(server));
  Start();
  EXPECT_EQ(Get("/x", 300ms).find("DEADLINE_EXCEEDED: "), 0u);
  EXPECT_EQ(Get("/x", 0s).find("DEADLINE_EXCEEDED: "), 0u);
}

TEST_F(Https, WhatIsGivenUpEndsAtOnce) {
  std::promise<void> asked;
  TestApiServer server(
      [&asked](const TestApiServer::Asked&, Peer& peer) {
        asked.set_value();
        peer.WaitForEnd();
        return false;
      },
      Tls());
  WriteConfig(Trusting(server));
  Start();
  const auto token = std::make_shared<CancelToken>();
  auto answer = Begin({.path = "/x"}, {clock.Now() + 1h, token});
  asked.get_future().wait();
  token->Cancel();
  EXPECT_EQ(Shown(answer.get()), "CANCELLED: given up");
  EXPECT_EQ(Shown(Begin({.path = "/x"}, {clock.Now() + 1h, token}).get()), "CANCELLED: given up");
}

TEST_F(Https, ItsEndGivesUpWhatIsUnderWay) {
  std::promise<void> asked;
  TestApiServer server(
      [&asked](const TestApiServer::Asked&, Peer& peer) {
        peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        asked.set_value();
        peer.WaitForEnd();
        return false;
      },
      Tls());
  WriteConfig(Trusting(server));
  Start();
  std::promise<StatusOr<Response>> end;
  transport->BeginStream(
      {.path = "/x"}, After(clock, 1h), [](std::string_view) {},
      [&](StatusOr<Response> answer) { end.set_value(std::move(answer)); });
  asked.get_future().wait();
  transport.reset();
  EXPECT_EQ(Shown(end.get_future().get()), "CANCELLED: given up");
}

TEST_F(Https, AnAnswerThatIsTooLongIsCutOff) {
  TestApiServer server(
      [](const TestApiServer::Asked& asked, Peer& peer) {
        const bool head = asked.head.find("/head") != std::string::npos;
        if (head) return peer.Answer(200, "", "X-Long: " + std::string(70'000, 'x') + "\r\n");
        const std::string block(1 << 20, 'x');
        bool goes_on = peer.Write("HTTP/1.1 200 OK\r\n\r\n");
        for (int i = 0; i < 70 && goes_on; ++i) goes_on = peer.Write(block);
        return false;
      },
      Tls());
  WriteConfig(Trusting(server));
  Start();
  EXPECT_EQ(Get("/x", 60s), "RESOURCE_EXHAUSTED: the answer is too long");
  EXPECT_EQ(Get("/head"), "RESOURCE_EXHAUSTED: the answer is too long");
}

/// An HTTP/2 server. When told to hang, its first connection still acknowledges bytes but sends no
/// answer.
class Http2 : public Https {
 protected:
  void Serve(uint32_t stream, Http2Peer& peer) {
    if (peer.number() == 1 && hangs) return;
    if (first_.exchange(false) && streams_first) return peer.Head(stream);
    peer.Answer(stream, fmt::format("by {}", peer.number()));
  }
  void StartHttp2(Duration quiet_limit = 150s, Duration least_wait = 100ms) {
    WriteConfig(Trusting(server));
    Start(10s, quiet_limit, least_wait);
  }
  void TearDown() override { transport.reset(); }

  std::atomic<bool> hangs{false};
  bool streams_first = true;
  TestApiServer server{
      nullptr, WithHttp2(Tls()), [this](Peer& peer) {
        Http2Peer(peer).Run([this](uint32_t stream, Http2Peer& to) { Serve(stream, to); });
      }};

 private:
  std::atomic<bool> first_{true};
};

TEST_F(Http2, AllRequestsShareAConnection) {
  streams_first = false;
  StartHttp2();
  std::vector<std::future<StatusOr<Response>>> answers;
  for (int i = 0; i < 60; ++i) answers.push_back(Begin({.path = "/x"}, After(clock, 30s)));
  for (auto& answer : answers) EXPECT_EQ(Shown(answer.get()), "200 by 1");
  EXPECT_EQ(server.connections, 1);
}

TEST_F(Http2, AConnectionOnWhichARequestWasNotAnsweredIsLeft) {
  StartHttp2();
  const auto watch = OpenStream();
  EXPECT_EQ(Get(), "200 by 1") << "beside a stream";
  hangs = true;
  EXPECT_EQ(Get("/x", 500ms).find("DEADLINE_EXCEEDED: "), 0u);
  EXPECT_EQ(Shown(watch->end.get_future().get()).find("UNAVAILABLE: "), 0u)
      << "with all that goes on on it";
  EXPECT_EQ(Get(), "200 by 2");
  EXPECT_EQ(Get(), "200 by 2");
}

TEST_F(Http2, AnIdleConnectionThatHangsIsLeftToo) {
  streams_first = false;
  StartHttp2();
  EXPECT_EQ(Get(), "200 by 1");
  hangs = true;
  EXPECT_EQ(Get("/x", 500ms).find("DEADLINE_EXCEEDED: "), 0u);
  EXPECT_EQ(Get(), "200 by 2");
}

TEST_F(Http2, ARequestThatHadLittleTimeSaysNothingOfItsConnection) {
  StartHttp2(150s, 20s);
  const auto watch = OpenStream();
  hangs = true;
  EXPECT_EQ(Get("/x", 200ms).find("DEADLINE_EXCEEDED: "), 0u);
  hangs = false;
  EXPECT_EQ(Get(), "200 by 1");
}

TEST_F(Http2, AConnectionThatIsQuietForTooLongIsLeft) {
  StartHttp2(300ms);
  const auto watch = OpenStream();
  EXPECT_EQ(Shown(watch->end.get_future().get()).find("UNAVAILABLE: "), 0u);
  EXPECT_EQ(Get(), "200 by 2");
}

TEST_F(Https, ASlowAnswerDoesNotEndAConnectionOnWhichOthersAreGiven) {
  std::promise<void> may_end;
  const auto end = may_end.get_future().share();
  TestApiServer server(nullptr, WithHttp2(Tls()), [end](Peer& peer) {
    uint32_t watch = 0;
    Http2Peer(peer).Run([&](uint32_t stream, Http2Peer& to) {
      if (watch == 0) return to.Head(watch = stream);
      while (end.wait_for(50ms) == std::future_status::timeout) to.Data(watch, "event", false);
      to.Data(watch, "last", true);
    });
  });
  WriteConfig(Trusting(server));
  Start();
  std::promise<StatusOr<Response>> ended;
  std::promise<void> head;
  std::string all;
  transport->BeginStream(
      {.path = "/watch"}, After(clock, 60s),
      [&](std::string_view piece) {
        if (piece.empty()) head.set_value();
        all += piece;
      },
      [&](StatusOr<Response> answer) { ended.set_value(std::move(answer)); });
  head.get_future().wait();
  EXPECT_EQ(Get("/slow", 1s).find("DEADLINE_EXCEEDED: "), 0u);
  may_end.set_value();
  EXPECT_EQ(Shown(ended.get_future().get()), "200 ");
  EXPECT_TRUE(all.ends_with("eventlast")) << all;
  EXPECT_EQ(server.connections, 1);
}

TEST_F(Https, AProxyIsAskedToGoThere) {
  std::promise<std::string> head;
  TestApiServer proxy([&head](const TestApiServer::Asked& asked, Peer& peer) {
    head.set_value(asked.head);
    return peer.Answer(200, "by proxy");
  });
  WriteConfig("server: 'http://api.invalid', proxy-url: '" + proxy.url() + "'");
  Start();
  EXPECT_EQ(Get(), "200 by proxy");
  EXPECT_EQ(head.get_future().get().find("GET http://api.invalid/x HTTP/1.1\r\n"), 0u);
}

TEST_F(Https, ConnectTakesAKubeconfigThatIsNotThereYetAndRefusesABadOne) {
  const auto connect = [this] {
    return Connect({.clock = clock,
                    .files = files,
                    .log = Log(sink),
                    .kubeconfig = folder + "/config",
                    .user_agent = "test"});
  };
  EXPECT_TRUE(connect().ok());
  Write("config", "kind: Config\napiVersion: v1\n");
  EXPECT_EQ(connect().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace splitlet::apiclient
