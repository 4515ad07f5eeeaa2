#pragma once

/// A server's certificate and key and the CA of its clients, read from files again after changes.
/// Unusable files leave the last good ones in place.
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
    std::string certificate, key;  // paths; may be one file
  };
  struct Places {
    std::vector<Pair> pairs;  // the first that is there counts
    std::string client_ca;    // empty: clients are not asked for certificates
    // False: what was good first stays, whatever the file is later.
    bool reload_pair = true, reload_client_ca = true;
    bool made_here = false;  // another process makes the pair: a missing one is awaited (status.h)
  };
  TlsFiles(fs::FileSystem& files, TlsSettings settings, Places places)
      : files_(files), settings_(std::move(settings)), places_(std::move(places)) {}

  struct Found {
    bool changed = false;                              // since the last reading
    std::shared_ptr<const TlsContext> context;         // null: none yet
    std::shared_ptr<const ClientAuthority> authority;  // null: none
    Status problem;  // with what was there to be read; the rest stands
  };
  Found Look();
  /// Gives changes to `server`, and returns problems.
  Status Apply(Server& server);

 private:
  StatusOr<std::pair<std::string, std::string>> ReadPair();
  Status LookAtAuthority(Found& found);
  Status LookAtPair(Found& found);

  fs::FileSystem& files_;
  const TlsSettings settings_;
  const Places places_;
  std::string certificate_, key_, authority_pem_;                // as used now
  std::optional<std::pair<std::string, std::string>> for_good_;  // that is never read again
  std::shared_ptr<const TlsContext> context_;
  std::shared_ptr<const ClientAuthority> authority_;
};

}  // namespace splitlet::https
