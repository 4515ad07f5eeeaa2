#include "libs/operate/flight_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "libs/operate/caller.h"

namespace splitlet::operate {
namespace {

constexpr uint32_t kMagic = 0x314c5053;  // "SPL1"
constexpr size_t kMaxWaiting = 1 << 20;
constexpr uint32_t kMaxPart = 64 << 20;
constexpr const char* kSuffix = ".rec";

struct Head {
  uint32_t magic = kMagic;
  uint32_t subject_bytes = 0;
  uint32_t payload_bytes = 0;
  uint32_t checksum = 0;  // checksum of time, subject and payload
  int64_t at_ns = 0;
};
static_assert(sizeof(Head) == 24);

/// FNV-1a detects damage by a crash, not forgery.
uint32_t Checksum(int64_t at_ns, std::string_view body) {
  uint32_t sum = 2166136261u;
  const auto add = [&sum](std::string_view bytes) {
    for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  };
  add({reinterpret_cast<const char*>(&at_ns), sizeof at_ns});
  add(body);
  return sum;
}

std::string Encode(const BusMessage& message) {
  const std::string body = message.subject + message.bytes;
  Head head;
  head.subject_bytes = static_cast<uint32_t>(message.subject.size());
  head.payload_bytes = static_cast<uint32_t>(message.bytes.size());
  head.at_ns = ToNanos(message.at);
  head.checksum = Checksum(head.at_ns, body);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + body;
}

/// The entry at the front of `bytes` and its length; nullopt if it is incomplete.
std::optional<std::pair<BusMessage, size_t>> Decode(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMagic || head.subject_bytes > kMaxPart || head.payload_bytes > kMaxPart)
    return std::nullopt;
  const size_t body_bytes = size_t{head.subject_bytes} + head.payload_bytes;
  if (bytes.size() - sizeof head < body_bytes) return std::nullopt;
  const std::string_view body = bytes.substr(sizeof head, body_bytes);
  if (head.checksum != Checksum(head.at_ns, body)) return std::nullopt;
  BusMessage message{.at = WallFromNanos(head.at_ns),
                     .subject = std::string(body.substr(0, head.subject_bytes)),
                     .bytes = std::string(body.substr(head.subject_bytes))};
  return std::pair(std::move(message), sizeof head + body_bytes);
}

std::string PathOf(const std::string& folder, uint64_t number) {
  return fmt::format("{}/{:012}{}", folder, number, kSuffix);
}

/// Numbers of the segments, the oldest first.
StatusOr<std::vector<uint64_t>> Segments(const std::string& folder) {
  std::vector<uint64_t> numbers;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    const std::string name = entries->path().filename();
    uint64_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec == std::errc{} && std::string_view(parsed.ptr) == kSuffix)
      numbers.push_back(number);
  }
  if (error) return ErrnoStatus(error.value());
  std::ranges::sort(numbers);
  return numbers;
}

StatusOr<std::string> ReadSegment(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Length of the complete entries in a segment.
size_t WholeBytes(const std::string& path) {
  const auto content = ReadSegment(path);
  if (!content.ok()) return 0;
  size_t whole = 0;
  while (const auto entry = Decode(std::string_view(*content).substr(whole)))
    whole += entry->second;
  return whole;
}

}  // namespace

RecorderFiles::RecorderFiles(std::string folder, RecorderLimits limits)
    : folder_(std::move(folder)), limits_(limits) {
  const auto numbers = Segments(folder_);
  if (!numbers.ok() || numbers->empty()) return;
  number_ = numbers->back();
  size_ = WholeBytes(PathOf(folder_, number_));
}

RecorderFiles::~RecorderFiles() { Close(); }

void RecorderFiles::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void RecorderFiles::Add(const BusMessage& message) {
  waiting_ += Encode(message);
  ++waiting_messages_;
  if (waiting_.size() >= kMaxWaiting) last_ = Write();
}

Status RecorderFiles::Flush() {
  if (!waiting_.empty()) last_ = Write();
  return last_;
}

/// Drops the waiting entries whether or not they were written, so that memory is bounded too.
Status RecorderFiles::Write() {
  const std::string bytes = std::exchange(waiting_, {});
  const uint64_t messages = std::exchange(waiting_messages_, 0);
  Status ready = OkStatus();
  if (size_ > 0 && size_ + bytes.size() > limits_.segment_bytes) ready = NextSegment();
  if (ready.ok() && fd_ < 0) ready = OpenSegment();
  if (!ready.ok()) {
    dropped_ += messages;
    return ready;
  }
  const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
  if (written == static_cast<ssize_t>(bytes.size())) {
    size_ += bytes.size();
    return OkStatus();
  }
  const Status failed = ErrnoStatus(written < 0 ? errno : ENOSPC);
  dropped_ += messages;
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) Close();  // the next start truncates it
  return Annotate(failed, "write " + PathOf(folder_, number_));
}

/// Removes the oldest segment first, which makes room for the new one on a full disk.
Status RecorderFiles::NextSegment() {
  Close();
  ASSIGN_OR_RETURN(const auto numbers, Segments(folder_), "list {}", folder_);
  const size_t keep = limits_.segments - 1;
  for (size_t i = 0; i + keep < numbers.size(); ++i) {
    const std::string path = PathOf(folder_, numbers[i]);
    if (unlink(path.c_str()) != 0 && errno != ENOENT)
      return Annotate(ErrnoStatus(errno), "remove " + path);
  }
  ++number_;
  size_ = 0;
  return OkStatus();
}

Status RecorderFiles::OpenSegment() {
  if (mkdir(folder_.c_str(), 0750) != 0 && errno != EEXIST)
    return Annotate(ErrnoStatus(errno), "make " + folder_);
  const std::string path = PathOf(folder_, number_);
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  if (fd_ < 0) return Annotate(ErrnoStatus(errno), "open " + path);
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
    const Status failed = ErrnoStatus(errno);
    Close();
    return Annotate(failed, "cut " + path);
  }
  return OkStatus();
}

Status ReadRecorderFiles(const std::string& folder, WallTime since, const OnMessage& message) {
  const auto numbers = Segments(folder);
  if (numbers.status().code() == StatusCode::kPermissionDenied)
    return RefusedBy("the flight recorder", WhoMay(Use::kRead, folder));
  if (!numbers.ok() || numbers->empty()) return NotFound("no flight recorder in {}", folder);
  for (const uint64_t number : *numbers) {
    const auto content = ReadSegment(PathOf(folder, number));
    if (content.status().code() == StatusCode::kNotFound) continue;  // the oldest was just removed
    RETURN_IF_ERROR(content.status(), "read {}", PathOf(folder, number));
    std::string_view rest = *content;
    while (const auto entry = Decode(rest)) {
      rest.remove_prefix(entry->second);
      if (entry->first.at >= since && !message(entry->first)) return OkStatus();
    }
  }
  return OkStatus();
}

}  // namespace splitlet::operate
