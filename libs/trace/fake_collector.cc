#include "libs/trace/fake_collector.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "libs/base/status.h"
#include "opentelemetry/trace_service.pb.h"

namespace splitlet::trace {
namespace {

namespace otlp = opentelemetry::proto::collector::trace::v1;

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::string Attribute(const otlp::Resource& resource, const std::string& key) {
  for (const auto& attribute : resource.attributes())
    if (attribute.key() == key) return attribute.value().string_value();
  return "";
}

FakeCollector::Seen SeenOf(const otlp::Span& span, const std::string& service) {
  FakeCollector::Seen seen{.service = service,
                           .name = span.name(),
                           .trace_id = Hex(span.trace_id()),
                           .span_id = Hex(span.span_id()),
                           .parent_id = Hex(span.parent_span_id()),
                           .attributes = {},
                           .kind = span.kind(),
                           .error = span.status().code() == otlp::SpanStatus::CODE_ERROR};
  for (const auto& attribute : span.attributes())
    seen.attributes[attribute.key()] = attribute.value().string_value();
  return seen;
}

/// Reads until `buffer` satisfies `enough`; false at the end of the connection.
template <class Enough>
bool ReadUntil(int fd, std::string& buffer, Enough enough) {
  std::array<char, 4096> part{};
  while (!enough()) {
    const ssize_t got = recv(fd, part.data(), part.size(), 0);
    if (got <= 0) return false;
    buffer.append(part.data(), static_cast<size_t>(got));
  }
  return true;
}

size_t ContentLength(const std::string& head) {
  const auto at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
}

}  // namespace

FakeCollector::FakeCollector() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(listen(listener_, 16) == 0);
  socklen_t size = sizeof address;
  CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { AcceptUntilClosed(); });
}

FakeCollector::~FakeCollector() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  connections_.clear();
  for (const int fd : open_) close(fd);
}

std::string FakeCollector::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<FakeCollector::Seen> FakeCollector::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

std::string FakeCollector::last_head() const {
  const std::lock_guard lock(mutex_);
  return head_;
}

void FakeCollector::AcceptUntilClosed() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    connections_.emplace_back([this, fd] { Serve(fd); });
  }
}

void FakeCollector::Serve(int fd) {
  std::string buffer;
  while (true) {
    size_t end = 0;
    const auto has_head = [&] { return (end = buffer.find("\r\n\r\n")) != std::string::npos; };
    if (!ReadUntil(fd, buffer, has_head)) return;
    const std::string head = buffer.substr(0, end + 2);
    const size_t whole = end + 4 + ContentLength(head);
    if (!ReadUntil(fd, buffer, [&] { return buffer.size() >= whole; })) return;
    int status = status_;
    ++requests_;
    if (status == 200 && !Keep(head, buffer.substr(end + 4, whole - end - 4))) status = 400;
    buffer.erase(0, whole);
    if (status == 0) continue;
    const std::string answer = fmt::format("HTTP/1.1 {} x\r\nContent-Length: 0\r\n\r\n", status);
    if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

bool FakeCollector::Keep(const std::string& head, const std::string& body) {
  otlp::ExportTraceServiceRequest request;
  if (!request.ParseFromString(body)) return false;
  const std::lock_guard lock(mutex_);
  head_ = head;
  for (const auto& resource : request.resource_spans())
    for (const auto& scope : resource.scope_spans())
      for (const auto& span : scope.spans())
        spans_.push_back(SeenOf(span, Attribute(resource.resource(), "service.name")));
  return true;
}

}  // namespace splitlet::trace
