// Entry point of a fuzzer over the codec: for any bytes, decoding ends in an error or in a message
// that survives a round trip through bytes, JSON and YAML. tests/fuzz drives it over mutations of a
// corpus.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace {

using splitlet::kube::Strictness;

void CheckRoundTrip(const google::protobuf::Message& first) {
  const std::unique_ptr<google::protobuf::Message> back(first.New());
  CHECK(back->ParseFromString(first.SerializeAsString()), "its bytes do not parse back");
  const std::string json = splitlet::kube::ToJson(first);
  for (const auto& text : {json, splitlet::kube::ToYaml(first)}) {
    const std::unique_ptr<google::protobuf::Message> second(first.New());
    const auto again = splitlet::kube::DecodeInto(text, "again", Strictness::kStrict, *second);
    CHECK(again.ok(), "{} of {}", splitlet::ToString(again.status()), text);
    CHECK(splitlet::kube::ToJson(*second) == json, "{} became {}", json,
          splitlet::kube::ToJson(*second));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto decoded = splitlet::kube::Decode(text, "fuzz", Strictness::kLenient);
  if (decoded.ok()) CheckRoundTrip(*decoded->object);
  k8s::io::api::core::v1::Pod pod;
  if (splitlet::kube::DecodeInto(text, "fuzz", Strictness::kStrict, pod).ok()) CheckRoundTrip(pod);
  splitlet::kube::FindLine(text, "spec.containers[0].image");
  return decoded.ok() ? 0 : -1;
}
