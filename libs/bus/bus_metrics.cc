#include "libs/bus/bus_metrics.h"

#include <algorithm>
#include <chrono>

namespace splitlet::bus {
namespace {

double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

prometheus::Counter& Plain(prometheus::Registry& registry, const std::string& name,
                           const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry,
                                                  const std::string& name,
                                                  const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry,
                                              const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Counter& Dropped(prometheus::Registry& registry, const std::string& reason) {
  return Counters(registry, "splitlet_bus_publish_dropped_total", "Messages that were not sent")
      .Add({{"reason", reason}});
}

/// The cores keep totals; a counter of Prometheus takes only the difference.
void Raise(prometheus::Counter& counter, uint64_t to) {
  counter.Increment(std::max(0.0, static_cast<double>(to) - counter.Value()));
}

}  // namespace

BusMetrics::BusMetrics(prometheus::Registry& registry)
    : published(Plain(registry, "splitlet_bus_published_total",
                      "Changes of the own table that were numbered")),
      refused(Plain(registry, "splitlet_bus_refused_records_total",
                    "Records of the own table that were not taken")),
      dropped_away(Dropped(registry, "away")),
      dropped_full(Dropped(registry, "full")),
      permission_errors(
          Plain(registry, "splitlet_bus_permission_errors_total", "Refusals by the bus")),
      errors(Plain(registry, "splitlet_bus_errors_total", "Other errors of the connection")),
      overflows(Plain(registry, "splitlet_bus_overflows_total",
                      "Messages dropped because the loop was behind")),
      undecodable(Plain(registry, "splitlet_bus_undecodable_messages_total",
                        "Messages that are not understood")),
      lag(prometheus::BuildHistogram()
              .Name("splitlet_bus_heartbeat_lag_seconds")
              .Help("From the sending of a heartbeat to its taking")
              .Register(registry)),
      changes(Counters(registry, "splitlet_bus_changes_total", "Changes taken from messages")),
      gaps(Counters(registry, "splitlet_bus_gaps_total", "Messages found missing")),
      lists(Counters(registry, "splitlet_bus_lists_total", "Lists by outcome")),
      rejected(Counters(registry, "splitlet_bus_rejected_total",
                        "Messages that say nothing new or make no sense")),
      records(Gauges(registry, "splitlet_bus_view_records", "Records in the view")),
      age(Gauges(registry, "splitlet_bus_view_age_seconds", "Since the owner last spoke")),
      live(Gauges(registry, "splitlet_bus_view_live", "1 while the view is live")) {}

void BusMetrics::ObserveLag(const std::string& table, Duration delay) {
  lag.Add({{"table", table}},
          prometheus::Histogram::BucketBoundaries{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1, 0.25, 0.5, 1, 2.5, 5})
      .Observe(Seconds(delay));
}

BusMetrics::OfView& BusMetrics::Of(const std::string& table) {
  if (const auto known = views_.find(table); known != views_.end()) return known->second;
  const prometheus::Labels of_table = {{"table", table}};
  const auto list = [&](const char* kind) -> prometheus::Counter& {
    return lists.Add({{"table", table}, {"kind", kind}});
  };
  const auto reject = [&](const char* reason) -> prometheus::Counter& {
    return rejected.Add({{"table", table}, {"reason", reason}});
  };
  const OfView made{.changes = changes.Add(of_table),
                    .gaps = gaps.Add(of_table),
                    .full_lists = list("full"),
                    .delta_lists = list("delta"),
                    .failed_lists = list("failed"),
                    .not_owner = reject("foreign"),
                    .impossible = reject("impossible"),
                    .obsolete = reject("obsolete"),
                    .duplicates = reject("duplicate"),
                    .unknown = reject("unknown"),
                    .records = records.Add(of_table),
                    .age = age.Add(of_table),
                    .live = live.Add(of_table)};
  return views_.emplace(table, made).first->second;
}

void BusMetrics::Update(const std::vector<ViewStats>& views, PutCounts puts, Clock::Time now) {
  Raise(published, puts.published);
  Raise(refused, puts.refused);
  for (const auto& view : views) {
    const OfView& of = Of(view.info.table);
    const auto& counts = view.counts;
    Raise(of.changes, counts.changes);
    Raise(of.gaps, counts.gaps);
    Raise(of.full_lists, counts.full_lists);
    Raise(of.delta_lists, counts.delta_lists);
    Raise(of.failed_lists, counts.failed_lists);
    Raise(of.not_owner, counts.foreign);
    Raise(of.impossible, counts.impossible);
    Raise(of.obsolete, counts.obsolete);
    Raise(of.duplicates, counts.duplicates);
    Raise(of.unknown, counts.unknown);
    of.records.Set(static_cast<double>(view.info.records));
    of.age.Set(Seconds(now - view.heard_at));
    of.live.Set(view.info.state == ViewState::kLive ? 1 : 0);
  }
}

}  // namespace splitlet::bus
