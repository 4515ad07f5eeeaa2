#pragma once

/// A server's certificate, key and client CA, read from files again after changes. Unusable files
/// leave the last good ones in use.
/// Threads: one at a time; it blocks on the disk.
/// Errors:  of one reading, which may be repeated: NOT_FOUND: no certificate yet.
/// Source:  docs/behaviour/node-api.md, "TLS".

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/https/server.h"
#include "libs/https/tls.h"

namespace splitlet::https {

class TlsFiles {
 public:
  struct Pair {
    std::string certificate, key;  // paths; both may be the same file
  };
  struct Places {
    std::vector<Pair> pairs;  // the first existing pair counts
    std::string client_ca;    // empty: clients are not asked for a certificate
    // false: the first good version stays in use, whatever the file becomes
    bool reload_pair = true, reload_client_ca = true;
    bool made_here = false;  // another process creates the pair, so a missing one is awaited
                             // (status.h)
  };
  TlsFiles(fs::FileSystem& files, TlsSettings settings, Places places)
      : files_(files), settings_(std::move(settings)), places_(std::move(places)) {}

  struct Found {
    bool changed = false;                              // something changed since the last reading
    std::shared_ptr<const TlsContext> context;         // null: none yet
    std::shared_ptr<const ClientAuthority> authority;  // null: none
    Status problem;  // a problem of this reading; unaffected values stay valid
  };
  Found Look();
  /// Applies changes to `server`, and returns problems.
  Status Apply(Server& server);

 private:
  StatusOr<std::pair<std::string, std::string>> ReadPair();
  Status LookAtAuthority(Found& found);
  Status LookAtPair(Found& found);

  fs::FileSystem& files_;
  const TlsSettings settings_;
  const Places places_;
  std::string certificate_, key_, authority_pem_;                // in use now
  std::optional<std::pair<std::string, std::string>> for_good_;  // files that are never read again
  std::shared_ptr<const TlsContext> context_;
  std::shared_ptr<const ClientAuthority> authority_;
};

}  // namespace splitlet::https
