#include "services/status/identity/certificate_manager.h"

#include <algorithm>
#include <utility>

#include "libs/apiclient/client.h"
#include "libs/base/fail_point.h"
#include "libs/x509/key.h"
#include "services/status/identity/rotation.h"

namespace splitlet::status {
namespace {

constexpr Duration kCallLimit = std::chrono::seconds{30};
constexpr Duration kCheckPeriod = std::chrono::minutes{1};  // the wall clock may jump
constexpr Duration kFirstPoll = std::chrono::seconds{1};
constexpr Duration kLongestPoll = std::chrono::seconds{10};
constexpr Duration kFirstPause = std::chrono::seconds{2};
constexpr Duration kLongestPause = std::chrono::seconds{32};
constexpr double kPauseJitter = 0.1;
constexpr const char* kApiVersion = "certificates.k8s.io/v1";
constexpr const char* kKind = "CertificateSigningRequest";

std::string PathOf(const std::string& name) {
  return fmt::format("{}/{}", kSigningRequests, apiclient::Escaped(name));
}

}  // namespace

CertificateManager::CertificateManager(Deps deps, Options options, Callbacks callbacks)
    : deps_(std::move(deps)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      store_(deps_.env.clock, deps_.files, options_.store),
      backoff_(deps_.env.clock,
               {.initial = kFirstPause, .max = kLongestPause, .jitter = kPauseJitter}) {}

CertificateManager::~CertificateManager() { deps_.env.loop.CancelTimer(timer_); }

void CertificateManager::Start(std::optional<x509::Certificate> certificate, bool replace) {
  certificate_ = std::move(certificate);
  replace_now_ = replace;
  if (certificate_) PlanRotation();
  Check();
}

void CertificateManager::SetNames(x509::Names names) {
  if (options_.wish.names == names) return;
  options_.wish.names = std::move(names);
  held_back_until_ = {};
  if (state_ != State::kIdle) ++attempt_;  // the running request has other names
  state_ = State::kIdle;
  Check();
}

void CertificateManager::BeginStop() {
  ++attempt_;
  deps_.env.loop.CancelTimer(timer_);
  timer_ = 0;
  stop_->Cancel();
}

bool CertificateManager::usable() const {
  return certificate_ && !IsExpired(*certificate_, deps_.env.clock.WallNow());
}

Deadline CertificateManager::CallDeadline() const {
  return {deps_.env.clock.Now() + kCallLimit, stop_};
}

void CertificateManager::Arm(Duration delay, void (CertificateManager::*what)()) {
  deps_.env.loop.CancelTimer(timer_);
  timer_ = deps_.env.loop.RunAfter(delay, [this, what] {
    timer_ = 0;
    (this->*what)();
  });
}

void CertificateManager::PlanRotation() {
  replace_at_ = RotationTime(*certificate_, deps_.random.Unit());
  if (!options_.rotate) return;
  deps_.env.log.Info(
      "certificate rotation deadline determined",
      {KV("purpose", options_.purpose), KV("expiration", FormatRfc3339(certificate_->not_after)),
       KV("deadline", FormatRfc3339(replace_at_))});
}

/// The wall clock decides. It may be set, so it is read every minute.
void CertificateManager::Check() {
  if (stop_->cancelled()) return;
  state_ = State::kIdle;
  const WallTime now = deps_.env.clock.WallNow();
  std::string why;
  if (!options_.needs_address || !options_.wish.names.addresses.empty()) {
    why = WhyNeeded(certificate_, options_.wish.names, now);
    if (why.empty() && replace_now_) why = "its key came with the kubeconfig";
    if (why.empty() && options_.rotate && now >= replace_at_) why = "rotation deadline reached";
  }
  const bool held = held_back_until_ && deps_.env.clock.Now() < held_back_until_;
  if (!why.empty() && !held) return BeginAsking(why);
  Arm(kCheckPeriod, &CertificateManager::Check);
}

void CertificateManager::BeginAsking(const std::string& why) {
  apiclient::Transport* transport = deps_.transport();
  if (transport == nullptr) return Arm(kFirstPoll, &CertificateManager::Check);
  state_ = State::kAsking;
  ++attempt_;
  asked_at_ = deps_.env.clock.Now();
  deps_.env.log.Info("requesting certificate",
                     {KV("purpose", options_.purpose), KV("reason", why), KV("attempt", attempt_)});
  const bool keep_key = options_.keep_key && !usable();
  deps_.env.strands.Run(Strand(), [this, transport, keep_key, wish = options_.wish, id = attempt_] {
    auto asked = Ask(*transport, wish, keep_key);
    deps_.env.loop.Post([this, id, a = std::move(asked)] { OnAsked(id, a); });
  });
}

StatusOr<CertificateManager::Asked> CertificateManager::Ask(apiclient::Transport& transport,
                                                            const CertificateWish& wish,
                                                            bool keep_key) {
  Asked asked;
  ASSIGN_OR_RETURN(asked.key, keep_key ? store_.EnsureKey() : x509::MakeKey(x509::KeyKind::kEcP256),
                   "key");
  ASSIGN_OR_RETURN(const std::string public_key, x509::PublicKeyOf(asked.key), "key");
  const std::string name = keep_key ? StableName(wish, public_key) : "";
  ASSIGN_OR_RETURN(const SigningRequest ours, MakeSigningRequest(wish, asked.key, name), "ask");
  SigningRequest there;
  FAIL_POINT("status.ask-certificate.before");
  apiclient::Client client(deps_.env.clock, transport, {});
  const Status made =
      client.Create(kSigningRequests, {kApiVersion, kKind, ours}, &there, CallDeadline());
  FAIL_POINT("status.ask-certificate.after");
  if (made.code() == StatusCode::kAlreadyExists && keep_key) {
    ASSIGN_OR_RETURN(there, Adopt(transport, wish, ours), "request {}", name);
  } else if (!made.ok()) {
    return Annotate(made, "create a CertificateSigningRequest");
  }
  asked.name = there.metadata().name();
  asked.uid = there.metadata().uid();
  return asked;
}

/// Continues the request of an earlier start, if the object of its name is that request.
StatusOr<SigningRequest> CertificateManager::Adopt(apiclient::Transport& transport,
                                                   const CertificateWish& wish,
                                                   const SigningRequest& ours) {
  SigningRequest there;
  apiclient::Client client(deps_.env.clock, transport, {});
  RETURN_IF_ERROR(client.Get(PathOf(ours.metadata().name()), &there, CallDeadline()), "read");
  ASSIGN_OR_RETURN(const std::string kept, store_.EnsureKey(), "key");
  ASSIGN_OR_RETURN(const std::string public_key, x509::PublicKeyOf(kept), "key");
  const Status same = CheckSame(there, wish, public_key);
  if (!same.ok()) return FailedPrecondition("{}", Message(same));
  return there;
}

void CertificateManager::OnAsked(uint64_t attempt, StatusOr<Asked> asked) {
  if (attempt != attempt_) return;
  if (!asked.ok())
    return Fail(asked.status(), asked.status().code() == StatusCode::kFailedPrecondition);
  state_ = State::kWaiting;
  trouble_ = fmt::format("{} is not signed yet", asked->name);
  asked_ = std::make_shared<const Asked>(*std::move(asked));
  poll_period_ = kFirstPoll;
  Poll();
}

void CertificateManager::Poll() {
  apiclient::Transport* transport = deps_.transport();
  CHECK(transport != nullptr && asked_ != nullptr);
  deps_.env.strands.Run(Strand(), [this, transport, asked = asked_, id = attempt_] {
    auto polled = PollAndSave(*transport, *asked);
    deps_.env.loop.Post([this, id, l = std::move(polled)] { OnPolled(id, l); });
  });
}

StatusOr<SigningRequest> CertificateManager::Read(apiclient::Transport& transport,
                                                  const Asked& asked) {
  SigningRequest there;
  apiclient::Client client(deps_.env.clock, transport, {});
  const Status read = client.Get(PathOf(asked.name), &there, CallDeadline());
  if (!read.ok()) return read;
  if (there.metadata().uid() != asked.uid)
    return NotFound("{} was replaced by another object", asked.name);
  return there;
}

CertificateManager::Polled CertificateManager::PollAndSave(apiclient::Transport& transport,
                                                           const Asked& asked) {
  using enum Judgement::Outcome;
  const auto there = Read(transport, asked);
  if (there.status().code() == StatusCode::kNotFound)
    return {.outcome = kRefused, .trouble = there.status(), .saved = {}};
  if (!there.ok()) return {.outcome = kWaiting, .trouble = there.status(), .saved = {}};
  const Judgement judgement = Judge(*there);
  if (judgement.outcome == kRefused)
    return {
        .outcome = kRefused, .trouble = FailedPrecondition("{}", judgement.reason), .saved = {}};
  if (judgement.outcome == kWaiting) return {};
  auto saved = store_.Save(judgement.certificate, asked.key);
  // A full disk may have room later. A certificate that does not fit our key is useless.
  if (!saved.ok()) {
    const bool useless = saved.status().code() == StatusCode::kInvalidArgument;
    return {.outcome = useless ? kRefused : kWaiting, .trouble = saved.status(), .saved = {}};
  }
  return {.outcome = kIssued, .trouble = OkStatus(), .saved = *std::move(saved)};
}

void CertificateManager::OnPolled(uint64_t attempt, const Polled& polled) {
  if (attempt != attempt_) return;
  switch (polled.outcome) {
    case Judgement::Outcome::kIssued: return OnSaved(*polled.saved);
    case Judgement::Outcome::kRefused: return Fail(Annotate(polled.trouble, asked_->name), true);
    case Judgement::Outcome::kWaiting: break;
  }
  if (deps_.env.clock.Now() - asked_at_ >= kSigningPatience)
    return Fail(DeadlineExceeded("{} was not signed in time, making a new request", asked_->name),
                true);
  if (!polled.trouble.ok()) trouble_ = Message(polled.trouble);
  Arm(poll_period_, &CertificateManager::Poll);
  poll_period_ = std::min(poll_period_ * 2, kLongestPoll);
}

void CertificateManager::OnSaved(const x509::Certificate& certificate) {
  const WallTime now = deps_.env.clock.WallNow();
  if (certificate_) callbacks_.on_replaced(now - certificate_->not_before);
  certificate_ = certificate;
  asked_.reset();
  replace_now_ = false;
  trouble_.clear();
  logged_trouble_.clear();
  backoff_.Reset(options_.purpose);
  PlanRotation();
  deps_.env.log.Info("certificate saved", {KV("purpose", options_.purpose),
                                           KV("expiration", FormatRfc3339(certificate.not_after))});
  // The new certificate may be unusable: this clock is wrong, or the signer left names out. Wait
  // before the next request, or there would be no end of requests.
  const bool useless =
      !WhyNeeded(certificate_, options_.wish.names, now).empty() || now >= replace_at_;
  held_back_until_ = useless ? deps_.env.clock.Now() + kSigningPatience : Clock::Time{};
  callbacks_.on_saved();
  Check();
}

void CertificateManager::Fail(const Status& why, bool drop_key) {
  state_ = State::kPausing;
  ++attempt_;
  asked_.reset();
  trouble_ = Message(why);
  if (trouble_ != std::exchange(logged_trouble_, trouble_))
    deps_.env.log.Warn("certificate request failed, will retry",
                       {KV("purpose", options_.purpose), KV("err", why)});
  callbacks_.on_failure();
  if (drop_key)  // with the same key the next attempt would find the same request
    deps_.env.strands.Run(Strand(), [this] {
      deps_.env.log.LogIfError(store_.DropKey(), "remove the key of a certificate request");
    });
  Arm(backoff_.Next(options_.purpose, &deps_.random), &CertificateManager::Check);
}

}  // namespace splitlet::status
