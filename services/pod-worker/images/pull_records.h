#pragma once

/// The images that this node pulled and the credentials of the pulls, so that not every pod may use
/// a private image. The files below <root-dir>/image_manager are a kubelet's.
/// Owns:    the intent `pulling/sha256-<image>`, from before a pull until its record is written,
///          and the record `pulled/sha256-<image id>`.
/// Killed:  between a pull and its record the intent stays. Settle turns it into a record without
///          credentials, so that each pod has to pull the image again.
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

/// An image: `name` as the pod writes it, `ref` as the runtime returned it.
struct ImageIdentity {
  std::string name, ref;
};

/// The origin of an image of the node, by the records of its pulls.
struct PullOrigin {
  bool pulled_here = false;
  /// Credentials of the pods that pulled the image by this name; unset: no such pull is recorded.
  std::optional<v1::ImagePullCredentialsRecord> credentials;
};

class PullRecords {
 public:
  PullRecords(fs::FileSystem& files, const Clock& clock, const std::string& root_dir);

  Status PutIntent(const std::string& image);
  Status RemoveIntent(const std::string& image);
  /// A registry accepted these credentials, or a pull without (unset); or a pod has equal ones.
  Status AddAccess(const ImageIdentity& image, const std::optional<Credential>& used);
  StatusOr<PullOrigin> Find(const ImageIdentity& image) const;
  bool IsEmpty() const;
  /// At the start and every few minutes, on the strand of the writes. Intents of images that exist
  /// become records. Records of images that are gone and unfinished files are removed.
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
