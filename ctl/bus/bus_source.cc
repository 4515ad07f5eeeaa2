#include "ctl/bus/bus_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nats/nats.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>

#include "libs/base/processes.h"
#include "libs/base/random.h"
#include "libs/bus/nats_link.h"
#include "libs/bus/nats_trust.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/caller.h"
#include "libs/operate/layout.h"
#include "libs/rpc/rpc.h"

namespace splitlet::ctl {
namespace {

constexpr const char* kSubjects = "splitlet.>";
constexpr int64_t kConnectMs = 2000;
constexpr int64_t kStepMs = 200;
constexpr int64_t kPingMs = 2000;
constexpr int kWaitStepMs = 20;
constexpr int kMaxPendingMessages = 16384;
constexpr int kMaxPendingBytes = 8 << 20;
constexpr Duration kFlushPeriod = 500ms;

using Options = bus::NatsOptions;
using Connection = bus::NatsConnection;
using Subscription = bus::NatsSubscription;

Status FromNats(natsStatus status) {
  const std::string text = bus::TextOf(status);
  if (status == NATS_OK) return OkStatus();
  if (status == NATS_TIMEOUT) return DeadlineExceeded(text);
  if (status == NATS_INVALID_ARG) return InvalidArgument(text);
  const bool refused = status == NATS_NOT_PERMITTED || status == NATS_CONNECTION_AUTH_FAILED ||
                       status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_WANTED;
  return refused ? Unauthenticated(text) : Unavailable(text);
}

struct Credentials {
  std::string user, password;
};

StatusOr<Credentials> ReadCredentials(const std::string& path) {
  Credentials credentials;
  if (path.empty()) return credentials;
  if (Status may = operate::CheckMay(operate::Use::kRead, path, "the bus"); !may.ok()) return may;
  std::ifstream file(path);
  if (!std::getline(file, credentials.user) || !std::getline(file, credentials.password))
    return NotFound("{} has no line with a user and a line with a password: is the stack started?",
                    path);
  return credentials;
}

/// Declared after the subscription, so that the connection closes first and waits for the reading
/// thread. Otherwise libnats 3.4 may lock a destroyed subscription while messages arrive, and the
/// connection never ends.
class CloseFirst {
 public:
  explicit CloseFirst(const Connection& connection) : connection_(connection.get()) {}
  ~CloseFirst() { natsConnection_Close(connection_); }
  CloseFirst(const CloseFirst&) = delete;
  CloseFirst& operator=(const CloseFirst&) = delete;

 private:
  natsConnection* connection_;
};

StatusOr<Connection> Connect(const operate::BusAccess& access) {
  if (!access.network_of.empty()) RETURN_IF_ERROR(JoinNetwork(access.network_of), "network");
  ASSIGN_OR_RETURN(const Credentials credentials, ReadCredentials(access.creds), "bus credentials");
  natsOptions* raw = nullptr;
  if (natsOptions_Create(&raw) != NATS_OK) return Internal("no memory for libnats");
  const Options options(raw);
  const std::string inbox = "_INBOX." + (credentials.user.empty() ? "ctl" : credentials.user);
  natsOptions_SetURL(raw, access.url.c_str());
  natsOptions_SetTimeout(raw, kConnectMs);
  natsOptions_SetAllowReconnect(raw, false);
  natsOptions_SetName(raw, "splitletctl");
  natsOptions_SetCustomInboxPrefix(raw, inbox.c_str());
  natsOptions_SetErrorHandler(raw, nullptr, nullptr);
  if (!credentials.user.empty())
    natsOptions_SetUserInfo(raw, credentials.user.c_str(), credentials.password.c_str());
  natsOptions_SetPingInterval(raw, kPingMs);
  natsOptions_SetMaxPingsOut(raw, 2);
  RETURN_IF_ERROR(bus::SetTrust(*raw, access.url, access.ca), "CA");
  natsConnection* connection = nullptr;
  const Status connected = FromNats(natsConnection_Connect(&connection, raw));
  if (!connected.ok()) return Annotate(connected, "nats-server at " + access.url);
  return Connection(connection);
}

operate::BusMessage Copy(natsMsg* message, WallTime at) {
  return {.at = at,
          .subject = natsMsg_GetSubject(message),
          .bytes = std::string(natsMsg_GetData(message),
                               static_cast<size_t>(natsMsg_GetDataLength(message)))};
}

/// The subscribing call succeeds even when the server refuses; the connection's last error shows
/// the refusal.
Status LastError(natsConnection* connection) {
  const char* text = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection, &text);
  if (status == NATS_OK) return OkStatus();
  return Annotate(FromNats(status), text == nullptr ? "nats-server" : text);
}

StatusOr<Subscription> SubscribeAll(natsConnection* connection) {
  natsSubscription* raw = nullptr;
  const Status subscribed = FromNats(natsConnection_SubscribeSync(&raw, connection, kSubjects));
  if (!subscribed.ok()) return Annotate(subscribed, "subscribe");
  natsSubscription_SetPendingLimits(raw, kMaxPendingMessages, kMaxPendingBytes);
  return Subscription(raw);
}

/// Writes each report into the log, unless the last one was the same.
class Reporter {
 public:
  Reporter(std::ostream& log, const Clock& clock) : log_(log), clock_(clock) {}
  void Report(const std::string& what) {
    if (what != std::exchange(last_, what))
      log_ << FormatRfc3339(clock_.WallNow()) << " recorder: " << what << std::endl;
  }

