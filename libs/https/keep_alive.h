#pragma once

/// Sets TCP's keepalive: a quiet connection whose peer has vanished ends after two and a half
/// minutes. With unacknowledged bytes, TCP itself gives up after about 15 minutes.
/// Threads: that of the socket.
/// Errors:  none; a closed socket is ignored.
/// Source:  Go's net.KeepAliveConfig by default.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

namespace splitlet::https {

inline void KeepAlive(boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  static constexpr std::array<std::pair<int, int>, 3> kOptions = {
      // times in seconds, number of probes
      {{TCP_KEEPIDLE, 15}, {TCP_KEEPINTVL, 15}, {TCP_KEEPCNT, 9}}};
  for (const auto& [option, value] : kOptions)
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
}

}  // namespace splitlet::https
