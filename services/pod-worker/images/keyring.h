#pragma once

/// The credentials of registries that a docker configuration or a pull secret has, and which of
/// them are for an image.
/// Threads: values and pure functions, any.
/// Errors:  what is wrong with a configuration; never a part of it, since it holds passwords.
/// Source:  docs/behaviour/images.md, "Credentials".

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::pod_worker {

/// The secret that credentials come from.
struct SecretRef {
  std::string uid, name_space, name;
  auto operator<=>(const SecretRef&) const = default;
};

/// The service account of a pod whose token a plugin was given for credentials.
struct AccountRef {
  std::string uid, name_space, name;
  auto operator<=>(const AccountRef&) const = default;
};

/// Without secret and account they are the node's.
struct Credential {
  std::string user, password;
  std::optional<SecretRef> secret;
  std::optional<AccountRef> account = {};
  std::string email = {};  // no registry is told; a part of what HashOf tells apart
};

class Keyring {
 public:
  enum class Shape {
    kAuths,  // {"auths": {"registry": {...}}}, as in config.json
    kMap,    // {"registry": {...}}, as in .dockercfg
    kAuth,   // {"auth": {"registry": {...}}}, as credential provider plugins answer
  };
  /// All or nothing. A registry that cannot be understood is left out, as by a kubelet.
  Status Add(std::string_view text, Shape shape, const std::optional<SecretRef>& secret);
  /// All that it has came by the account's token.
  void SetAccount(const AccountRef& account);
  bool HasPassword(std::string_view password) const;
  /// After its own.
  void Append(const Keyring& other);
  /// Those for a repository ("docker.io/library/busybox"): of the longest path first.
  std::vector<Credential> For(const std::string& repository) const;

 private:
  struct Entry {
    std::string key;  // "host[:port][/path]"
    Credential credential;
  };
  std::vector<Entry> entries_;
};

/// With its registry, without tag and digest: "busybox:1" is "docker.io/library/busybox".
std::string RepositoryOf(const std::string& image);

/// Whether a key as "*.example.com:5000/team" is for the repository.
bool KeyMatches(std::string_view key, std::string_view repository);

/// What tells credentials apart in the records of pulls, as a kubelet has it: a SHA-256 in hex.
std::string HashOf(const Credential& credential);

}  // namespace splitlet::pod_worker
