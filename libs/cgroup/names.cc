#include "libs/cgroup/names.h"

#include <algorithm>

namespace splitlet::cgroup {

namespace {

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kPod = "pod";

std::string Escaped(std::string component) {
  std::replace(component.begin(), component.end(), '-', '_');
  return component;
}

}  // namespace

std::string CgroupfsPath(const Name& name) {
  std::string path;
  for (const std::string& component : name) path += "/" + component;
  return path.empty() ? "/" : path;
}

Name SliceName(const Name& name) {
  Name slices;
  std::string prefix;
  for (const std::string& component : name) {
    prefix += (prefix.empty() ? "" : "-") + Escaped(component);
    slices.push_back(prefix + std::string(kSlice));
  }
  return slices;
}

Name InTree(Driver driver, const Name& name) {
  return driver == Driver::kSystemd ? SliceName(name) : name;
}

bool IsSlice(const Name& name) { return !name.empty() && name.back().ends_with(kSlice); }

std::string SystemdPath(const Name& name) { return CgroupfsPath(SliceName(name)); }

StatusOr<Name> ParseCgroupfsPath(std::string_view path) {
  if (!path.starts_with('/')) return InvalidArgument("{} is not an absolute path", path);
  Name name;
  path.remove_prefix(1);
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    if (component.empty() || component == "." || component == "..")
      return InvalidArgument("\"{}\" is not the name of a cgroup", component);
    name.emplace_back(component);
    path.remove_prefix(std::min(component.size() + 1, path.size()));
  }
  return name;
}

StatusOr<Name> ParseExisting(Driver driver, std::string_view path) {
  auto name = ParseCgroupfsPath(path);
  if (!name.ok() || driver == Driver::kCgroupfs || name->empty()) return name;
  const std::string slice = name->back();
  const bool whole = slice.size() > kSlice.size() && !slice.starts_with('-') &&
                     slice.find("--") == std::string::npos &&
                     !slice.ends_with("-" + std::string(kSlice));
  if (!IsSlice(*name) || !whole) return InvalidArgument("{} is not a slice of systemd", path);
  name->clear();
  for (size_t at = slice.find('-'); at != std::string::npos; at = slice.find('-', at + 1))
    name->push_back(slice.substr(0, at) + std::string(kSlice));
  name->push_back(slice);
  return name;
}

Name NodeName(Name root) {
  root.emplace_back("kubepods");
  return root;
}

Name QosName(Name root, kube::QosClass qos) {
  Name name = NodeName(std::move(root));
  switch (qos) {
    case kube::QosClass::kGuaranteed: return name;
    case kube::QosClass::kBurstable: name.emplace_back("burstable"); return name;
    case kube::QosClass::kBestEffort: name.emplace_back("besteffort"); return name;
  }
  UNREACHABLE();
}

Name PodName(Name root, kube::QosClass qos, const std::string& uid) {
  Name name = QosName(std::move(root), qos);
  name.push_back(std::string(kPod) + uid);
  return name;
}

std::optional<std::string> PodUidOf(std::string_view component) {
  const bool slice = component.ends_with(kSlice);
  if (slice) {
    component.remove_suffix(kSlice.size());
    component.remove_prefix(component.rfind('-') + 1);  // npos + 1 is 0
  }
  if (!component.starts_with(kPod)) return std::nullopt;
  std::string uid(component.substr(kPod.size()));
  if (uid.empty() || uid.find(kPod) != std::string::npos) return std::nullopt;
  if (slice) std::replace(uid.begin(), uid.end(), '_', '-');
  return uid;
}

}  // namespace splitlet::cgroup
