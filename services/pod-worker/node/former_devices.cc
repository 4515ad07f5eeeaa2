#include "services/pod-worker/node/former_devices.h"

#include <rapidjson/document.h>

#include <algorithm>

#include "libs/kube/names.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr uint64_t kMaxCheckpoint = 16u << 20;  // with all devices of all pods
constexpr size_t kMaxResources = 1000;

}  // namespace

StatusOr<std::vector<std::string>> ReadFormerDevices(fs::FileSystem& files,
                                                     const std::string& root_dir) {
  const std::string path = root_dir + "/device-plugins/kubelet_internal_checkpoint";
  const auto text = files.Read(path, kMaxCheckpoint);
  std::vector<std::string> names;
  if (text.status().code() == StatusCode::kNotFound) return names;
  RETURN_IF_ERROR(text, "{}", path);
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text->data(), text->size());
  if (document.HasParseError() || !document.IsObject())
    return InvalidArgument("{}: not a JSON object", path);
  // Constant, since iterators of what may change compare ambiguously.
  const rapidjson::Value& root = document;
  const auto data = root.FindMember("Data");
  if (data == root.MemberEnd() || !data->value.IsObject())
    return InvalidArgument("{}: Data: want an object", path);
  const auto devices = data->value.FindMember("RegisteredDevices");
  if (devices == data->value.MemberEnd() || devices->value.IsNull()) return names;
  if (!devices->value.IsObject())
    return InvalidArgument("{}: Data.RegisteredDevices: want an object", path);
  for (const auto& device : devices->value.GetObject()) {
    std::string name(device.name.GetString(), device.name.GetStringLength());
    if (const std::string problem = kube::CheckQualifiedName(name); !problem.empty())
      return InvalidArgument("{}: Data.RegisteredDevices: \"{}\": {}", path, name, problem);
    names.push_back(std::move(name));
  }
  if (names.size() > kMaxResources)
    return InvalidArgument("{}: Data.RegisteredDevices: {} resources, more than {}", path,
                           names.size(), kMaxResources);
  std::ranges::sort(names);
  return names;
}

void AddFormerDevices(const StatusOr<std::vector<std::string>>& devices, NodeRecord& record,
                      const Log& log) {
  if (!devices.ok())
    return log.Error("cannot read the devices of a former kubelet: pods that ask for one may start",
                     {KV("err", devices.status())});
  if (devices->empty()) return;
  log.Warn("device resources of a former kubelet are 0 on this node",
           {KV("resources", fmt::format("{}", fmt::join(*devices, ", ")))});
  record.Change([&devices](v1::WorkerNode& node) {
    for (const std::string& name : *devices) node.add_devices()->set_name(name);
  });
}

}  // namespace splitlet::pod_worker
