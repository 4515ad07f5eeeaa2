#include "tests/harness/dbus_daemon.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "libs/base/status.h"
#include "tests/harness/child.h"

namespace splitlet::harness {
namespace {

bool Listens(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::strcpy(address.sun_path, path.c_str());
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return connected;
}

}  // namespace

DbusDaemon::DbusDaemon(const std::string& dir) : dir_(dir) {
  std::ofstream(dir_ + "/dbus.conf")
      << "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" "
         "\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
         "<busconfig><type>system</type><listen>"
      << address()
      << "</listen><auth>EXTERNAL</auth><policy context=\"default\"><allow send_destination=\"*\" "
         "eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/></policy>"
         "</busconfig>\n";
  Start();
}

DbusDaemon::~DbusDaemon() { Kill(); }

void DbusDaemon::Start() {
  ::unlink(socket().c_str());
  pid_ = Spawn({.argv = {"dbus-daemon", "--config-file=" + dir_ + "/dbus.conf", "--nofork",
                         "--nopidfile", "--nosyslog"},
                .env = {},
                .output = dir_ + "/dbus.log"});
  CHECK(WaitFor(10s, [this] { return Listens(socket()); }), "dbus-daemon: {}",
        ReadFile(dir_ + "/dbus.log"));
}

void DbusDaemon::Signal(int signal) const { CHECK(::kill(pid_, signal) == 0); }

void DbusDaemon::Kill() {
  if (pid_ == 0) return;
  Signal(SIGKILL);
  ::waitpid(std::exchange(pid_, 0), nullptr, 0);
}

}  // namespace splitlet::harness
