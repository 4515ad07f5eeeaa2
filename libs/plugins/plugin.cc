#include "libs/plugins/plugin.h"

#include <string_view>

#include "libs/base/text.h"

namespace splitlet::plugins {
namespace {

constexpr std::string_view kUnixScheme = "unix://";

Status CheckName(std::string_view field, const std::string& value) {
  if (value.empty()) return InvalidArgument("the {} is empty", field);
  if (value.size() > kMaxPluginName)
    return InvalidArgument("the {} has {} bytes, at most {} are taken", field, value.size(),
                           kMaxPluginName);
  if (!IsText(value)) return InvalidArgument("the {} is not UTF-8 without NUL", field);
  return OkStatus();
}

Status CheckEndpoint(std::string_view endpoint) {
  if (endpoint.starts_with(kUnixScheme)) endpoint.remove_prefix(kUnixScheme.size());
  if (endpoint.size() > kMaxSocketPath)
    return InvalidArgument("the endpoint has {} bytes, the address of a unix socket takes {}",
                           endpoint.size(), kMaxSocketPath);
  if (!IsText(endpoint)) return InvalidArgument("the endpoint is not UTF-8 without NUL");
  return OkStatus();
}

}  // namespace

std::vector<LogField> FieldsOf(const Plugin& plugin) {
  return {KV("plugin", plugin.name), KV("type", plugin.type), KV("endpoint", plugin.endpoint),
          KV("socketPath", plugin.socket)};
}

Status CheckPlugin(const Plugin& plugin) {
  // A plain return: the text already names the field.
  if (auto status = CheckName("type", plugin.type); !status.ok()) return status;
  if (auto status = CheckName("name", plugin.name); !status.ok()) return status;
  if (auto status = CheckEndpoint(plugin.endpoint); !status.ok()) return status;
  if (plugin.versions.size() > kMaxVersions)
    return InvalidArgument("there are {} supported versions, at most {} are taken",
                           plugin.versions.size(), kMaxVersions);
  for (const auto& version : plugin.versions) {
    if (version.size() > kMaxVersion)
      return InvalidArgument("a supported version has {} bytes, at most {} are taken",
                             version.size(), kMaxVersion);
    if (!IsText(version)) return InvalidArgument("a supported version is not UTF-8 without NUL");
  }
  return OkStatus();
}

}  // namespace splitlet::plugins
