#include "services/config-source/sources/pod_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::config_source {

std::string SerializeStable(const kube::Pod& pod) {
  std::string bytes;
  bytes.reserve(pod.ByteSizeLong());
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  pod.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace splitlet::config_source
