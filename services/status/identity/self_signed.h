#pragma once

/// The certificate that the kubelet's HTTPS API is served with when nobody gave one: made once,
/// signed by the node itself.
/// In:      whether the files are there; the node's addresses.
/// Owns:    kubelet.crt and kubelet.key in the folder of certificates; a pair that is there stays,
///          even an expired one.
/// Killed:  the key is written first, and a key alone is made anew by the next start.
/// Threads: the loop's; files on a strand.
/// Errors:  trouble(): tried again each 30 s; a certificate without a key is somebody else's and
///          stays.
/// Source:  kubelet initializeServerTLS.

#include <string>

#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/x509/names.h"

namespace splitlet::status {

/// How long addresses are waited for; then it is for the name alone.
inline constexpr Duration kAddressPatience = std::chrono::seconds{15};

class SelfSigned {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    Log log;
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
  /// True: both are there.
  StatusOr<bool> Look() const;
  void Begin();
  void OnMade(const Status& made);

  Deps deps_;
  const Options options_;
  const std::string certificate_, key_;
  x509::Names names_;
  bool known_ = false, waited_ = false, working_ = false, done_ = false;
  std::string trouble_;
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::status
