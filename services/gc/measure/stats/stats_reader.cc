#include "services/gc/measure/stats/stats_reader.h"

#include <utility>

#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {

void StatsReader::Read(bool details, Done done) {
  StatsInput input{.pods = {}, .volumes = deps_.volumes.Get(), .details = details};
  deps_.runtime.ForEach([&input](const std::string&, const auto& record) {
    if (record == nullptr) return;
    PodToRead pod = PodOf(record->pod());
    if (!pod.sandbox.empty() || !pod.containers.empty()) input.pods.push_back(std::move(pod));
  });
  deps_.strands.Run("stats",
                    [sources = deps_.sources, input = std::move(input), done = std::move(done)] {
                      done(ReadNodeStats(sources, input, After(sources.clock, kLimit)));
                    });
}

}  // namespace splitlet::gc
