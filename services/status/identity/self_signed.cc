#include "services/status/identity/self_signed.h"

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/fs/unfinished.h"
#include "libs/x509/authority.h"
#include "services/status/identity/pem_files.h"

namespace splitlet::status {
namespace {

constexpr const char* kSelfSignedStrand = "self-signed";
constexpr Duration kAgain = std::chrono::seconds{30};
constexpr uint32_t kCertificateMode = 0644;

}  // namespace

SelfSigned::SelfSigned(Deps deps, Options options)
    : deps_(std::move(deps)),
      options_(std::move(options)),
      certificate_(options_.folder + "/kubelet.crt"),
      key_(options_.folder + "/kubelet.key") {}

SelfSigned::~SelfSigned() { deps_.env.loop.CancelTimer(timer_); }

void SelfSigned::Start() {
  timer_ = deps_.env.loop.RunAfter(kAddressPatience, [this] {
    timer_ = 0;
    waited_ = true;
    Begin();
  });
}

void SelfSigned::OnAddresses(const x509::Names& names) {
  names_ = names;
  if (HasAddresses() && trouble_.empty()) Begin();
}

StatusOr<bool> SelfSigned::HasPair() const {
  RETURN_IF_ERROR(fs::RemoveUnfinished(deps_.files, options_.folder, "kubelet."),
                  "remove incomplete files");
  const auto certificate = deps_.files.Read(certificate_, kMaxPemFile);
  const auto key = deps_.files.Read(key_, kMaxPemFile);
  for (const Status& status : {certificate.status(), key.status()})
    if (!status.ok() && status.code() != StatusCode::kNotFound) return status;
  if (certificate.ok() && !key.ok())
    return FailedPrecondition(
        "{} exists without {}: certificate and key must be supplied as a pair", certificate_, key_);
  return certificate.ok();
}

Status SelfSigned::Make(const x509::Names& names) const {
  ASSIGN_OR_RETURN(const bool exists, HasPair(), "find the serving certificate");
  if (exists) return OkStatus();
  ASSIGN_OR_RETURN(const x509::Pair pair,
                   x509::MakeSelfSigned(options_.host, names, deps_.env.clock.WallNow()),
                   "make a self-signed certificate");
  FAIL_POINT("status.self-signed.before");
  RETURN_IF_ERROR(deps_.files.MakeDirs(options_.folder, kPemFolderMode), "make {}",
                  options_.folder);
  RETURN_IF_ERROR(deps_.files.Replace(key_, pair.key, {.fsync = true, .mode = options_.key_mode}),
                  "write {}", key_);
  FAIL_POINT("status.self-signed.between");
  RETURN_IF_ERROR(
      deps_.files.Replace(certificate_, pair.chain, {.fsync = true, .mode = kCertificateMode}),
      "write {}", certificate_);
  FAIL_POINT("status.self-signed.after");
  return OkStatus();
}

void SelfSigned::Begin() {
  if (done_ || working_ || (!HasAddresses() && !waited_)) return;
  working_ = true;
  deps_.env.strands.Run(kSelfSignedStrand, [this, names = names_] {
    const Status made = Make(names);
    deps_.env.loop.Post([this, made] { OnMade(made); });
  });
}

void SelfSigned::OnMade(const Status& made) {
  working_ = false;
  done_ = made.ok();
  const std::string trouble = done_ ? std::string() : Message(made);
  if (trouble != std::exchange(trouble_, trouble) && !done_)
    deps_.env.log.Error("cannot make a serving certificate, will retry", {KV("err", made)});
  deps_.env.loop.CancelTimer(timer_);
  timer_ = 0;
  if (done_) return;
  timer_ = deps_.env.loop.RunAfter(kAgain, [this] {
    timer_ = 0;
    waited_ = true;
    Begin();
  });
}

}  // namespace splitlet::status
