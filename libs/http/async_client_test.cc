#include "libs/http/async_client.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/http/test_server.h"

namespace splitlet::http {
namespace {

class ToPod : public testing::Test {
 protected:
  std::future<Outcome> Begin(Exchange asked, Deadline deadline) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    client_.Begin(std::move(asked), std::move(deadline),
                  [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future();
  }
  Outcome Get(const std::string& url, Duration timeout = 20s) {
    exchange.url = url;
    return Begin(exchange, After(clock_, timeout)).get();
  }
  /// "code body", or "stage: reason".
  std::string Shown(const std::string& url, Duration timeout = 20s) {
    const Outcome outcome = Get(url, timeout);
    if (outcome.status.ok()) return fmt::format("{} {}", outcome.code, outcome.body);
    static constexpr const char* kStages[] = {"connecting", "awaiting headers", "reading body"};
    return fmt::format("{}: {}", kStages[static_cast<int>(outcome.stage)], Message(outcome.status));
  }
  Exchange exchange{.max_bytes = 10};
  const RealClock clock_;
  AsyncClient client_{clock_};
};

TEST_F(ToPod, AnyCodeIsAnAnswerAndTheRequestIsAsAsked) {
  std::promise<std::string> seen;
  const Server server([&seen](const std::string& request, int connection) {
    seen.set_value(request);
    Send(connection, "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno");
  });
  exchange.headers = {"Host: other", "X-A: 1", "X-A: 2", "Accept:"};
  EXPECT_EQ(Shown(server.Url() + "/a/../b?c"), "500 no");
  EXPECT_EQ(seen.get_future().get(),
            "GET /hook/a/../b?c HTTP/1.1\r\nHost: other\r\nX-A: 1\r\nX-A: 2\r\n\r\n");
}

TEST_F(ToPod, WithTheHeadersItIsOverThoughTheBodyNeverEnds) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
    WaitForEnd(connection);
  });
  exchange.headers_only = true;
  EXPECT_EQ(Shown(server.Url()), "200 ");
}

TEST_F(ToPod, OfAGigabyteTheFirstBytesAreKept) {
  const Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 200 OK\r\n\r\n");
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 1024 && Send(connection, block); ++i) {
    }
  });
  EXPECT_EQ(Shown(server.Url()), "200 xxxxxxxxxx");
}

TEST_F(ToPod, HostileServersAreAFailureAndNoHarm) {
  const std::string endless = "HTTP/1.1 200 OK\r\n";
  const struct {
    const char* name;
    Server::Serve serve;
    std::string want;
  } kCases[] = {
      {"closes immediately", [](const std::string&, int) {}, "awaiting headers: EOF"},
      {"no HTTP", [](const std::string&, int c) { Send(c, std::string("\0\1\2 what\n", 10)); },
       "awaiting headers: malformed HTTP response"},
      {"a status line that is none",
       [](const std::string&, int c) { Send(c, "HTTP/1.1 x\r\n\r\n"); },
       "awaiting headers: malformed HTTP response"},
      {"a body that ends early",
       [](const std::string&, int c) {
         Send(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
       },
       "reading body: unexpected EOF"},
      {"headers without end",
       [&](const std::string&, int c) {
         Send(c, endless);
         while (Send(c, "X-Flood: 1\r\n")) {
         }
       },
       "awaiting headers: net/http: server response headers exceeded 65536 bytes; aborted"},
      {"one header of a megabyte",
       [&](const std::string&, int c) { Send(c, endless + "X: " + std::string(1 << 20, 'x')); },
       ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Server server(c.serve);
    const std::string shown = Shown(server.Url());
    if (c.want.empty()) {
      EXPECT_TRUE(shown.starts_with("awaiting headers: ")) << shown;
    } else {
      EXPECT_EQ(shown, c.want);
    }
  }
}

TEST_F(ToPod, AServerThatIsTooSlowEndsAtTheDeadline) {
  const struct {
    const char *name, *head, *want;
  } kCases[] = {
      {"never answers", "",
       "awaiting headers: context deadline exceeded (Client.Timeout exceeded while awaiting "
       "headers)"},
      {"headers only in part", "HTTP/1.1 200 OK\r\nX: ",
       "awaiting headers: context deadline exceeded (Client.Timeout exceeded while awaiting "
       "headers)"},
      {"a body that never ends", "HTTP/1.1 200 OK\r\n\r\nab",
       "reading body: context deadline exceeded (Client.Timeout or context cancellation while "
       "reading body)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Server server([&](const std::string&, int connection) {
      Send(connection, c.head);
      WaitForEnd(connection);
    });
    EXPECT_EQ(Shown(server.Url(), 200ms), c.want);
  }
}

TEST_F(ToPod, ARefusedConnectionIsToldInTheWordsOfAKubelet) {
  std::string url;
  {
    const Server server(Says("200 OK"));
    url = server.Url();
  }
  const std::string place = url.substr(7, url.find("/hook") - 7);
  EXPECT_EQ(Shown(url), fmt::format("connecting: dial tcp {}: connect: connection refused", place));
  exchange.protocol = Exchange::Protocol::kConnect;
  EXPECT_EQ(Shown(url), fmt::format("connecting: dial tcp {}: connect: connection refused", place));
}

TEST_F(ToPod, AConnectionIsAllThatIsWanted) {
  const Server server([](const std::string&, int) {});
  exchange.protocol = Exchange::Protocol::kConnect;
  EXPECT_EQ(Shown(server.Url()), "0 ");
}

TEST_F(ToPod, ARedirectIsFollowedOnItsHostOnly) {
  Server last(Says("204 Last"));
  std::atomic<bool> same{false};
  Server first([&](const std::string&, int connection) {
    Send(connection,
         fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 1000\r\n\r\nx",
                     last.Url("http", same ? "127.0.0.1" : "127.0.0.2")));
    if (same) WaitForEnd(connection);  // its body never ends
  });
  EXPECT_EQ(Shown(first.Url()), "reading body: unexpected EOF") << "of the first answer";
  EXPECT_EQ(last.requests, 0);
  same = true;
  EXPECT_EQ(Shown(first.Url()), "204 ");
}

