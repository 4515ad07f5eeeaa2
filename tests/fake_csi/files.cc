#include "tests/fake_csi/files.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "csi/v1/csi.pb.h"
#include "libs/csi/string_map.h"

namespace splitlet::fake_csi {
namespace {

Status Failed(const std::error_code& error, const std::string& path) {
  return Internal("{}: {}", path, error.message());
}

}  // namespace

Status MakeTarget(const ::csi::v1::NodePublishVolumeRequest& request) {
  const std::string& target = request.target_path();
  std::string file = target;
  if (!request.volume_capability().has_block()) {
    std::error_code error;
    std::filesystem::create_directory(target, error);
    if (error) return Failed(error, target);
    file += "/handle";
  }
  std::ofstream out(file);
  out << request.volume_id();
  out.close();
  if (!out) return Internal("cannot write {}", file);
  return OkStatus();
}

Status RemoveTarget(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path + "/handle", error);
  std::filesystem::remove(path, error);
  return error ? Failed(error, path) : OkStatus();
}

Status StateFile::Load(csi::FakeDriver& driver) const {
  if (path_.empty()) return OkStatus();
  std::ifstream in(path_);
  std::string staged, published;
  if (!std::getline(in, staged) || !std::getline(in, published)) return OkStatus();
  ASSIGN_OR_RETURN(auto staged_map, csi::ParseStringMap(staged), "{}", path_);
  ASSIGN_OR_RETURN(auto published_map, csi::ParseStringMap(published), "{}", path_);
  driver.Restore(std::move(staged_map), std::move(published_map));
  return OkStatus();
}

void StateFile::Save(const csi::FakeDriver& driver) {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex_);
  const std::string beside = path_ + ".new";
  std::ofstream(beside) << csi::WriteStringMap(driver.Staged()) << "\n"
                        << csi::WriteStringMap(driver.Published()) << "\n";
  std::filesystem::rename(beside, path_);
}

}  // namespace splitlet::fake_csi
