// A fuzz target over a runtime's answers: for any answer, the records made from it can be parsed
// again.

#include <google/protobuf/stubs/logging.h>

#include "libs/cri/convert.h"
#include "libs/cri/observe.h"
#include "runtime/v1/api.pb.h"
#include "splitlet/v1/records.pb.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;       // NOLINT(google-build-using-namespace): one target
using namespace splitlet::cri;  // NOLINT(google-build-using-namespace): one target

constexpr size_t kMaxRecordBytes = 64u << 10;

template <class Record>
void CheckRecord(const Record& record) {
  const std::string bytes = record.SerializeAsString();
  CHECK(bytes.size() <= kMaxRecordBytes, "{} bytes", bytes.size());
  CHECK(Record().ParseFromString(bytes), "does not parse back");
}

/// Serialised as by a library without UTF-8 checks.
void CheckStrings(const std::string& bytes) {
  Sandbox sandbox;
  sandbox.id = SandboxId(bytes);
  sandbox.pod_name = sandbox.pod_namespace = sandbox.pod_uid = sandbox.runtime_handler = bytes;
  sandbox.ips = {bytes, "10.0.0.1"};
  sandbox.annotations = {{"splitlet.dev/node", bytes}, {"kubernetes.io/config.source", bytes}};
  CheckRecord(ToRecord(sandbox));
  Container container;
  container.id = ContainerId(bytes);
  container.sandbox_id = SandboxId(bytes);
  container.state = ContainerState::kExited;
  container.name = container.reason = container.message = bytes;
  container.image = container.image_ref = container.image_id = container.log_path = bytes;
  for (const char* key : {"io.kubernetes.container.hash", "io.kubernetes.container.restartCount",
                          "io.kubernetes.pod.terminationGracePeriod",
                          "io.kubernetes.container.terminationMessagePath",
                          "io.kubernetes.container.terminationMessagePolicy"})
    container.annotations[key] = bytes;
  CheckRecord(ToRecord(container));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckStrings(std::string(bytes));
  const int length = static_cast<int>(size);
  bool taken = false;
  runtime::v1::ListPodSandboxResponse sandboxes;
  if (sandboxes.ParseFromArray(data, length)) {
    taken = true;
    for (const auto& sandbox : FromProto(sandboxes)) CheckRecord(ToRecord(sandbox));
  }
  runtime::v1::ListContainersResponse containers;
  if (containers.ParseFromArray(data, length)) {
    taken = true;
    for (const auto& container : FromProto(containers)) CheckRecord(ToRecord(container));
  }
  const auto check_status = [&](auto answer) {
    if (!answer.ParseFromArray(data, length)) return;
    const auto known = FromProto(answer);
    if (!known.ok()) return;
    taken = true;
    CheckRecord(ToRecord(*known));
  };
  check_status(runtime::v1::PodSandboxStatusResponse());
  check_status(runtime::v1::ContainerStatusResponse());
  return taken ? 0 : -1;
}

FuzzCorpus MakeFuzzCorpus() {
  google::protobuf::SetLogHandler(nullptr);  // otherwise it logs each input
  FuzzCorpus corpus;
  const auto add = [&corpus](const google::protobuf::Message& message) {
    corpus.inputs.push_back(message.SerializeAsString());
  };
  runtime::v1::PodSandboxStatusResponse sandbox;
  auto& status = *sandbox.mutable_status();
  status.set_id("s1");
  status.mutable_metadata()->set_name("web");
  status.mutable_metadata()->set_namespace_("default");
  status.mutable_metadata()->set_uid("uid-1");
  status.set_created_at(1);
  status.mutable_network()->set_ip("10.0.0.1");
  (*status.mutable_annotations())["splitlet.dev/node"] = "state/node";
  add(sandbox);
  runtime::v1::ListPodSandboxResponse sandboxes;
  auto& item = *sandboxes.add_items();
  item.set_id("s1");
  *item.mutable_metadata() = status.metadata();
  (*item.mutable_labels())["io.kubernetes.pod.uid"] = "uid-1";
  add(sandboxes);
  runtime::v1::ContainerStatusResponse container;
  auto& c = *container.mutable_status();
  c.set_id("c1");
  c.mutable_metadata()->set_name("app");
  c.set_created_at(1);
  c.set_state(runtime::v1::CONTAINER_EXITED);
  c.mutable_image()->set_image("busybox");
  c.set_image_ref("sha256:1");
  c.set_message("OOM");
  (*c.mutable_annotations())["io.kubernetes.container.restartCount"] = "3";
  add(container);
  runtime::v1::ListContainersResponse containers;
  auto& listed = *containers.add_containers();
  listed.set_id("c1");
  *listed.mutable_metadata() = c.metadata();
  *listed.mutable_image() = c.image();
  add(containers);
  corpus.tokens = {"\xFF",
                   "\xE2\x82",
                   std::string(1, '\0'),
                   "\xED\xB0\x80",
                   std::string(5000, 'x'),
                   "9223372036854775808",
                   "-1",
                   "\x80"};
  return corpus;
}
