#include "services/node-api/logs/log_streams.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "services/node-api/http/replies.h"

namespace splitlet::node_api {
namespace {

struct Out {
  https::Stream& stream;
  size_t piece = 0;  // bytes
};

/// Sends a piece, or the last one. While one piece is being sent, two more may wait.
Status ToStream(Out out, std::string_view bytes) {
  if (!out.stream.WaitForRoom(2 * out.piece) || !out.stream.Write(bytes))
    return Cancelled("the client is gone");
  return OkStatus();
}

Status CopyFile(logs::LogFiles& files, const std::string& path, Out out) {
  ASSIGN_OR_RETURN(const auto file, files.Open(path), "open it");
  std::string piece;
  for (uint64_t offset = 0;;) {
    RETURN_IF_ERROR(file->ReadAt(offset, out.piece, piece), "read it");
    if (piece.empty()) return OkStatus();
    if (Status sent = ToStream(out, piece); !sent.ok()) return sent;
    offset += piece.size();
  }
}

/// Gathers short lines, because each write is a chunk of its own.
class Gathered {
 public:
  explicit Gathered(Out out) : out_(out) {}
  Status Add(std::string_view bytes) {
    bytes_ += bytes;
    return bytes_.size() < out_.piece ? OkStatus() : Flush();
  }
  Status Flush() {
    if (bytes_.empty()) return OkStatus();
    const Status sent = ToStream(out_, bytes_);
    bytes_.clear();
    return sent;
  }

 private:
  const Out out_;
  std::string bytes_;
};

/// Sends gathered bytes before waiting for more.
class FlushingWatch final : public logs::LogWatch {
 public:
  FlushingWatch(Gathered& gathered, logs::LogWatch& watch) : gathered_(gathered), watch_(watch) {}
  /// After a failed Flush the reader notices by itself that the client has left.
  bool Wait() override { return !gathered_.Flush().ok() || watch_.Wait(); }

 private:
  Gathered& gathered_;
  logs::LogWatch& watch_;
};

/// The head is already sent, so the error's text ends the body.
void End(https::Stream& out, const Status& status) {
  if (!status.ok() && status.code() != StatusCode::kCancelled) out.Write(Message(status) + "\n");
  out.End();
}

}  // namespace

void LogStreams::Serve(Serving serving, std::shared_ptr<https::Responder> responder, Work work) {
  if (serving_.size() >= kMaxStreams)
    return responder->Send(TextReply(429, "too many logs are being read"));
  const auto of_pod = [&serving](const auto& entry) { return entry.second.uid == serving.uid; };
  if (!serving.uid.empty() &&
      std::ranges::count_if(serving_, of_pod) >= static_cast<std::ptrdiff_t>(kMaxOfPod))
    return responder->Send(TextReply(429, "too many logs of this pod are being read"));
  const uint64_t number = ++last_;
  const auto flags = serving.flags;
  flags->cancelled = stopped_;
  if (serving_.size() < kLargeStreams) flags->piece = kLargePiece;
  serving_.emplace(number, std::move(serving));
  responder->OnGone([flags] { flags->cancelled = true; });
  std::shared_ptr<https::Stream> out = responder->Begin({});
  asker_.Ask(
      fmt::format("log/{}", number),
      [flags, out = std::move(out), work = std::move(work)] {
        FAIL_POINT_VOID("node-api.log.before");
        work(*out, *flags);
      },
      [this, number] { serving_.erase(number); });
}

void LogStreams::ServeLog(Wanted wanted, std::shared_ptr<https::Responder> responder) {
  auto flags = std::make_shared<Flags>();
  flags->running = wanted.running;
  Serve({wanted.uid, wanted.container_id, flags}, std::move(responder),
        [watch_log = deps_.watch, path = wanted.path, options = wanted.options,
         files = deps_.container_files(wanted.container_id)](https::Stream& out,
                                                             const Flags& current) {
          const auto changes = watch_log(path);
          Gathered gathered({out, current.piece});
          FlushingWatch watch(gathered, *changes);
          const logs::LogSource source{
              .files = *files,
              .watch = watch,
              .is_writing = [&current] { return current.running.load(); },
              .is_cancelled = [&current, &out] { return current.cancelled || out.gone(); }};
          const auto read = logs::ReadLog(
              source, path, options,
              [&gathered](logs::Stream, std::string_view bytes) { return gathered.Add(bytes); });
          const Status sent = gathered.Flush();
          End(out, read.ok() ? sent : read.status());
        });
}

void LogStreams::ServeFile(const HeldPath& file, std::shared_ptr<https::Responder> responder) {
  Serve({"", "", std::make_shared<Flags>()}, std::move(responder),
        [files = deps_.files, file](https::Stream& out, const Flags& flags) {
          End(out, CopyFile(*files, file.path, {out, flags.piece}));
        });
}

void LogStreams::OnRuntime(const PodViews& views) {
  std::map<std::string, std::shared_ptr<const v1::RuntimeRecord>> records;
  if (serving_.empty()) return;
  for (const auto& record : views.Runtime()) records[record->pod().uid()] = record;
  for (auto& [number, serving] : serving_) {
    const auto found = records.find(serving.uid);
    serving.flags->running = found != records.end() && Runs(*found->second, serving.container_id);
  }
}

void LogStreams::Stop() {
  stopped_ = true;
  for (auto& [number, serving] : serving_) serving.flags->cancelled = true;
}

}  // namespace splitlet::node_api
