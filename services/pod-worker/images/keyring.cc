#include "services/pod-worker/images/keyring.h"

#include <fnmatch.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>

#include "libs/base/sha256.h"
#include "libs/kube/image_name.h"
#include "libs/kube/text_writer.h"
#include "libs/kube/time_text.h"

namespace splitlet::pod_worker {

namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr std::string_view kHub = "index.docker.io";
constexpr std::string_view kDefaultRegistry = "docker.io";

struct Address {
  std::string_view host, port, path;
};

/// Splits "host[:port][/path]"; the path keeps its slash.
Address Split(std::string_view text) {
  Address address;
  const size_t slash = std::min(text.find('/'), text.size());
  address.path = text.substr(slash);
  const std::string_view host = text.substr(0, slash);
  const size_t colon = host.rfind(':');
  address.host = host.substr(0, colon);
  if (colon != std::string_view::npos) address.port = host.substr(colon + 1);
  return address;
}

/// Empty: not an address.
std::string KeyOf(std::string_view registry) {
  if (const size_t scheme = registry.find("://"); scheme != std::string_view::npos)
    registry.remove_prefix(scheme + 3);
  if (registry.empty() || registry.find_first_of(" \t\n%?#@") != std::string_view::npos) return {};
  const size_t slash = std::min(registry.find('/'), registry.size());
  const std::string host(registry.substr(0, slash));
  std::string_view path = registry.substr(slash);
  if (path.starts_with("/v1/") || path.starts_with("/v2/")) path.remove_prefix(3);
  if (path == "/") path = {};
  return host.empty() ? std::string() : host + std::string(path);
}

std::string TextOf(const Struct& object, const std::string& key) {
  const auto found = object.fields().find(key);
  return found == object.fields().end() ? std::string() : found->second.string_value();
}

StatusOr<Credential> ReadEntry(const Struct& object) {
  Credential credential{.user = TextOf(object, "username"),
                        .password = TextOf(object, "password"),
                        .email = TextOf(object, "email")};
  const std::string auth = TextOf(object, "auth");
  if (auth.empty()) return credential;
  auto decoded = kube::DecodeBase64(auth);
  for (const char* padding : {"=", "=="})
    if (!decoded.ok()) decoded = kube::DecodeBase64(auth + padding);
  const size_t colon = decoded.ok() ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos) return InvalidArgument("auth is not \"user:password\" in base64");
  credential.user = decoded->substr(0, colon);
  credential.password = decoded->substr(colon + 1);
  return credential;
}

bool LabelsMatch(std::string_view pattern, std::string_view host) {
  while (true) {
    const size_t a = std::min(pattern.find('.'), pattern.size()),
                 b = std::min(host.find('.'), host.size());
    if (fnmatch(std::string(pattern.substr(0, a)).c_str(), std::string(host.substr(0, b)).c_str(),
                0) != 0)
      return false;
    if (a == pattern.size() || b == host.size()) return a == pattern.size() && b == host.size();
    pattern.remove_prefix(a + 1);
    host.remove_prefix(b + 1);
  }
}

bool IsOfHub(std::string_view repository) {
  return repository.starts_with(std::string(kDefaultRegistry) + "/");
}

}  // namespace

Status Keyring::Add(std::string_view text, Shape shape, const std::optional<SecretRef>& secret) {
  Struct document;
  if (!google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &document).ok())
    return InvalidArgument("not a JSON object");
  if (shape != Shape::kMap) {
    const char* const name = shape == Shape::kAuths ? "auths" : "auth";
    const Value part = document.fields().contains(name) ? document.fields().at(name) : Value();
    if (part.kind_case() != Value::KIND_NOT_SET && !part.has_null_value() &&
        !part.has_struct_value())
      return InvalidArgument("{} is not an object", name);
    document = Struct(part.struct_value());
  }
  std::map<std::string, Credential> read;  // ordered: the map of the document is not
  for (const auto& [registry, value] : document.fields()) {
    if (!value.has_struct_value())
      return InvalidArgument("the entry of a registry is not an object");
    auto credential = ReadEntry(value.struct_value());
    if (!credential.ok()) return credential.status();
    credential->secret = secret;
    read[registry] = *std::move(credential);
  }
  for (auto& [registry, credential] : read)
    if (std::string key = KeyOf(registry); !key.empty())
      entries_.push_back({std::move(key), std::move(credential)});
  return OkStatus();
}

void Keyring::SetAccount(const AccountRef& account) {
  for (auto& entry : entries_) entry.credential.account = account;
}

bool Keyring::HasPassword(std::string_view password) const {
  return std::ranges::any_of(
      entries_, [password](const Entry& entry) { return entry.credential.password == password; });
}

void Keyring::Append(const Keyring& other) {
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
}

std::vector<Credential> Keyring::For(const std::string& repository) const {
  std::vector<const Entry*> found;
  for (const auto& entry : entries_)
    if (KeyMatches(entry.key, repository)) found.push_back(&entry);
  if (found.empty() && IsOfHub(repository))
    for (const auto& entry : entries_)
      if (entry.key == kHub) found.push_back(&entry);
  std::ranges::stable_sort(found, [](const Entry* a, const Entry* b) { return a->key > b->key; });
  std::vector<Credential> credentials;
  for (const Entry* entry : found) credentials.push_back(entry->credential);
  return credentials;
}

std::string RepositoryOf(const std::string& image) {
  std::string name = kube::NormalImageName(image);
  name = name.substr(0, name.find('@'));
  const size_t slash = name.rfind('/'), colon = name.rfind(':');
  const bool has_tag = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return has_tag ? name.substr(0, colon) : name;
}

bool KeyMatches(std::string_view key, std::string_view repository) {
  const Address pattern = Split(key), image = Split(repository);
  return pattern.port == image.port && LabelsMatch(pattern.host, image.host) &&
         image.path.starts_with(pattern.path);
}

std::string HashOf(const Credential& credential) {
  kube::JsonWriter json(0);
  json.BeginMap();
  const auto put = [&json](std::string_view key, const std::string& text) {
    if (text.empty()) return;
    json.Key(key);
    json.String(text);
  };
  put("username", credential.user);
  put("password", credential.password);
  put("email", credential.email);
  json.EndMap();
  return Sha256Hex(json.Take());
}

}  // namespace splitlet::pod_worker
