#include "ctl/bus_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nats/nats.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>

#include "ctl/layout.h"
#include "libs/bus/nats_handles.h"
#include "libs/rpc/rpc.h"

namespace splitlet::ctl {
namespace {

constexpr const char* kStream = "flight-recorder";
constexpr const char* kSubjects = "splitlet.>";
constexpr int64_t kRecorderBytes = 16 << 20;
constexpr int64_t kConnectMs = 2000;
constexpr int64_t kAnswerMs = 3000;
constexpr int64_t kStepMs = 200;

using Options = bus::NatsOptions;
using Connection = bus::NatsConnection;
using Subscription = bus::NatsSubscription;
using Message = bus::NatsMsg;
using Context = std::unique_ptr<jsCtx, bus::CDeleter<&jsCtx_Destroy>>;
using StreamInfo = std::unique_ptr<jsStreamInfo, bus::CDeleter<&jsStreamInfo_Destroy>>;
using MetaData = std::unique_ptr<jsMsgMetaData, bus::CDeleter<&jsMsgMetaData_Destroy>>;

Status FromNats(natsStatus status) {
  const std::string text = natsStatus_GetText(status);
  if (status == NATS_OK) return OkStatus();
  if (status == NATS_NOT_FOUND) return NotFound(text);
  if (status == NATS_TIMEOUT) return DeadlineExceeded(text);
  if (status == NATS_INVALID_ARG) return InvalidArgument(text);
  const bool refused = status == NATS_NOT_PERMITTED || status == NATS_CONNECTION_AUTH_FAILED;
  return refused ? PermissionDenied(text) : Unavailable(text);
}

struct Credentials {
  std::string user, password;
};

StatusOr<Credentials> ReadCredentials(const std::string& path) {
  Credentials credentials;
  if (path.empty()) return credentials;
  std::ifstream file(path);
  if (!std::getline(file, credentials.user) || !std::getline(file, credentials.password))
    return NotFound("{} cannot be read: run as the user that started the stack", path);
  return credentials;
}

struct Session {
  Connection connection;
  Context jetstream;
};

/// To the network of whoever of the processes runs. Sockets of files are in none.
Status JoinNetwork(const std::string& run_dir) {
  pid_t pid = 0;
  for (const auto& process : ProcessNames()) {
    const auto listener = rpc::ListenerOf(rpc::SocketPath(run_dir, process));
    if (listener.status().code() == StatusCode::kPermissionDenied)
      return Annotate(listener.status(), "of the stack (are you root?)");
    if (listener.ok() && listener->pid > 0) pid = listener->pid;
  }
  if (pid == 0) return FailedPrecondition("no process of the stack runs");
  const int network = open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (network < 0) return Annotate(ErrnoStatus(errno), "of the stack (are you root?)");
  const bool joined = setns(network, CLONE_NEWNET) == 0;
  const int error = errno;
  close(network);
  return joined ? OkStatus() : Annotate(ErrnoStatus(error), "of the stack (are you root?)");
}

/// To stand after a subscription: while messages come in, libnats 3.4 may still lock one that was
/// destroyed, and then never ends its connection. Closing waits for the thread that reads.
class CloseFirst {
 public:
  explicit CloseFirst(const Session& session) : connection_(session.connection.get()) {}
  ~CloseFirst() { natsConnection_Close(connection_); }
  CloseFirst(const CloseFirst&) = delete;
  CloseFirst& operator=(const CloseFirst&) = delete;

 private:
  natsConnection* connection_;
};

StatusOr<Session> Connect(const BusAccess& access) {
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
  natsConnection* connection = nullptr;
  const Status connected = FromNats(natsConnection_Connect(&connection, raw));
  if (!connected.ok()) return Annotate(connected, "nats-server at " + access.url);
  Session session{.connection = Connection(connection), .jetstream = nullptr};
  jsCtx* context = nullptr;
  jsOptions settings;
  jsOptions_Init(&settings);
  settings.Wait = kAnswerMs;
  const Status made = FromNats(natsConnection_JetStream(&context, connection, &settings));
  if (!made.ok()) return Annotate(made, "JetStream");
  session.jetstream.reset(context);
  return session;
}

BusMessage Copy(natsMsg* message, WallTime at) {
  return {.at = at,
          .subject = natsMsg_GetSubject(message),
          .bytes = std::string(natsMsg_GetData(message),
                               static_cast<size_t>(natsMsg_GetDataLength(message)))};
}

/// A refused subscription is no error at the call; it stands in the connection's last error.
Status LastError(natsConnection* connection) {
  const char* text = nullptr;
  const natsStatus status = natsConnection_GetLastError(connection, &text);
  if (status == NATS_OK) return OkStatus();
  return Annotate(FromNats(status), text == nullptr ? "nats-server" : text);
}

StatusOr<uint64_t> LastSequence(const Session& session) {
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_GetStreamInfo(&info, session.jetstream.get(), kStream, nullptr, &code);
  const StreamInfo owner(info);
  if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr)
    return NotFound("there is no flight recorder: splitletctl recorder ensure makes it");
  if (status != NATS_OK) return Annotate(FromNats(status), "flight recorder");
  return info->State.Msgs == 0 ? 0 : info->State.LastSeq;
}

StatusOr<Subscription> SubscribeRecorder(const Session& session, WallTime since) {
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = kStream;
  options.Ordered = true;
  options.Config.DeliverPolicy = js_DeliverByStartTime;
  // libnats 3.4 writes .012 s as .12 s, a later time: a whole second is written right.
  options.Config.OptStartTime = ToNanos(std::chrono::floor<std::chrono::seconds>(since));
  natsSubscription* raw = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_SubscribeSync(&raw, session.jetstream.get(), kSubjects, nullptr, &options, &code);
  if (status != NATS_OK)
    return Annotate(FromNats(status),
                    fmt::format("read the flight recorder (code {})", static_cast<int>(code)));
  return Subscription(raw);
}

/// The stream's configuration; `subject` outlives it.
jsStreamConfig RecorderConfig(const char** subject) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  config.Name = kStream;
  config.Subjects = subject;
  config.SubjectsLen = 1;
  config.Storage = js_FileStorage;
  config.MaxBytes = kRecorderBytes;
  config.Discard = js_DiscardOld;
  config.NoAck = true;  // nobody who publishes waits for it
  config.Replicas = 1;
  return config;
}

}  // namespace

