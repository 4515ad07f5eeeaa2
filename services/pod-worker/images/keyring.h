#pragma once

/// The credentials of registries in a docker configuration or a pull secret, and the choice of
/// those for an image.
/// Threads: values and pure functions, any.
/// Errors:  the reason only; they never quote a configuration, which holds passwords.
/// Source:  docs/behaviour/images.md, "Credentials".

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::pod_worker {

/// The secret that a credential comes from.
struct SecretRef {
  std::string uid, name_space, name;
  auto operator<=>(const SecretRef&) const = default;
};

/// The service account whose token a plugin exchanged for a credential.
struct AccountRef {
  std::string uid, name_space, name;
  auto operator<=>(const AccountRef&) const = default;
};

/// Without secret and account it is the node's.
struct Credential {
  std::string user, password;
  std::optional<SecretRef> secret;
  std::optional<AccountRef> account = {};
  std::string email = {};  // part of HashOf; no registry gets it
};

class Keyring {
 public:
  enum class Shape {
    kAuths,  // {"auths": {"registry": {...}}}, as in config.json
    kMap,    // {"registry": {...}}, as in .dockercfg
    kAuth,   // {"auth": {"registry": {...}}}, as credential provider plugins answer
  };
  /// All or nothing. A registry that cannot be parsed is left out, as by a kubelet.
  Status Add(std::string_view text, Shape shape, const std::optional<SecretRef>& secret);
  /// Marks all credentials as got with the account's token.
  void SetAccount(const AccountRef& account);
  bool HasPassword(std::string_view password) const;
  /// Behind its own credentials.
  void Append(const Keyring& other);
  /// The credentials for a repository ("docker.io/library/busybox"), the longest path first.
  std::vector<Credential> For(const std::string& repository) const;

 private:
  struct Entry {
    std::string key;  // "host[:port][/path]"
    Credential credential;
  };
  std::vector<Entry> entries_;
};

/// The name with its registry, without tag and digest: "docker.io/library/busybox" for "busybox:1".
std::string RepositoryOf(const std::string& image);

/// `key`: "*.example.com:5000/team".
bool KeyMatches(std::string_view key, std::string_view repository);

/// Identifies a credential in the records of pulls, as in a kubelet's: a SHA-256 in hex.
std::string HashOf(const Credential& credential);

}  // namespace splitlet::pod_worker
