// A fuzz target over manifests and answers of the URL. For any bytes the result is one line of
// error, or pods that every other process can read, with UIDs that are valid file names.

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/kube/names.h"
#include "services/config-source/sources/http/http_source.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;                 // NOLINT(google-build-using-namespace): one target
using namespace splitlet::config_source;  // NOLINT(google-build-using-namespace): one target

void CheckDecoded(const StatusOr<DecodedPods>& decoded, const Origin& origin) {
  if (!decoded.ok()) {
    const std::string why(Message(decoded.status()));
    CHECK(why.starts_with(origin.location), "{}", why);
    CHECK(why == OneLine(why), "{}", why);
    return;
  }
  for (const auto& pod : decoded->pods) {
    CHECK(kube::CheckUid(pod->uid).empty(), "{}", pod->uid);
    CHECK(!pod->name.empty() && !pod->name_space.empty());
    kube::Pod parsed;
    CHECK(parsed.ParseFromString(*pod->bytes), "pod {} does not parse back", pod->uid);
    CHECK(parsed.metadata().uid() == pod->uid);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Origin file{.source = "file", .node_name = "node", .location = "/m/a.yaml"};
  const auto decoded = DecodeManifest(bytes, file);
  CheckDecoded(decoded, file);
  const Origin url{.source = "http", .node_name = "node", .location = "http://host/pods"};
  const PollResult taken =
      InterpretReply(HttpReply{.code = 200, .status = "200 OK", .body = bytes}, "", url);
  using Kind = PollResult::Kind;
  CHECK(taken.kind == Kind::kFailed || taken.error.ok());
  CheckDecoded(taken.error.ok() ? StatusOr<DecodedPods>(taken.pods) : taken.error, url);
  CHECK(taken.kind != Kind::kPods || taken.body == bytes);
  const PollResult again =
      InterpretReply(HttpReply{.code = 200, .status = "200 OK", .body = bytes}, bytes, url);
  CHECK(again.kind == (bytes.empty() ? Kind::kEmpty : Kind::kUnchanged));
  return decoded.ok() ? 0 : -1;
}
