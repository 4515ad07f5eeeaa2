#pragma once

/// The certificates of one purpose in a folder, named as a kubelet names them: a file with chain
/// and key for each certificate, and a link to the newest. The key of a running request is saved,
/// so that the next start can use the certificate that is signed for it.
/// Owns:    <prefix>-<time>.pem, the links <prefix>-current.pem and <prefix>-updated.pem, and
///          <prefix>.key.tmp in the folder.
/// Killed:  between any two steps `current` names a complete pair. The next Load moves a link that
///          was not moved, and removes a file that was not completed.
/// Threads: one at a time; calls block on the disk.
/// Errors:  those of files; INVALID_ARGUMENT if chain and key do not belong together;
///          FAILED_PRECONDITION if a file stands where a link must be.
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
    uint32_t mode = 0600;  // mode of files with a key
  };
  CertificateStore(const Clock& clock, fs::FileSystem& files, Options options);

  /// The link to the newest pair.
  const std::string& current() const { return current_; }
  /// The newest certificate; nothing: none was saved yet.
  StatusOr<std::optional<x509::Certificate>> Load();
  /// Saves the pair, points `current` to it, and returns its certificate. Earlier files stay.
  StatusOr<x509::Certificate> Save(const std::string& chain, const std::string& key);

  /// The saved key of a request, or a new key, which is saved.
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
