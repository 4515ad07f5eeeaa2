#pragma once

/// TCP's keepalive: a peer that vanishes without a word ends a quiet connection after two and a
/// half minutes. Where bytes were under way to it TCP itself gives up, after about a quarter of an
/// hour.
/// Threads: that of the socket.
/// Errors:  none; a socket that is closed already is left alone.
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
      {{TCP_KEEPIDLE, 15}, {TCP_KEEPINTVL, 15}, {TCP_KEEPCNT, 9}}};  // seconds; probes
  for (const auto& [option, value] : kOptions)
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
}

}  // namespace splitlet::https
