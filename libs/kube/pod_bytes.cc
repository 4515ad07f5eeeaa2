#include "libs/kube/pod_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {

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

PodBytes::PodBytes() {
  static const auto empty = std::make_shared<const std::string>();
  bytes_ = empty;
}

PodBytes PodBytes::Of(const Pod& pod) { return PodBytes(SerializeStable(pod)); }

StatusOr<PodBytes> PodBytes::Check(std::string bytes) {
  if (!Pod().ParseFromString(bytes)) return InvalidArgument("the bytes are no pod");
  return PodBytes(std::move(bytes));
}

Pod PodBytes::Parse() const {
  Pod pod;
  CHECK(pod.ParseFromString(*bytes_), "bytes that were checked are a pod");
  return pod;
}

}  // namespace splitlet::kube
