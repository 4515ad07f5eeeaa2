#include "services/status/identity/certificate_store.h"

#include <array>
#include <ctime>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/fs/unfinished.h"
#include "libs/x509/key.h"
#include "services/status/identity/pem_files.h"

namespace splitlet::status {
namespace {

bool IsMissing(const Status& status) { return status.code() == StatusCode::kNotFound; }

}  // namespace

CertificateStore::CertificateStore(const Clock& clock, fs::FileSystem& files, Options options)
    : clock_(clock),
      files_(files),
      options_(std::move(options)),
      current_(options_.folder + "/" + options_.prefix + "-current.pem"),
      updated_(options_.folder + "/" + options_.prefix + "-updated.pem"),
      key_(options_.folder + "/" + options_.prefix + ".key.tmp") {}

/// A file that this program did not make is not replaced by a link.
Status CertificateStore::CheckLink(const std::string& path) const {
  const auto info = files_.Stat(path, false);
  if (IsMissing(info.status())) return OkStatus();
  if (!info.ok()) return info.status();
  if (info->kind == fs::FileInfo::Kind::kSymlink) return OkStatus();
  return FailedPrecondition("expected \"{}\" to be a symlink but it is a file", path);
}

Status CertificateStore::Recover() {
  // Incomplete files hold keys. No later write would replace them: each file has its own name.
  RETURN_IF_ERROR(fs::RemoveUnfinished(files_, options_.folder, options_.prefix), "certificates");
  RETURN_IF_ERROR(CheckLink(current_), "certificates");
  RETURN_IF_ERROR(CheckLink(updated_), "certificates");
  if (files_.Stat(current_, true).ok() || !files_.Stat(updated_, true).ok()) return OkStatus();
  return files_.Rename(updated_, current_);
}

StatusOr<std::optional<x509::Certificate>> CertificateStore::Load() {
  RETURN_IF_ERROR(Recover(), "recover {}", current_);
  const auto text = files_.Read(current_, kMaxPemFile);
  if (IsMissing(text.status())) return std::optional<x509::Certificate>();
  if (!text.ok()) return Annotate(text.status(), current_);
  ASSIGN_OR_RETURN(x509::Certificate leaf, x509::CheckPair(*text, *text), "{}", current_);
  return std::optional(std::move(leaf));
}

/// "2026-01-02-03-04-05", in local time.
std::string CertificateStore::DataPath() const {
  const std::time_t now =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch()).count();
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d-%H-%M-%S", &parts);
  return fmt::format("{}/{}-{}.pem", options_.folder, options_.prefix,
                     std::string_view(text.data(), length));
}

Status CertificateStore::Point(const std::string& target) {
  FAIL_POINT("status.link-certificate.before");
  RETURN_IF_ERROR(CheckLink(current_), "certificates");
  RETURN_IF_ERROR(files_.Remove(updated_), "remove {}", updated_);
  RETURN_IF_ERROR(files_.MakeSymlink(target, updated_), "link {}", updated_);
  FAIL_POINT("status.link-certificate.between");
  RETURN_IF_ERROR(files_.Rename(updated_, current_), "rename {}", updated_);
  FAIL_POINT("status.link-certificate.after");
  return OkStatus();
}

StatusOr<x509::Certificate> CertificateStore::Save(const std::string& chain,
                                                   const std::string& key) {
  ASSIGN_OR_RETURN(x509::Certificate leaf, x509::CheckPair(chain, key), "certificate");
  const std::string path = DataPath();
  FAIL_POINT("status.save-certificate.before");
  RETURN_IF_ERROR(files_.MakeDirs(options_.folder, kPemFolderMode), "make {}", options_.folder);
  const std::string text = chain + (chain.ends_with('\n') ? "" : "\n") + key;
  RETURN_IF_ERROR(files_.Replace(path, text, {.fsync = true, .mode = options_.mode}), "write {}",
                  path);
  FAIL_POINT("status.save-certificate.after");
  RETURN_IF_ERROR(Point(path), "certificates");
  return leaf;
}

StatusOr<std::string> CertificateStore::EnsureKey() {
  const auto kept = files_.Read(key_, kMaxPemFile);
  if (kept.ok() && x509::PublicKeyOf(*kept).ok()) return *kept;
  ASSIGN_OR_RETURN(const std::string made, x509::MakeKey(x509::KeyKind::kEcP256), "key");
  FAIL_POINT("status.save-key.before");
  RETURN_IF_ERROR(files_.MakeDirs(options_.folder, kPemFolderMode), "make {}", options_.folder);
  RETURN_IF_ERROR(files_.Replace(key_, made, {.fsync = true, .mode = 0600}), "write {}", key_);
  FAIL_POINT("status.save-key.after");
  return made;
}

Status CertificateStore::DropKey() { return files_.Remove(key_); }

}  // namespace splitlet::status
