#include "libs/https/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::https {
namespace {

using testing::HasSubstr;

struct Outcome {
  int refusal = 0;  // 0: the request is complete, or needs more bytes
  bool done = false;
  size_t most_held = 0, taken = 0;
  std::string why;
  Request request;
};

/// Feeds `bytes` in pieces, as a connection reads them, until the end of the request.
Outcome Parse(const std::string& bytes, size_t piece = 8192, RequestParser::Bounds bounds = {}) {
  RequestParser parser(bounds);
  Outcome out;
  std::string pending;
  while (out.taken < bytes.size() && !parser.done() && parser.refusal() == 0) {
    pending += bytes.substr(out.taken, piece);
    out.taken = std::min(bytes.size(), out.taken + piece);
    out.most_held = std::max(out.most_held, pending.size() + parser.held());
    pending.erase(0, parser.Take(pending));
  }
  out.refusal = parser.refusal();
  out.done = parser.done();
  out.why = parser.why();
  out.request = parser.Release();
  return out;
}

TEST(RequestParser, ARequestIsTheSameInAnyPieces) {
  const std::string sent =
      "PUT /a/b?c=d HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nX-Two: 2\r\nTransfer-Encoding: chunked\r\n"
      "\r\n3;name=\"value\"\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, sent.size()}) {
    SCOPED_TRACE(piece);
    const Outcome got = Parse(sent, piece);
    ASSERT_TRUE(got.done) << got.why;
    EXPECT_EQ(got.request.method, "PUT");
    EXPECT_EQ(got.request.target, "/a/b?c=d");
    ASSERT_EQ(got.request.headers.size(), 4u);
    EXPECT_EQ(got.request.headers[2], std::pair(std::string("X-Two"), std::string("2")));
    EXPECT_EQ(got.request.body, "abcde");
  }
}

std::string Repeated(const std::string& text, size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += text;
  return all;
}

constexpr size_t kMuch = 1 << 20;
const char* const kChunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(RequestParser, WhateverIsSentLittleIsKept) {
  const struct {
    const char* name;
    std::string sent;
    int refusal;
  } kCases[] = {
      {"a request line without end", "GET /" + std::string(kMuch, 'a'), 431},
      {"a method without end", std::string(kMuch, 'G'), 431},
      {"a header without end", "GET / HTTP/1.1\r\nA: " + std::string(kMuch, 'a'), 431},
      {"short headers without end", "GET / HTTP/1.1\r\n" + Repeated("a:\r\n", kMuch), 431},
      {"long headers without end",
       "GET / HTTP/1.1\r\n" + Repeated("a: " + std::string(1019, 'b') + "\r\n", kMuch), 431},
      {"a header that is folded without end",
       "GET / HTTP/1.1\r\nA: b\r\n" + Repeated(" ccccccc\r\n", kMuch), 431},
      {"an extension of a chunk", kChunked + ("1;" + std::string(kMuch, 'a')), 400},
      {"a size of a chunk", kChunked + std::string(kMuch, '0'), 400},
      {"extensions of many chunks",
       kChunked + Repeated("1;" + std::string(1000, 'a') + "\r\nx\r\n", kMuch), 400},
      {"a trailer", kChunked + ("0\r\na: b\r\n\r\n" + std::string(kMuch, 'a')), 400},
      {"a trailer without end", kChunked + ("0\r\na: " + std::string(kMuch, 'a')), 400},
      {"trailers without end", kChunked + ("0\r\n" + Repeated("a:\r\n", kMuch)), 400},
      {"a body of more than it may have",
       "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + std::string(kMuch, 'a'), 413},
      {"a chunk of more", kChunked + ("fffff\r\n" + std::string(kMuch, 'a')), 413},
      {"chunks of more", kChunked + Repeated("10\r\n0123456789abcdef\r\n", kMuch), 413},
      {"a chunk of all that there is", kChunked + ("ffffffffffffffff\r\n" + std::string(9, 'a')),
       413},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(kMuch, '\0'), 400},
      {"frames of HTTP/2", std::string(kMuch, '\0'), 400},
      {"frames of a WebSocket", Repeated("\x82\xfe\xff\xff", kMuch), 400},
      {"two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
      {"a length of chunks",
       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nx", 400},
  };
  for (const auto& c : kCases) {
    for (const size_t piece : {size_t{4}, size_t{8192}}) {  // a piece of 4 bytes ends where a short
                                                            // line does
      SCOPED_TRACE(fmt::format("{}, in pieces of {}", c.name, piece));
      const Outcome got = Parse(c.sent, piece, {.header_bytes = 64 << 10, .body_bytes = 64 << 10});
      EXPECT_EQ(got.refusal, c.refusal) << got.why;
      EXPECT_FALSE(got.done);
      EXPECT_LT(got.most_held, 200u << 10);
      EXPECT_LT(got.taken, 200u << 10);
    }
  }
}

TEST(RequestParser, WhatIsWithinTheBoundsIsTaken) {
  const RequestParser::Bounds bounds = {.header_bytes = 4096, .body_bytes = 10};
  std::string lines = "GET / HTTP/1.1\r\n";
  for (size_t i = 0; i < RequestParser::kMaxFields; ++i) lines += "a:\r\n";
  EXPECT_TRUE(Parse(lines + "\r\n", 8192, bounds).done);
  EXPECT_EQ(Parse(lines + "a:\r\n\r\n", 8192, bounds).refusal, 431);
  EXPECT_TRUE(Parse("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789", 8192, bounds).done);
  EXPECT_TRUE(Parse(kChunked + ("5;" + std::string(8000, 'a') + "\r\n01234\r\n0\r\n\r\n")).done);
}

TEST(RequestParser, ARefusalSaysWhy) {
  EXPECT_EQ(Parse(kChunked + std::string("0\r\na: b\r\n\r\n")).why, "trailers are not supported");
  EXPECT_THAT(Parse("GET / HTTP/1.1\r\na b\r\n\r\n").why, HasSubstr("field"));
}

}  // namespace
}  // namespace splitlet::https