Status FollowBus(const BusAccess& access, const std::function<bool()>& stopped,
                 const OnMessage& message) {
  ASSIGN_OR_RETURN(const Session session, Connect(access), "bus");
  natsSubscription* raw = nullptr;
  const Status subscribed =
      FromNats(natsConnection_SubscribeSync(&raw, session.connection.get(), kSubjects));
  if (!subscribed.ok()) return Annotate(subscribed, "subscribe");
  const Subscription subscription(raw);
  const CloseFirst close(session);
  const RealClock clock;
  while (!stopped()) {
    natsMsg* next = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&next, raw, kStepMs);
    const Message owner(next);
    if (status == NATS_TIMEOUT) {
      RETURN_IF_ERROR(LastError(session.connection.get()), "bus");
    } else if (status != NATS_OK) {
      return Annotate(FromNats(status), "the connection to nats-server ended");
    } else if (!message(Copy(next, clock.WallNow()))) {
      return OkStatus();
    }
  }
  return OkStatus();
}

Status ReadRecorder(const BusAccess& access, WallTime since, const OnMessage& message) {
  ASSIGN_OR_RETURN(const Session session, Connect(access), "bus");
  ASSIGN_OR_RETURN(const uint64_t last, LastSequence(session), "bus");
  if (last == 0) return OkStatus();
  ASSIGN_OR_RETURN(const Subscription subscription, SubscribeRecorder(session, since), "bus");
  const CloseFirst close(session);
  while (true) {
    natsMsg* next = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&next, subscription.get(), kAnswerMs);
    const Message owner(next);
    if (status == NATS_TIMEOUT) return OkStatus();  // nothing that young
    if (status != NATS_OK) return Annotate(FromNats(status), "read the flight recorder");
    jsMsgMetaData* raw = nullptr;
    const natsStatus known = natsMsg_GetMetaData(&raw, next);
    const MetaData meta(raw);
    if (known != NATS_OK) return Annotate(FromNats(known), "read the flight recorder");
    const WallTime at = WallFromNanos(meta->Timestamp);
    if (at >= since && !message(Copy(next, at))) return OkStatus();
    if (meta->Sequence.Stream >= last) return OkStatus();
  }
}

StatusOr<std::string> EnsureRecorder(const BusAccess& access) {
  ASSIGN_OR_RETURN(const Session session, Connect(access), "bus");
  std::array<const char*, 1> subjects = {kSubjects};
  jsStreamConfig config = RecorderConfig(subjects.data());
  jsErrCode code{};
  jsStreamInfo* info = nullptr;
  natsStatus status = js_UpdateStream(&info, session.jetstream.get(), &config, nullptr, &code);
  const StreamInfo updated(info);
  if (status == NATS_OK) return "flight-recorder is there: 16 MB on disk over splitlet.>";
  info = nullptr;
  status = js_AddStream(&info, session.jetstream.get(), &config, nullptr, &code);
  const StreamInfo made(info);
  if (status != NATS_OK)
    return Annotate(FromNats(status),
                    fmt::format("make flight-recorder (code {})", static_cast<int>(code)));
  return "flight-recorder made: 16 MB on disk over splitlet.>";
}

StatusOr<std::string> CheckBus(const BusAccess& access) {
  ASSIGN_OR_RETURN(const Session session, Connect(access), "bus");
  std::array<char, 256> url{};
  natsConnection_GetConnectedUrl(session.connection.get(), url.data(), url.size());
  return fmt::format("connected to {}", url.data());
}

}  // namespace splitlet::ctl
