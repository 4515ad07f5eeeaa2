#include "libs/kube/pod_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <atomic>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {

namespace {

std::atomic<uint64_t> parses_of_all{0};

bool ParseInto(const std::string& bytes, Pod& pod) {
  parses_of_all.fetch_add(1, std::memory_order_relaxed);
  return pod.ParseFromString(bytes);
}

Status NoPod() { return InvalidArgument("the bytes are no pod"); }

}  // namespace

std::string SerializeStable(const Pod& pod) {
  std::string bytes;
  bytes.reserve(pod.ByteSizeLong());
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  CHECK(pod.SerializeToCodedStream(&coded), "a string takes all bytes");
  coded.Trim();
  return bytes;
}

StatusOr<Pod> ParsePod(const std::string& bytes) {
  Pod pod;
  if (!ParseInto(bytes, pod)) return NoPod();
  return pod;
}

PodBytes::PodBytes() {
  static const auto empty = std::make_shared<const std::string>();
  bytes_ = empty;
}

PodBytes PodBytes::Of(const Pod& pod) { return PodBytes(SerializeStable(pod)); }

StatusOr<PodBytes> PodBytes::Check(std::string bytes) {
  if (Pod pod; !ParseInto(bytes, pod)) return NoPod();
  return PodBytes(std::move(bytes));
}

StatusOr<ParsedPod> PodBytes::CheckAndParse(std::string bytes) {
  auto pod = std::make_shared<Pod>();
  if (!ParseInto(bytes, *pod)) return NoPod();
  return ParsedPod{PodBytes(std::move(bytes)), std::move(pod)};
}

Pod PodBytes::Parse() const {
  Pod pod;
  CHECK(ParseInto(*bytes_, pod), "bytes that were checked are a pod");
  return pod;
}

uint64_t PodBytes::parses() { return parses_of_all.load(std::memory_order_relaxed); }

std::shared_ptr<const Pod> ParsedPod::Get() const {
  return pod != nullptr ? pod : std::make_shared<const Pod>(bytes.Parse());
}

}  // namespace splitlet::kube