TEST_F(ToPod, RedirectsWithoutEndAreAnError) {
  Server server([](const std::string&, int connection) {
    Send(connection, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(Shown(server.Url()), "connecting: stopped after 10 redirects");
  EXPECT_EQ(server.requests, 10);
  EXPECT_TRUE(Get(server.Url()).url.ends_with("/again"));
}

TEST_F(ToPod, ANameForTheHostIsForRelativeRedirectsOnly) {
  std::vector<std::string> hosts;
  Server server([&](const std::string& request, int connection) {
    hosts.push_back(*FindHeader(request, "host"));
    const std::string target = hosts.size() == 1 ? "/again" : server.Url() + "/last";
    Send(connection, hosts.size() == 3
                         ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                         : fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\n\r\n", target));
  });
  exchange.headers = {"host: other"};
  EXPECT_EQ(Shown(server.Url()), "200 ");
  EXPECT_EQ(hosts,
            (std::vector<std::string>{"other", "other", fmt::format("127.0.0.1:{}", server.port)}));
}

TEST_F(ToPod, AServerWithoutTlsIsTold) {
  const Server server(Says("400 Bad Request"));
  EXPECT_EQ(Get(server.Url("https")).status.code(), StatusCode::kUnimplemented);
}

TEST_F(ToPod, Http2GarbageIsAFailure) {
  for (const char* garbage : {"HTTP/1.1 200 OK\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                              "\0\0\0\4\0\0\0\0\0\0\0\1\x1f\0\0\0\0"}) {
    const Server server([garbage](const std::string&, int connection) {
      Send(connection, std::string(garbage, 10) + garbage);
      WaitForEnd(connection);
    });
    exchange.protocol = Exchange::Protocol::kHttp2;
    exchange.body = "x";
    EXPECT_FALSE(Get(server.Url(), 300ms).status.ok());
  }
}

TEST_F(ToPod, ItIsGivenUpWhenNobodyWaitsAnyMore) {
  const Server server([](const std::string&, int connection) { WaitForEnd(connection); });
  const auto cancel = std::make_shared<CancelToken>();
  exchange.url = server.Url();
  auto outcome = Begin(exchange, Deadline{clock_.Now() + 20s, cancel});
  auto later = Begin(exchange, After(clock_, 20s));
  while (server.requests == 0) std::this_thread::yield();
  cancel->Cancel();
  EXPECT_EQ(outcome.get().status.code(), StatusCode::kCancelled);
  client_.Stop();
  EXPECT_EQ(later.get().status.code(), StatusCode::kCancelled);
  EXPECT_EQ(Get(server.Url()).status.code(), StatusCode::kCancelled);
}

TEST_F(ToPod, OneThatNeverAnswersHoldsUpNobody) {
  const Server hung([](const std::string&, int connection) { WaitForEnd(connection); });
  const Server good(Says("200 OK"));
  exchange.url = hung.Url();
  std::vector<std::future<Outcome>> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(Begin(exchange, After(clock_, 20s)));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Shown(good.Url()), "200 ");
  client_.Stop();
}

TEST_F(ToPod, NamesAreLookedUp) {
  const Server server(Says("200 OK"));
  EXPECT_EQ(Shown(server.Url("http", "localhost")), "200 ");
  EXPECT_EQ(Shown("http://no-such-host.invalid:1/"),
            "connecting: dial tcp: lookup no-such-host.invalid: no such host");
}

TEST_F(ToPod, WhatIsNoUrlIsTold) {
  for (const char* url : {"", "http://", "http://:80/", "nonsense", "http://[::1/"})
    EXPECT_EQ(Get(url).status.code(), StatusCode::kInvalidArgument) << url;
}

TEST(HttpCaller, TheLastValueOfAHeader) {
  EXPECT_EQ(FindHeader("HTTP/2 200\r\nGrpc-Status:  5 \r\n\r\ngrpc-status: 0\r\n", "grpc-status"),
            "0");
  EXPECT_EQ(FindHeader("grpc-statuses: 1\r\n", "grpc-status"), std::nullopt);
  EXPECT_EQ(FindHeader("", "a"), std::nullopt);
}

}  // namespace
}  // namespace splitlet::http
