#include "libs/daemon/mapped_files.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace splitlet::daemon {
namespace {

int ForgetPagesOf(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const ElfW(Addr) begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const ElfW(Addr) end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // madvise is a hint: without it more pages stay mapped.
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ForgetPagesOfFiles() { dl_iterate_phdr(&ForgetPagesOf, nullptr); }

}  // namespace splitlet::daemon
