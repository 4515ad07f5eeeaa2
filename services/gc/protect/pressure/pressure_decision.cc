#include "services/gc/protect/pressure/pressure_decision.h"

namespace splitlet::gc {

PressureDecision ComputePressure(const PressureMemory& memory, const Signals& signals,
                                 const GcConfig& config, Clock::Time now) {
  PressureDecision decision{.judged = {}, .conditions = {}, .next = memory};
  LastMet& last_met = decision.next.last_met;
  KeepStanding(last_met, UnreadThresholds(signals, config), now);
  decision.judged = Judge(ThresholdsOf(config), signals.read, decision.next.met, now);
  Remember(last_met, decision.judged.met, now, config.pressure_transition);
  decision.conditions = Conditions(last_met, now, config.pressure_transition);
  return decision;
}

}  // namespace splitlet::gc
