// A fuzz target over answers of servers in pods to HTTP and gRPC probes: headers, trailers and
// body. For any bytes the answer's text is valid text within its limit.

#include "libs/base/text.h"
#include "services/pod-worker/probes/network_call.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace splitlet;              // NOLINT(google-build-using-namespace): one function
  using namespace splitlet::pod_worker;  // NOLINT(google-build-using-namespace): one function
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const size_t body = bytes.find("\r\n\r\n");
  const ProbeAction kActions[] = {HttpProbe{.host = "10.0.0.5", .url = "http://10.0.0.5/"},
                                  TcpProbe{"10.0.0.5", 1}, GrpcProbe{"10.0.0.5", 1, "s"}};
  for (const auto& action : kActions) {
    for (const int code : {0, 200, 302, 404}) {
      http::Outcome outcome{.stage = http::Outcome::Stage::kReadingBody, .code = code};
      outcome.head = bytes.substr(0, body);
      if (body != std::string::npos) outcome.body = bytes.substr(body + 4);
      const ProbeAnswer answer = AnswerOf({.action = action, .timeout = 1s}, outcome);
      CHECK(IsText(answer.text), "{}", answer.text);
      CHECK(answer.text.size() <= kMaxProbeOutput, "{} bytes", answer.text.size());
    }
  }
  return 0;
}

FuzzCorpus MakeFuzzCorpus() {
  FuzzCorpus corpus;
  corpus.inputs = {std::string("HTTP/2 200\r\ngrpc-status: 0\r\n\r\n\0\0\0\0\2\x08\1", 38),
                   "grpc-status: 5\r\ngrpc-message: no%20such\xe2\x82\xac%ff\r\n\r\n",
                   "grpc-status: 99999999999\r\n\r\nx", "grpc-status:\r\n\r\n"};
  corpus.tokens = {"grpc-status: ", "grpc-message: ", "%",
                   "\r\n\r\n",      "\xff",           std::string(5, '\0')};
  return corpus;
}
