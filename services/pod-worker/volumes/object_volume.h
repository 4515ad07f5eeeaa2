#pragma once

/// configMap, secret, downwardAPI and projected: objects as files. Config maps are on disk, the
/// other kinds in memory only.
/// Threads: any; blocks on files and mounts.
/// Errors:  those of the payload and of the writer. On an error containers keep their files.
/// Source:  docs/behaviour/volumes.md, "Objects as files".

#include <span>

#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/pod/volume_traits.h"
#include "services/pod-worker/volumes/volume_dirs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class ObjectVolume final : public VolumePlugin {
 public:
  struct Kind {
    std::string_view folder;
    bool (*takes)(const VolumeSource& source);
    bool in_memory;
  };
  static std::span<const Kind> Kinds();
  struct Deps {
    fs::FileSystem& files;
    VolumeDirs& dirs;
    const Clock& clock;
    const NodeInfo& node;
  };
  ObjectVolume(Kind kind, Deps deps) : kind_(kind), deps_(deps) {}
  bool Takes(const VolumeSpec& spec) const override { return kind_.takes(spec.own()); }
  std::string_view folder() const override { return kind_.folder; }
  bool refreshes() const override { return true; }
  SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                    const VolumePlace& place) override;
  StatusOr<Progress> TearDown(const VolumePlace& place) override;

 private:
  const Kind kind_;
  const Deps deps_;
};

}  // namespace splitlet::pod_worker
