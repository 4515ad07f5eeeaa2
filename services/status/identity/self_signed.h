#pragma once

/// The certificate that the kubelet's HTTPS API is served with if no other one is configured: made
/// once, signed by the node itself.
/// In:      whether the files exist; the node's addresses.
/// Owns:    kubelet.crt and kubelet.key in the certificate folder. An existing pair stays, even an
///          expired one.
/// Killed:  the key is written first; if only a key exists, the next start makes a new pair.
/// Threads: the loop's; files on a strand.
/// Errors:  trouble(); tried again every 30 s. A certificate without a key belongs to an
///          administrator and stays.
/// Source:  kubelet initializeServerTLS.

#include <string>

#include "libs/base/log.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/x509/names.h"

namespace splitlet::status {

/// After this time without addresses, the certificate is made for the name alone.
inline constexpr Duration kAddressPatience = std::chrono::seconds{15};

class SelfSigned {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
  };
  struct Options {
    std::string folder, host;
    uint32_t key_mode = 0600;
  };
  SelfSigned(Deps deps, Options options);
  ~SelfSigned();
  SelfSigned(const SelfSigned&) = delete;
  SelfSigned& operator=(const SelfSigned&) = delete;

  void Start();
  void OnAddresses(const x509::Names& names);
  bool done() const { return done_; }
  const std::string& trouble() const { return trouble_; }

 private:
  Status Make(const x509::Names& names) const;
  /// True: both files exist.
  StatusOr<bool> HasPair() const;
  bool HasAddresses() const { return !names_.addresses.empty(); }
  void Begin();
  void OnMade(const Status& made);

  Deps deps_;
  const Options options_;
  const std::string certificate_, key_;
  x509::Names names_;
  bool waited_ = false, working_ = false, done_ = false;
  std::string trouble_;
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::status
