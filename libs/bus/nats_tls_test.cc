// The link to a real nats-server over TLS: which servers it trusts, at any time of the clock, and
// what it sends to a server that it does not trust.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "libs/bus/nats_link.h"
#include "libs/bus/nats_trust.h"
#include "libs/bus/reconnect_wait.h"
#include "tests/harness/child.h"
#include "tests/harness/nats_server.h"

namespace {

std::atomic<time_t> clock_of_certificates = 0;  // 0: the machine's
std::atomic<int> asked_for_the_time = 0;

}  // namespace

/// The clock that OpenSSL compares the times of a certificate with, in this program.
extern "C" time_t time(time_t* out) noexcept {
  ++asked_for_the_time;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const time_t told = clock_of_certificates != 0 ? clock_of_certificates.load() : now.tv_sec;
  if (out != nullptr) *out = told;
  return told;
}

namespace splitlet::bus {
namespace {

bool WithinHalfAMinute(const std::function<bool()>& condition) {
  return harness::WaitFor(30s, condition);
}

/// A link and the errors that it reported.
class Client {
 public:
  Client(std::string url, std::string ca)
      : link_({.url = std::move(url),
               .user = "pleg",
               .password = "pw",
               .name = "pleg",
               .ca_file = std::move(ca)},
              {.message = [](std::string_view, std::string_view) {},
               .connection = [](bool) {},
               .error =
                   [this](LinkError kind, const std::string& text) {
                     const std::lock_guard lock(mutex_);
                     errors_ += text + "\n";
                     untrusted_ = untrusted_ || kind == LinkError::kUntrusted;
                   },
               .lost = [] {}},
              clock_) {}
  bool Connects() {
    return WithinHalfAMinute([this] { return link_.connected(); });
  }
  bool connected() const { return link_.connected(); }
  /// Does not trust the server, and says so with these words.
  bool Refuses(const std::string& words) {
    return WithinHalfAMinute([&] {
      const std::lock_guard lock(mutex_);
      return untrusted_ && errors_.find(words) != std::string::npos;
    });
  }
  std::string errors() {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

 private:
  const RealClock clock_;
  std::mutex mutex_;
  std::string errors_;
  bool untrusted_ = false;
  NatsLink link_;
};

class NatsTlsTest : public testing::Test {
 protected:
  ~NatsTlsTest() override { clock_of_certificates = 0; }
  /// In place of those of nats.sh: a certificate that signs itself.
  void MakeOwnKeys(const std::string& name, const std::string& days) {
    const std::string keys = dir_ / "tls/current/";
    ASSERT_EQ(
        harness::RunToEnd({.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                    "ec_paramgen_curve:P-256", "-nodes", "-days", days, "-subj",
                                    "/CN=x", "-addext", "subjectAltName=DNS:" + name, "-keyout",
                                    keys + "server.key", "-out", keys + "server.pem"},
                           .env = {},
                           .output = dir_ / "openssl.log"},
                          30s),
        0);
    std::filesystem::copy_file(keys + "server.pem", nats_.ca(),
                               std::filesystem::copy_options::overwrite_existing);
  }

