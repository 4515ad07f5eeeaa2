#include "libs/fs/state_id.h"

namespace splitlet::fs {

StatusOr<std::string> EnsureStateId(FileSystem& files, const std::string& state_dir,
                                    const std::string& fresh) {
  const std::string path = state_dir + "/state-id";
  RETURN_IF_ERROR(files.MakeDirs(state_dir, 0750), "make {}", state_dir);
  const Status made = files.MakeSymlink(fresh, path);
  if (!made.ok() && made.code() != StatusCode::kAlreadyExists) return Annotate(made, path);
  return Annotate(files.ReadSymlink(path), path);
}

StatusOr<std::string> RandomStateId(FileSystem& files) {
  const std::string path = "/proc/sys/kernel/random/uuid";
  ASSIGN_OR_RETURN(std::string id, files.Read(path, 100), "read {}", path);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace splitlet::fs
