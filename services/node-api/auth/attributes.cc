#include "services/node-api/auth/attributes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace splitlet::node_api {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr auto kVerbs = std::to_array<Pair>({{"POST", "create"},
                                             {"GET", "get"},
                                             {"PUT", "update"},
                                             {"PATCH", "patch"},
                                             {"DELETE", "delete"}});
constexpr auto kAlone = std::to_array<Pair>({{"/stats", "stats"},
                                             {"/metrics", "metrics"},
                                             {"/logs", "log"},
                                             {"/checkpoint", "checkpoint"},
                                             {"/statusz", "statusz"},
                                             {"/flagz", "configz"}});
constexpr auto kOrProxy = std::to_array<Pair>({{"/pods", "pods"},
                                               {"/runningpods", "pods"},
                                               {"/healthz", "healthz"},
                                               {"/configz", "configz"}});

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  return path == top || (path.starts_with(top) && path[top.size()] == '/');
}

}  // namespace

std::string_view VerbOf(std::string_view method) {
  const auto* found = std::ranges::find(kVerbs, method, &Pair::first);
  return found == kVerbs.end() ? std::string_view{} : found->second;
}

std::vector<std::string_view> SubresourcesOf(std::string_view path) {
  for (const auto& [top, subresource] : kAlone)
    if (IsAtOrBelow(path, top)) return {subresource};
  for (const auto& [top, subresource] : kOrProxy)
    if (IsAtOrBelow(path, top)) return {subresource, "proxy"};
  return {"proxy"};
}

}  // namespace splitlet::node_api
