#pragma once

/// Certificates of one purpose in a folder, with a kubelet's names: a file for each, chain and key,
/// and a link to the newest. A kept key outlives a crash, so that the certificate that is asked for
/// with it can be had by the next start.
/// Owns:    <prefix>-<time>.pem, the links <prefix>-current.pem and <prefix>-updated.pem, and
///          <prefix>.key.tmp in the folder.
/// Killed:  between any two steps what `current` names is a whole pair; a link that was not moved
///          yet is moved by the next Load, and a file that was being written goes.
/// Threads: one at a time; calls block on the disk.
/// Errors:  those of files; INVALID_ARGUMENT for a pair that is none, FAILED_PRECONDITION for a
///          file where a link has to be.
/// Source:  client-go util/certificate, file store.

#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "libs/x509/certificate.h"

namespace splitlet::status {

class CertificateStore {
 public:
  struct Options {
    std::string folder;
    std::string prefix;    // "kubelet-client"
    uint32_t mode = 0600;  // of files with a key
  };
  CertificateStore(const Clock& clock, fs::FileSystem& files, Options options);

  /// The link to the newest pair.
  const std::string& current() const { return current_; }
  /// None: nothing was saved yet.
  StatusOr<std::optional<x509::Certificate>> Load();
  /// Returns what `current` names from now on. Earlier files stay.
  StatusOr<x509::Certificate> Save(const std::string& chain, const std::string& key);

  /// The kept one, or a new one that is kept from now on.
  StatusOr<std::string> EnsureKey();
  Status DropKey();

 private:
  Status CheckLink(const std::string& path) const;
  Status Recover();
  Status Point(const std::string& target);
  std::string DataPath() const;

  const Clock& clock_;
  fs::FileSystem& files_;
  const Options options_;
  const std::string current_, updated_, key_;
};

}  // namespace splitlet::status
