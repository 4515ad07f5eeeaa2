#pragma once

/// Has one certificate of this node: asks for it, waits until somebody signs it, saves it, and asks
/// for the next in time.
/// In:      what is on disk; answers of the API server; the wall clock, looked at each minute;
///          SetNames.
/// Owns:    which certificate there is, when it is replaced, the request that is under way.
/// Out:     files of CertificateStore; objects CertificateSigningRequest; callbacks.
/// Killed:  with a kept key the next start finds its own request again; else it makes a new one.
/// Threads: the loop's; calls and files on a strand of its own.
/// Errors:  none leave it; trouble() says why there is no certificate yet.
/// Source:  client-go util/certificate, certificate manager; docs/behaviour/configuration.md.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libs/apiclient/transport.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/status/identity/certificate_store.h"
#include "services/status/identity/signing_request.h"

namespace splitlet::status {

/// A request that nobody has signed for so long is made anew.
inline constexpr Duration kSigningPatience = std::chrono::minutes{15};

class CertificateManager {
 public:
  enum class State {
    kIdle,     // until the certificate is to be replaced
    kAsking,   // the request is being made
    kWaiting,  // for who signs it
    kPausing,  // after a failure
  };
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    Random& random;
    Log log;
    std::function<apiclient::Transport*()> transport;  // for the next call; null: none yet
  };
  struct Options {
    std::string purpose;  // "client": of logs, and of the strand
    CertificateStore::Options store;
    CertificateWish wish;
    bool rotate = false;    // before it expires, not only after
    bool keep_key = false;  // while there is no certificate
    bool needs_address = false;
  };
  struct Callbacks {
    std::function<void()> on_saved;                  // a new certificate is there
    std::function<void(Duration life)> on_replaced;  // so long the one before was in use
    std::function<void()> on_failure;                // an attempt ended without a certificate
  };

  CertificateManager(Deps deps, Options options, Callbacks callbacks);
  ~CertificateManager();
  CertificateManager(const CertificateManager&) = delete;
  CertificateManager& operator=(const CertificateManager&) = delete;

  /// With what is on disk. `replace`: it is only good to ask for one of its own.
  void Start(std::optional<x509::Certificate> certificate, bool replace);
  void SetNames(x509::Names names);
  void BeginStop();

  const std::optional<x509::Certificate>& certificate() const { return certificate_; }
  /// There is one, and it has not expired.
  bool usable() const;
  State state() const { return state_; }
  const std::string& trouble() const { return trouble_; }

 private:
  struct Asked {
    std::string name, uid, key;
  };
  struct Looked {
    Judgement::Outcome outcome = Judgement::Outcome::kWaiting;
    Status trouble;
    std::optional<x509::Certificate> saved;
  };
  using AskedBefore = std::shared_ptr<const Asked>;

  StatusOr<Asked> Ask(apiclient::Transport& transport, const CertificateWish& wish, bool keep_key);
  StatusOr<SigningRequest> Adopt(apiclient::Transport& transport, const CertificateWish& wish,
                                 const SigningRequest& ours);
  StatusOr<SigningRequest> Read(apiclient::Transport& transport, const Asked& asked);
  Looked LookAndSave(apiclient::Transport& transport, const Asked& asked);

  Deadline CallDeadline() const;
  void Check();
  void BeginAsking(const std::string& why);
  void OnAsked(uint64_t attempt, StatusOr<Asked> asked);
  void Look();
  void OnLooked(uint64_t attempt, const Looked& looked);
  void OnSaved(const x509::Certificate& certificate);
  void Fail(const Status& why, bool drop_key);
  void PlanRotation();
  void Arm(Duration delay, void (CertificateManager::*what)());
  std::string Strand() const { return "certificate-" + options_.purpose; }

  Deps deps_;
  Options options_;
  Callbacks callbacks_;
  CertificateStore store_;
  std::shared_ptr<CancelToken> stop_ = std::make_shared<CancelToken>();
  exec::Backoff backoff_;
  State state_ = State::kIdle;
  std::optional<x509::Certificate> certificate_;
  WallTime replace_at_;
  bool replace_now_ = false;
  Clock::Time held_back_until_;  // no time: not held back
  uint64_t attempt_ = 0;         // answers to an earlier one are dropped
  Clock::Time asked_at_;
  AskedBefore asked_;
  Duration look_every_{0};
  std::string trouble_, told_;
  exec::TimerId timer_ = 0;
};

}  // namespace splitlet::status
