#include "libs/csi/mount_state.h"

namespace splitlet::csi {

MountState AfterFailedMount(MountState before, ErrorClass error, Origin origin) {
  switch (before) {
    case MountState::kNotMounted:
      return error == ErrorClass::kUncertain ? MountState::kUncertain : MountState::kNotMounted;
    case MountState::kUncertain:
      return RemovesLeftovers(before, error, origin) ? MountState::kNotMounted
                                                     : MountState::kUncertain;
    case MountState::kMounted: return MountState::kMounted;
  }
  UNREACHABLE();
}

MountState AfterFailedUnmount(MountState before, ErrorClass error) {
  if (before == MountState::kNotMounted || error == ErrorClass::kTransient) return before;
  return MountState::kUncertain;
}

bool RemovesLeftovers(MountState before, ErrorClass error, Origin origin) {
  return error == ErrorClass::kFinal && before != MountState::kMounted &&
         origin != Origin::kReconstructed;
}

}  // namespace splitlet::csi
