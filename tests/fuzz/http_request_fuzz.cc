// A fuzz target over HTTP/1.1 requests, which any client of a port can send. For any bytes memory
// stays bounded, and a request gives the same result however it is split into pieces.

#include <algorithm>
#include <string>

#include "libs/https/request_parser.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;         // NOLINT(google-build-using-namespace): one target
using namespace splitlet::https;  // NOLINT(google-build-using-namespace): one target

struct Read {
  bool done = false;
  size_t used = 0;
  Request request;
};

/// Like a connection: unused bytes precede the next piece.
Read InPieces(const std::string& bytes, size_t piece) {
  RequestParser parser({.header_bytes = 64 << 10, .body_bytes = 64 << 10});
  Read read;
  std::string pending;
  for (size_t at = 0; at < bytes.size() && !parser.done() && parser.refusal() == 0; at += piece) {
    pending += bytes.substr(at, piece);
    const size_t used = parser.Take(pending);
    CHECK(used <= pending.size());
    pending.erase(0, used);
    read.used += used;
    CHECK(pending.size() <= std::max(size_t{64 << 10}, piece), "{} wait", pending.size());
    CHECK(parser.held() <= bytes.size() * 33 + (64 << 10), "{} are held", parser.held());
  }
  CHECK(parser.refusal() == 0 || !parser.why().empty());
  read.done = parser.done() && parser.refusal() == 0;
  read.request = parser.Release();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Read whole = InPieces(bytes, std::max(size, size_t{1}));
  for (const size_t piece : {size_t{1}, size_t{5}, size_t{100}}) {
    const Read pieces = InPieces(bytes, piece);
    CHECK(pieces.done == whole.done, "in pieces of {}", piece);
    if (!whole.done) continue;
    CHECK(pieces.used == whole.used, "{} of {} bytes", pieces.used, whole.used);
    CHECK(pieces.request.method == whole.request.method);
    CHECK(pieces.request.target == whole.request.target);
    CHECK(pieces.request.headers == whole.request.headers);
    CHECK(pieces.request.body == whole.request.body);
  }
  return whole.done ? 0 : -1;
}

FuzzCorpus MakeFuzzCorpus() {
  FuzzCorpus corpus;
  corpus.inputs = {
      "GET /pods?a=b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\n\r\n",
      "POST /run HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nabcdeGET / HTTP/1.0",
      "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0;c\r\n\r\n",
      "GET /exec HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nA: b\r\n c\r\n\r\n"};
  corpus.tokens = {"\r\n",
                   "\r\n\r\n",
                   ": ",
                   "Transfer-Encoding: chunked\r\n",
                   "0\r\n",
                   "ffff\r\n",
                   ";a=b",
                   "Content-Length: 3\r\n",
                   "HTTP/1",
                   "PRI * HTTP/2.0",
                   std::string(1, '\0'),
                   "\x82\xfe"};
  return corpus;
}
