#include "libs/cgroup/fake_systemd.h"

namespace splitlet::cgroup {

namespace {

constexpr const char* kPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr std::string_view kSlice = ".slice";

/// "a.slice", "a-b.slice": slices that must run for "a-b.slice".
std::vector<std::string> WithParents(const std::string& slice) {
  std::vector<std::string> all;
  for (size_t at = slice.find('-'); at != std::string::npos; at = slice.find('-', at + 1))
    all.push_back(slice.substr(0, at) + std::string(kSlice));
  all.push_back(slice);
  return all;
}

std::map<std::string, dbus::Value> ByName(const dbus::Items& properties) {
  std::map<std::string, dbus::Value> all;
  for (const dbus::Value& entry : properties.values) {
    const dbus::Values& pair = std::get<dbus::Fields>(entry.held).values;
    all[dbus::Get<std::string>(pair, 0).value()] = dbus::ValueAt(pair, 1).value();
  }
  return all;
}

}  // namespace

std::vector<std::string> FakeSystemd::PathsOf(const std::string& slice) const {
  std::string below;
  for (const std::string& each : WithParents(slice)) below += "/" + each;
  std::vector<std::string> paths;
  // The mounted version 1 controllers that systemd knows.
  for (const char* controller : {"", "cpu", "memory", "pids", "systemd"})
    if (const auto mount = layout_.mounts.find(controller); mount != layout_.mounts.end())
      paths.push_back(mount->second + below);
  return paths;
}

bool FakeSystemd::Runs(const std::string& slice) const {
  const auto unit = units_.find(slice);
  return unit != units_.end() && unit->second.runs;
}

std::vector<std::string> FakeSystemd::Running() const {
  std::vector<std::string> names;
  for (const auto& [name, unit] : units_)
    if (unit.runs) names.push_back(name);
  return names;
}

std::map<std::string, dbus::Value> FakeSystemd::PropertiesOf(const std::string& slice) const {
  const auto unit = units_.find(slice);
  return unit == units_.end() ? std::map<std::string, dbus::Value>() : unit->second.properties;
}

void FakeSystemd::StartUnit(const std::string& slice) {
  for (const std::string& each : WithParents(slice)) {
    Unit& unit = units_[each];
    unit.loaded = true;
    unit.runs = true;
    for (const std::string& path : PathsOf(each)) kernel_.MakeDir(path).IgnoreError();
  }
}

/// Stops the units inside first; a directory in use stays, as with systemd.
void FakeSystemd::StopUnit(const std::string& slice) {
  const std::string prefix = slice.substr(0, slice.size() - kSlice.size()) + "-";
  std::vector<std::string> going;
  for (const auto& [name, unit] : units_)
    if (name.starts_with(prefix)) going.push_back(name);
  for (auto it = going.rbegin(); it != going.rend(); ++it) StopUnit(*it);
  for (const std::string& path : PathsOf(slice)) kernel_.RemoveDir(path).IgnoreError();
  units_.erase(slice);
}

dbus::Values FakeSystemd::EndJob(const std::string& slice) {
  const auto id = static_cast<uint32_t>(++jobs_);
  const dbus::ObjectPath job{fmt::format("{}/job/{}", kPath, id)};
  if (!job_result_.empty())
    emit_({{kPath},
           kManager,
           "JobRemoved",
           {dbus::Value(id), dbus::Value(job), dbus::Value(slice), dbus::Value(job_result_)}});
  return {dbus::Value(job)};
}

StatusOr<dbus::Values> FakeSystemd::OnCall(const dbus::MethodCall& call) {
  if (const auto error = errors_.find(call.member); error != errors_.end())
    if (!error->second.ok()) return error->second;
  if (call.member == "Subscribe") return dbus::Values{};
  ASSIGN_OR_RETURN(const auto slice, dbus::Get<std::string>(call.arguments, 0), "unit");
  if (call.member == "StartTransientUnit") {
    ASSIGN_OR_RETURN(const auto given, dbus::Get<dbus::Items>(call.arguments, 2), "properties");
    if (units_[slice].loaded) return AlreadyExists("Unit {} was already loaded.", slice);
    StartUnit(slice);
    units_[slice].properties = ByName(given);
    return EndJob(slice);
  }
  if (call.member == "StartUnit") {
    StartUnit(slice);
    return EndJob(slice);
  }
  if (call.member == "StopUnit") {
    if (!units_.contains(slice)) return NotFound("Unit {} not loaded.", slice);
    StopUnit(slice);
    return EndJob(slice);
  }
  if (call.member == "SetUnitProperties") {
    ASSIGN_OR_RETURN(const auto given, dbus::Get<dbus::Items>(call.arguments, 2), "properties");
    for (const auto& [name, value] : ByName(given)) units_[slice].properties[name] = value;
    return dbus::Values{};
  }
  return Unimplemented("Unknown method {}", call.member);
}

}  // namespace splitlet::cgroup