  const harness::TempDir dir_{"tls"};
  harness::NatsServer nats_{dir_.path(), {{"pleg", R"(">")", ""}}};
};

constexpr time_t kYear1970 = 1, kYear2100 = 4'102'444'800;

TEST_F(NatsTlsTest, AWrongClockDoesNotCostTheBus) {
  nats_.Start();
  for (const time_t now : {kYear1970, kYear2100}) {
    clock_of_certificates = now;
    const int before = asked_for_the_time;
    Client client(nats_.url(), nats_.ca());
    EXPECT_TRUE(client.Connects()) << now << ": " << client.errors();
    EXPECT_GT(asked_for_the_time, before) << "the times were read";
  }
}

TEST_F(NatsTlsTest, TheTimesOfACertificateCount) {
  MakeOwnKeys("splitlet-bus", "2");
  nats_.Start();
  Client today(nats_.url(), nats_.ca());
  EXPECT_TRUE(today.Connects()) << today.errors();
  clock_of_certificates = kYear2100;
  Client late(nats_.url(), nats_.ca());
  EXPECT_TRUE(late.Refuses("certificate has expired")) << late.errors();
  clock_of_certificates = kYear1970;
  Client early(nats_.url(), nats_.ca());
  EXPECT_TRUE(early.Refuses("not yet valid")) << early.errors();
}

TEST_F(NatsTlsTest, AnotherInstallationsServerIsNotTrusted) {
  nats_.Start();
  const harness::TempDir other("tls");
  const harness::NatsServer theirs(other.path());
  Client client(nats_.url(), theirs.ca());
  EXPECT_TRUE(client.Refuses("certificate verify failed") ||
              client.Refuses("unable to get local issuer certificate"))
      << client.errors();
  EXPECT_FALSE(client.connected());
}

TEST_F(NatsTlsTest, TheSystemsCasAreNotTrusted) {
  MakeOwnKeys("splitlet-bus", "2");
  nats_.Start();
  const harness::TempDir other("tls");
  const harness::NatsServer theirs(other.path());
  setenv("SSL_CERT_FILE", nats_.ca().c_str(), 1);  // in place of the system's
  Client client(nats_.url(), theirs.ca());
  EXPECT_TRUE(client.Refuses("certificate")) << client.errors();
  unsetenv("SSL_CERT_FILE");
  EXPECT_FALSE(client.connected());
}

TEST_F(NatsTlsTest, AnotherNameIsNotTrusted) {
  MakeOwnKeys("somebody-else", "2");
  nats_.Start();
  Client client(nats_.url(), nats_.ca());
  EXPECT_TRUE(client.Refuses("ostname mismatch")) << client.errors();
}

TEST_F(NatsTlsTest, KeysAreReplacedWhileItRuns) {
  nats_.Start();
  Client before(nats_.url(), nats_.ca());
  ASSERT_TRUE(before.Connects());
  const std::string old_ca = harness::ReadFile(nats_.ca());
  nats_.ReplaceKeys();
  EXPECT_NE(harness::ReadFile(nats_.ca()), old_ca);
  Client after(nats_.url(), nats_.ca());
  EXPECT_TRUE(after.Connects()) << after.errors();
  EXPECT_TRUE(before.connected()) << "a connection that stands is not cut";
  nats_.Kill(SIGKILL);
  ASSERT_TRUE(WithinHalfAMinute([&] { return !before.connected(); }));
  nats_.Start();
  EXPECT_TRUE(before.Connects()) << "it trusts the CA that is there now: " << before.errors();
}

TEST_F(NatsTlsTest, ACaThatCannotBeReadIsSaidWithItsPathAndTriedAgain) {
  nats_.Start();
  const std::string path = dir_ / "ca.pem";
  Client client(nats_.url(), path);
  EXPECT_TRUE(client.Refuses("--nats-ca: " + path + ": No such file or directory"))
      << client.errors();
  harness::WriteFile(path, "nonsense");
  EXPECT_TRUE(client.Refuses("--nats-ca: " + path + ": not a certificate in PEM"))
      << client.errors();
  std::filesystem::rename(nats_.ca(), path);
  EXPECT_TRUE(client.Connects()) << client.errors();
}

/// Another program that took the port first: it greets as it likes, and keeps what clients send.
class Squatter {
 public:
  explicit Squatter(std::string greeting) : greeting_(std::move(greeting)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  ~Squatter() {
    thread_ = {};
    close(listener_);
  }
  Squatter(const Squatter&) = delete;
  Squatter& operator=(const Squatter&) = delete;

  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  std::string heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  int visits() const { return visits_; }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waits{listener_, POLLIN, 0};
      if (poll(&waits, 1, 20) <= 0) continue;
      const int fd = accept(listener_, nullptr, nullptr);
      ++visits_;
      send(fd, greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
      Listen(fd, stop);
      close(fd);
    }
  }
  /// Until the other side has said something, and then nothing more.
  void Listen(int fd, const std::stop_token& stop) {
    char buffer[4096];
    while (!stop.stop_requested()) {
      pollfd waits{fd, POLLIN, 0};
      if (poll(&waits, 1, 200) <= 0) return;
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return;
      const std::lock_guard lock(mutex_);
      heard_.append(buffer, static_cast<size_t>(n));
    }
  }

  const std::string greeting_;
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::string heard_;
  std::atomic<int> visits_ = 0;
  std::jthread thread_;
};

TEST_F(NatsTlsTest, ASquatterOnThePortHearsNoPassword) {
  const std::string info =
      R"(INFO {"server_id":"x","version":"2.9.10","max_payload":1048576,"auth_required":true)";
  for (const std::string& greeting : {info + "}\r\n", info + R"(,"tls_required":true})" + "\r\n",
                                      std::string("nonsense\r\n"), std::string()}) {
    SCOPED_TRACE(greeting);
    Squatter squatter(greeting);
    {
      Client client(squatter.url(), nats_.ca());
      EXPECT_TRUE(WithinHalfAMinute([&] { return squatter.visits() >= 2; })) << client.errors();
      EXPECT_FALSE(client.connected());
    }
    EXPECT_EQ(squatter.heard().find("CONNECT"), std::string::npos);
    EXPECT_EQ(squatter.heard().find("pw"), std::string::npos);
  }
}

TEST(Trust, WithoutTlsOnlyLoopbackIsSpokenTo) {
  natsOptions* raw = nullptr;
  ASSERT_EQ(natsOptions_Create(&raw), NATS_OK);
  const NatsOptions options(raw);
  for (const char* url : {"nats://127.0.0.1:4222", "127.1.2.3:4222", "nats://a:b@localhost:4222",
                          "nats://[::1]:4222"})
    EXPECT_TRUE(SetTrust(*raw, url, "").ok()) << url;
  for (const char* url : {"nats://10.0.0.1:4222", "nats://127.0.0.1@example.org:4222",
                          "nats://localhost.example.org", "nats://[::2]:4222"})
    EXPECT_EQ(SetTrust(*raw, url, "").code(), StatusCode::kInvalidArgument) << url;
}

TEST(ReconnectWait, GrowsUntilAConnectionHasHeld) {
  ReconnectWait wait(7);
  Duration least = ReconnectWait::kFirst;
  for (int i = 0; i < 10; ++i) {
    const Duration next = wait.Next(i % 2 == 0 ? 0s : 4s);
    EXPECT_GE(next, least) << i;
    EXPECT_LE(next, 2 * least) << i;
    least = std::min(2 * least, ReconnectWait::kLongest);
  }
  EXPECT_EQ(least, ReconnectWait::kLongest);
  EXPECT_LE(wait.Next(5s), 2 * ReconnectWait::kFirst)
      << "after a connection that held the waits start again";
}

}  // namespace
}  // namespace splitlet::bus
