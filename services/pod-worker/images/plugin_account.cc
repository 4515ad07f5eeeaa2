#include "services/pod-worker/images/plugin_account.h"

#include "libs/base/sha256.h"
#include "libs/base/status.h"

namespace splitlet::pod_worker {

namespace {

/// The length keeps different lists of parts different.
void AddPart(std::string& key, const std::string& part) {
  key += fmt::format("{}:{},", part.size(), part);
}

}  // namespace

std::optional<std::map<std::string, std::string>> AnnotationsFor(
    const TokenAttributes& attributes, const std::map<std::string, std::string>& all) {
  std::map<std::string, std::string> given;
  for (const auto& key : attributes.required_annotations) {
    const auto found = all.find(key);
    if (found == all.end()) return std::nullopt;
    given.insert(*found);
  }
  for (const auto& key : attributes.optional_annotations)
    if (const auto found = all.find(key); found != all.end()) given.insert(*found);
  return given;
}

std::string AnswerKey(TokenAttributes::CacheType type, const PluginAccount& account) {
  std::string key;
  for (const auto* part : {&account.who.name_space, &account.who.name, &account.who.uid})
    AddPart(key, *part);
  for (const auto& [name, value] : account.annotations) {
    AddPart(key, name);
    AddPart(key, value);
  }
  if (type == TokenAttributes::CacheType::kToken) key += "token " + Sha256Hex(account.token);
  return Sha256Hex(key);
}

}  // namespace splitlet::pod_worker