 private:
  std::ostream& log_;
  const Clock& clock_;
  std::string last_;
};

void FlushAndReport(operate::RecorderFiles& files, Reporter& reporter) {
  const Status flushed = files.Flush();
  if (!flushed.ok()) return reporter.Report("cannot write: " + Message(flushed));
  reporter.Report(files.dropped() == 0
                      ? "records"
                      : fmt::format("records; {} messages could not be written", files.dropped()));
}

/// Records one connection until it ends.
Status RecordOnce(const operate::BusAccess& access, operate::RecorderFiles& files,
                  const std::function<bool()>& stopped, Reporter& reporter) {
  ASSIGN_OR_RETURN(const Connection connection, Connect(access), "bus");
  ASSIGN_OR_RETURN(const Subscription subscription, SubscribeAll(connection.get()), "bus");
  const CloseFirst close(connection);
  const RealClock clock;
  Clock::Time flushed = clock.Now();
  while (!stopped()) {
    natsMsg* next = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&next, subscription.get(), kStepMs);
    const bus::NatsMsg owner(next);
    if (status == NATS_OK) files.Add(Copy(next, clock.WallNow()));
    if (status == NATS_TIMEOUT || clock.Now() - flushed >= kFlushPeriod) {
      FlushAndReport(files, reporter);
      flushed = clock.Now();
    }
    if (status == NATS_TIMEOUT) RETURN_IF_ERROR(LastError(connection.get()), "bus");
    const bool goes_on = status == NATS_OK || status == NATS_TIMEOUT ||
                         status == NATS_SLOW_CONSUMER;  // the recording misses some messages
    if (!goes_on) return Annotate(FromNats(status), "the connection to nats-server was closed");
  }
  FlushAndReport(files, reporter);
  return OkStatus();
}

}  // namespace

Status JoinNetwork(const std::string& run_dir) {
  pid_t pid = 0;
  for (const auto& process : ProcessNames()) {
    const std::string path = rpc::SocketPath(run_dir, process);
    const auto listener = rpc::ListenerOf(path);
    if (listener.status().code() == StatusCode::kPermissionDenied)
      return operate::RefusedBy(process, operate::WhoMay(operate::Use::kConnect, path));
    if (listener.ok() && listener->pid > 0) pid = listener->pid;
  }
  if (pid == 0) return FailedPrecondition("no process of the stack runs: start the stack");
  const int network = open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (network < 0) return Annotate(ErrnoStatus(errno), "of the stack (are you root?)");
  const bool joined = setns(network, CLONE_NEWNET) == 0;
  const int error = errno;
  close(network);
  return joined ? OkStatus() : Annotate(ErrnoStatus(error), "of the stack (are you root?)");
}

Status FollowBus(const operate::BusAccess& access, const std::function<bool()>& stopped,
                 const operate::OnMessage& message) {
  ASSIGN_OR_RETURN(const Connection connection, Connect(access), "bus");
  ASSIGN_OR_RETURN(const Subscription subscription, SubscribeAll(connection.get()), "bus");
  const CloseFirst close(connection);
  const RealClock clock;
  while (!stopped()) {
    natsMsg* next = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&next, subscription.get(), kStepMs);
    const bus::NatsMsg owner(next);
    if (status == NATS_TIMEOUT) {
      RETURN_IF_ERROR(LastError(connection.get()), "bus");
    } else if (status != NATS_OK) {
      return Annotate(FromNats(status), "the connection to nats-server was closed");
    } else if (!message(Copy(next, clock.WallNow()))) {
      return OkStatus();
    }
  }
  return OkStatus();
}

void RecordBus(const operate::BusAccess& access, operate::RecorderFiles& files,
               const std::function<bool()>& stopped, std::ostream& log) {
  const RealClock clock;
  bus::ReconnectWait wait(RandomSeed());
  Reporter reporter(log, clock);
  while (!stopped()) {
    const Clock::Time begin = clock.Now();
    const Status ended = RecordOnce(access, files, stopped, reporter);
    if (!ended.ok()) reporter.Report(Message(ended));
    const Deadline next = After(clock, wait.Next(clock.Now() - begin));
    while (!stopped() && Remaining(clock, next) > Duration{0}) poll(nullptr, 0, kWaitStepMs);
  }
}

StatusOr<std::string> CheckBus(const operate::BusAccess& access) {
  ASSIGN_OR_RETURN(const Connection connection, Connect(access), "bus");
  std::array<char, 256> url{};
  natsConnection_GetConnectedUrl(connection.get(), url.data(), url.size());
  return fmt::format("connected to {}", url.data());
}

}  // namespace splitlet::ctl
