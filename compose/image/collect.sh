#!/usr/bin/env bash
# collect.sh ROOT PROGRAM...: makes a root file system of these programs in ROOT/usr/bin, without symbols, with their
# libraries, certificates and two users. busybox also gets a link for each of its tools. A link to another program of
# its folder stays a link.
set -euo pipefail

root=$1
shift
mkdir -p "$root"/{bin,etc/ssl/certs,usr/bin}

# The paths that the dynamic linker prints; a static program has none.
linked_by() { ldd "$1" 2>/dev/null | grep -oE '/[^ ]+' | grep -E '\.so(\.|$)' || true; }

# Those libraries, and the ones that a program loads by dlopen.
libraries_of() {
  local name path
  [[ -n $(linked_by "$1") ]] || return 0
  linked_by "$1"
  while read -r name; do
    path=$(ldconfig -p | awk -v name="$name" '$1 == name && !found++ {print $NF}')
    [[ -z $path ]] || { printf '%s\n' "$path" && linked_by "$path"; }
  done < <(grep -aoE 'lib[a-z0-9]+\.so\.[0-9]+' "$1" | sort -u)
}

add_busybox() {
  local tool
  cp -L "$1" "$root/bin/busybox"
  for tool in $("$1" --list); do
    [[ $tool == busybox ]] || ln -sf busybox "$root/bin/$tool"
  done
}

add_program() {
  local library target
  if [[ -L $1 && $(readlink "$1") != */* ]]; then
    target=$(readlink "$1")
    ln -sf "$target" "$root/usr/bin/$(basename "$1")"
    set -- "$(dirname "$1")/$target"
    [[ ! -e $root/usr/bin/$target ]] || return 0
  fi
  cp -L "$1" "$root/usr/bin/"
  [[ $(head -c 4 "$1") != $'\x7fELF' ]] || strip "$root/usr/bin/$(basename "$1")"
  for library in $(libraries_of "$1"); do
    [[ -e $root$library ]] || cp -L --parents "$library" "$root"
  done
}

for program in "$@"; do
  case $(basename "$program") in
    busybox) add_busybox "$program" ;;
    *) add_program "$program" ;;
  esac
done
printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
[[ ! -s /etc/ssl/certs/ca-certificates.crt ]] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
