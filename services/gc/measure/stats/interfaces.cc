#include "services/gc/measure/stats/interfaces.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

constexpr std::string_view kDefault = "eth0";

bool IsLeftOut(std::string_view name) {
  return name == "lo" || name.starts_with("veth") || name.starts_with("docker") ||
         name.starts_with("nerdctl");
}

}  // namespace

std::vector<v1::InterfaceStats> ParseInterfaces(const std::string& net_dev) {
  std::vector<v1::InterfaceStats> interfaces;
  std::istringstream lines(net_dev);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;  // the heading
    std::string name = line.substr(0, colon);
    name.erase(0, name.find_first_not_of(' '));
    std::istringstream words(line.substr(colon + 1));
    std::array<uint64_t, 12> numbers{};
    const bool whole = std::ranges::all_of(
        numbers, [&words](uint64_t& number) { return static_cast<bool>(words >> number); });
    if (!whole || IsLeftOut(name)) continue;
    v1::InterfaceStats& stats = interfaces.emplace_back();
    stats.set_name(name);
    stats.set_rx_bytes(numbers[0]);
    stats.set_rx_packets(numbers[1]);
    stats.set_rx_errors(numbers[2]);
    stats.set_rx_dropped(numbers[3]);
    stats.set_tx_bytes(numbers[8]);
    stats.set_tx_packets(numbers[9]);
    stats.set_tx_errors(numbers[10]);
    stats.set_tx_dropped(numbers[11]);
  }
  std::stable_partition(interfaces.begin(), interfaces.end(),
                        [](const auto& each) { return each.name() == kDefault; });
  return interfaces;
}

}  // namespace splitlet::gc
