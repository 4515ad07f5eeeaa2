#pragma once

/// What this node remembers of the images that it pulled and of the credentials they came with, so
/// that a private image is no gift to every pod: the kubelet's files below
/// <root-dir>/image_manager.
/// Owns:    `pulling/sha256-<image>` from before a pull until its record is written, and
///          `pulled/sha256-<image id>`.
/// Killed:  between a pull and its record the intent stays; Settle makes a record without
///          credentials of it, so that the image has to be pulled again by whoever wants it.
/// Threads: writes on one strand; reads on any.
/// Errors:  of files, with their path.
/// Source:  docs/behaviour/images.md, "Whose image it is".

#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/images/keyring.h"
#include "splitlet/v1/pull_records.pb.h"

namespace splitlet::pod_worker {

/// An image as the pod writes it and as the runtime calls it.
struct ImageIdentity {
  std::string name, ref;
};

/// What the records say of an image that is there.
struct PullOrigin {
  bool pulled_here = false;
  /// By pods that had these; unset: nothing is known of this name of it.
  std::optional<v1::ImagePullCredentialsRecord> credentials;
};

class PullRecords {
 public:
  PullRecords(fs::FileSystem& files, const Clock& clock, const std::string& root_dir);

  Status PutIntent(const std::string& image);
  Status RemoveIntent(const std::string& image);
  /// A registry took these credentials, or none (unset); also of a pod that showed equal ones.
  Status AddAccess(const ImageIdentity& image, const std::optional<Credential>& used);
  StatusOr<PullOrigin> Find(const ImageIdentity& image) const;
  bool IsEmpty() const;
  /// At the start and now and then: intents of images that are there become records; records of
  /// images that are not go, and so does what was being written when its process was killed. While
  /// nobody writes any.
  Status Settle(const std::vector<cri::Image>& images);

 private:
  StatusOr<std::optional<v1::ImagePulledRecord>> Read(const std::string& ref) const;
  std::string Now() const;
  Status Write(const v1::ImagePulledRecord& record);

  fs::FileSystem& files_;
  const Clock& clock_;
  const std::string pulling_, pulled_;
};

}  // namespace splitlet::pod_worker
