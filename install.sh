#!/bin/sh
# Installs Postern, or upgrades it: one executable file in /usr/local/bin.
#
#   curl -fsSL ADDRESS/install.sh | sudo sh
#
# ADDRESS is where the folder that "npm run release" filled is published.
# POSTERN_DOWNLOAD_URL     another address than the one that the release was made with
# POSTERN_SIGNING_KEY      the public key that must have signed it ("ssh-ed25519 AAAA...")
# POSTERN_INSTALL_DIR      where the file goes, instead of /usr/local/bin
# POSTERN_ALLOW_DOWNGRADE  1: install a version that is older than the installed one
# POSTERN_ALLOW_UNSIGNED   1: install although this machine cannot check the signature
# POSTERN_REMOVE           1: like the argument --remove
#
# A variable belongs behind the pipe, to the program that reads it: curl ... | sudo POSTERN_INSTALL_DIR=/opt/bin sh
#
#   curl -fsSL ADDRESS/install.sh | sudo sh -s -- --remove
#
# removes the program and its manual pages; settings and data stay.
#
# An upgrade asks the new program first whether it can start on the store ("postern upgrade-check").
# POSIX sh without extensions: dash and busybox sh run it.
set -eu

# The owner of the downloads fills in these two, here or with "npm run release".
default_url=''
default_key=''

# What the executable needs, and what signatures are made for (tools/release/signature.ts).
oldest_glibc=2.28
needed_mb=200
namespace=postern-release

url=
key=
dir=
man=
may_downgrade=
may_be_unsigned=
scratch=
downloader=
# Whether the connection proves whose release this is. If it does not, the signature must.
is_server_proven=no

# Everything is in functions, which the last line starts: half a script, from a connection that broke, does nothing.
main() {
  url=${POSTERN_DOWNLOAD_URL:-$default_url}
  url=${url%/}
  key=${POSTERN_SIGNING_KEY:-$default_key}
  dir=${POSTERN_INSTALL_DIR:-/usr/local/bin}
  case $dir in ?*/) dir=${dir%/} ;; esac
  case $dir in /*) ;; *) dir=$(pwd)/$dir ;; esac
  may_downgrade=${POSTERN_ALLOW_DOWNGRADE:-}
  may_be_unsigned=${POSTERN_ALLOW_UNSIGNED:-}
  case $# in 0) ;; *) [ "$*" = --remove ] || fail "unknown argument: $*. The only one is --remove" ;; esac
  # Where man looks for the pages of programs in $dir. Elsewhere nobody would find them.
  case $dir in */bin) man=${dir%/bin}/share/man/man1 ;; esac
  if [ "${POSTERN_REMOVE:-}" = 1 ] || [ $# -gt 0 ]; then
    remove
    return 0
  fi
  check_lost_removal
  # Postern takes an unknown variable of this form for a mistake.
  unset POSTERN_DOWNLOAD_URL POSTERN_SIGNING_KEY POSTERN_INSTALL_DIR POSTERN_ALLOW_DOWNGRADE POSTERN_ALLOW_UNSIGNED POSTERN_REMOVE
  [ -n "$url" ] || fail 'set POSTERN_DOWNLOAD_URL to the address of a release'
  system=$(system)
  processor=$(processor)
  file=postern-$system-$processor
  case $file in postern-linux-*) check_libraries ;; esac
  choose_downloader
  check_target

  # Beside the target, so that the rename at the end is atomic.
  trap clean_up EXIT
  trap 'clean_up; trap - EXIT; exit 130' INT
  trap 'clean_up; trap - EXIT; exit 131' QUIT
  trap 'clean_up; trap - EXIT; exit 141' PIPE
  trap 'clean_up; trap - EXIT; exit 143' TERM HUP
  remove_leftovers
  scratch=$(mktemp -d "$dir/.postern-install.$$.XXXXXX") || fail "cannot write to $dir"

  download SHA256SUMS
  check_signature
  # An error page, for example, or other line ends.
  ! grep -Eqv '^[0-9a-f]{64}  [a-zA-Z0-9._+-]+$' "$scratch/SHA256SUMS" || fail "SHA256SUMS of $url is damaged: tell the owner of the release"
  expected=$(expected_sum "$file")
  case $expected in
    '') fail "this release has no $file: see $url/NOTES.md, and use the npm package where no executable is published" ;;
    *[!0-9a-f]*) fail "SHA256SUMS of $url is damaged: tell the owner of the release" ;;
  esac
  say "downloading $url/$file"
  download "$file"
  check_sum "$file" "$expected"
  fetch_pages

  chmod 755 "$scratch/$file"
  version=$(run_new "$file")
  if [ -e "$dir/postern" ]; then
    if cmp -s "$scratch/$file" "$dir/postern"; then
      chmod 755 "$dir/postern" || fail "cannot let others run $dir/postern: run this as root (sudo sh)"
      say "postern $version is installed already: $dir/postern (to remove it: sh -s -- --remove)"
      install_pages
      return 0
    fi
    check_upgrade "$file" "$version"
  fi
  mv -f "$scratch/$file" "$dir/postern" || fail "cannot replace $dir/postern"
  say "installed postern $version: $dir/postern"
  install_pages
  say_next
}

say() { printf '%s\n' "$*"; }

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

clean_up() { [ -z "$scratch" ] || rm -rf "$scratch"; }

# "export POSTERN_REMOVE=1; curl ... | sudo sh" wants the opposite of what it would do: sudo passes no variables on, but has it.
check_lost_removal() {
  [ -r "/proc/$PPID/environ" ] || return 0
  if tr '\0' '\n' <"/proc/$PPID/environ" 2>/dev/null | grep -qx 'POSTERN_REMOVE=1'; then
    fail 'POSTERN_REMOVE=1 does not reach this script through sudo. To remove Postern: curl ... | sudo sh -s -- --remove. Nothing was changed'
  fi
}

# Of runs that were killed. The name has the process that it belongs to.
remove_leftovers() {
  for left in "$dir"/.postern-install.*; do
    owner=${left#"$dir"/.postern-install.}
    owner=${owner%%.*}
    case $owner in *[!0-9]*) continue ;; esac
    kill -0 "$owner" 2>/dev/null || rm -rf "$left" 2>/dev/null || true
  done
}

# Everybody may look into it, whatever the umask of the caller is.
make_folder() { (umask 022 && mkdir -p "$1") 2>/dev/null; }

system() {
  case $(uname -s) in
    Linux) echo linux ;;
    Darwin) echo darwin ;;
    *) fail "there is no executable for $(uname -s): use the npm package, with Node 24 or newer" ;;
  esac
}

processor() {
  case $(uname -m) in
    x86_64 | amd64) echo x64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) fail "there is no executable for the processor $(uname -m): use the npm package, with Node 24 or newer" ;;
  esac
}

check_libraries() {
  # musl's ldd fails, and says what it is on standard error.
  libc=$(ldd --version 2>&1 || true)
  case $libc in
    *musl*) fail "this system uses musl, and the executable needs glibc $oldest_glibc or newer: use the npm package or the container image" ;;
  esac
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || printf '%s\n' "$libc" | head -n 1)
  glibc=${glibc##* }
  case $glibc in
    [0-9]*.[0-9]*)
      ! is_older "$glibc" "$oldest_glibc" ||
        fail "this system has glibc $glibc, and the executable needs $oldest_glibc or newer: use a newer system, the npm package or the container image"
      ;;
  esac
  # Where there is no ldconfig, the first run of the program tells.
  libraries=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null) || return 0
  case $libraries in
    *libatomic.so.1*) ;;
    *) fail 'the library libatomic is missing: install it (Debian and Ubuntu: apt-get install libatomic1; Fedora: dnf install libatomic), and run this again' ;;
  esac
  case $libraries in
    *libstdc++.so.6*) ;;
    *) fail 'the library libstdc++ is missing: install it (Debian and Ubuntu: apt-get install libstdc++6; Fedora: dnf install libstdc++), and run this again' ;;
  esac
}

# Whether version $1 is older than $2. Numbers with dots; what follows a hyphen comes before the version itself.
is_older() {
  awk -v a="$1" -v b="$2" 'BEGIN {
    split(a, ha, "-"); split(b, hb, "-")
    split(ha[1], x, "."); split(hb[1], y, ".")
    for (i = 1; i <= 3; i++) if (x[i] + 0 != y[i] + 0) exit !(x[i] + 0 < y[i] + 0)
    exit !(ha[2] != "" && hb[2] == "")
  }'
}

choose_downloader() {
  if has curl; then
    downloader=curl
  elif has wget; then
    downloader=wget
    # busybox does not check the certificate of a server.
    case $(wget --help 2>&1 || true) in *BusyBox*) downloader=busybox ;; esac
  else
    fail 'this needs curl or wget: install one of them'
  fi
  # A name before "@" looks like the host, and is none.
  case $url in
    *[!a-zA-Z0-9:/._~%+=,\[\]-]*) fail "POSTERN_DOWNLOAD_URL must be an address such as https://downloads.example.com/postern, and is $url" ;;
    https://*) [ "$downloader" = busybox ] || is_server_proven=yes ;;
    http://localhost/* | http://localhost:* | http://127.0.0.1/* | http://127.0.0.1:* | http://\[::1\]/* | http://\[::1\]:*) is_server_proven=yes ;;
    http://*) ;;
    *) fail "POSTERN_DOWNLOAD_URL must start with https://, and is $url" ;;
  esac
}

check_target() {
  [ ! -L "$dir/postern" ] ||
    fail "$dir/postern is a link, such as npm makes: remove it first (npm uninstall -g postern), or set POSTERN_INSTALL_DIR"
  [ ! -d "$dir/postern" ] || fail "$dir/postern is a directory: set POSTERN_INSTALL_DIR"
  [ ! -e "$dir/postern" ] || [ -f "$dir/postern" ] || fail "$dir/postern is not a file: set POSTERN_INSTALL_DIR"
  [ -d "$dir" ] || make_folder "$dir" || fail "cannot create $dir: run this as root (sudo sh), or set POSTERN_INSTALL_DIR"
  [ -w "$dir" ] || fail "cannot write to $dir: run this as root (sudo sh), or set POSTERN_INSTALL_DIR"
  free_kb=$(df -Pk "$dir" 2>/dev/null | awk 'NR == 2 { print $4 }')
  case $free_kb in
    '' | *[!0-9]*) ;;
    *) [ "$free_kb" -ge $((needed_mb * 1024)) ] ||
      fail "$dir has $((free_kb / 1024)) MB of free space, and $needed_mb are needed: free some, or set POSTERN_INSTALL_DIR" ;;
  esac
}

# Downloads $url/$1 to $scratch/$1. A redirect never leads from https to http, and from http nowhere.
download() {
  rm -f "$scratch/$1"
  case $downloader in
    curl)
      case $url in
        https://*) set -- "$1" --proto =https --proto-redir =https ;;
        *) set -- "$1" --max-redirs 0 ;;
      esac
      name=$1
      shift
      bounded "$name" curl -fsSL --connect-timeout 30 --speed-limit 1000 --speed-time 60 --retry 2 "$@" \
        -o "$scratch/$name" "$url/$name" 2>"$scratch/problem" || cannot_download "$name"
      ;;
    *)
      name=$1
      shift
      # wget2, which Fedora calls wget, writes to standard output, and "Adding URL:" instead of the header.
      # busybox 1.35 of Debian crashes with -T; its limit without is 15 minutes.
      [ "$downloader" = busybox ] || set -- --timeout=60 --tries=3
      bounded "$name" wget -S "$@" -O "$scratch/$name" "$url/$name" >"$scratch/problem" 2>&1 || cannot_download "$name"
      case $url in
        https://*) forbidden='http:' ;;
        *) forbidden= ;;
      esac
      ! grep -i -e "^[[:space:]]*location:[[:space:]]*$forbidden" -e "^adding url:[[:space:]]*$forbidden" "$scratch/problem" >"$scratch/redirect" ||
        fail "$url/$name redirects to a place that cannot be trusted ($(head -n 1 "$scratch/redirect"))"
      ;;
  esac
}

# Runs the downloader of $1. A server that sends without end must not fill the disk.
bounded() {
  case $1 in
    SHA256SUMS*) most_mb=1 ;;
    *) most_mb=$((needed_mb * 2)) ;;
  esac
  shift
  (
    # The write fails then, which the downloader reports. Blocks have 512 bytes, in some shells 1024.
    trap '' XFSZ
    ulimit -f $((most_mb * 2048))
    "$@"
  )
}

cannot_download() {
  free_kb=$(df -Pk "$dir" 2>/dev/null | awk 'NR == 2 { print $4 }')
  fail "cannot download $url/$1 ($(tail -n 1 "$scratch/problem" | tr -d '\r'); $((${free_kb:-0} / 1024)) MB of free space). Nothing was installed"
}

check_signature() {
  reason=
  if [ -z "$key" ]; then
    reason='this install.sh names no key (POSTERN_SIGNING_KEY)'
  elif ! has ssh-keygen; then
    reason='ssh-keygen is missing (Debian and Ubuntu: apt-get install openssh-client)'
  else
    # OpenSSH before 8.0 knows no signatures of files.
    case $(ssh-keygen -Y find-principals 2>&1 || true) in
      *nknown\ option* | *llegal\ option*) reason='this ssh-keygen is older than OpenSSH 8.0' ;;
    esac
  fi
  if [ -n "$reason" ]; then
    [ "$is_server_proven" = yes ] ||
      fail "the signature cannot be checked: $reason. It must be, because nothing else proves who made what $url offers: use https and curl"
    [ -z "$key" ] || [ "$may_be_unsigned" = 1 ] ||
      fail "the signature cannot be checked: $reason. Nothing was installed. POSTERN_ALLOW_UNSIGNED=1 installs without the check"
    say "The signature was NOT checked: $reason."
    return 0
  fi
  download SHA256SUMS.sig
  printf 'postern namespaces="%s" %s\n' "$namespace" "$key" >"$scratch/signers"
  ssh-keygen -Y verify -f "$scratch/signers" -I postern -n "$namespace" -s "$scratch/SHA256SUMS.sig" \
    <"$scratch/SHA256SUMS" >"$scratch/problem" 2>&1 ||
    fail "the signature of $url/SHA256SUMS is not one of the expected key ($key). Nothing was installed"
  say 'The signature is correct.'
}

sha256() {
  if has sha256sum; then
    sum=$(sha256sum "$1")
  elif has shasum; then
    sum=$(shasum -a 256 "$1")
  elif has openssl; then
    sum=$(openssl dgst -sha256 -r "$1")
  else
    fail 'this needs sha256sum, shasum or openssl to check the download: install one of them'
  fi
  printf '%s\n' "${sum%% *}"
}

# The hash of $1 by SHA256SUMS; empty: the release has no such file.
expected_sum() { awk -v name="$1" '$2 == name { print $1 }' "$scratch/SHA256SUMS"; }

check_sum() {
  found=$(sha256 "$scratch/$1")
  [ "$found" = "$2" ] ||
    fail "the download of $1 is damaged or was replaced: its SHA-256 is $found, and SHA256SUMS says $2. Nothing was installed"
}

# Before anything is installed: a download that fails leaves everything as it was. The program works without its pages.
fetch_pages() {
  expected=$(expected_sum postern-man.tar)
  [ -n "$expected" ] && [ -n "$man" ] || return 0
  if ! has tar; then
    say 'The manual pages are left out: tar is missing.'
  elif ! make_folder "$man" || [ ! -w "$man" ]; then
    say "The manual pages are left out: cannot write to $man."
  else
    download postern-man.tar
    check_sum postern-man.tar "$expected"
    mkdir "$scratch/man"
    tar -xf "$scratch/postern-man.tar" -C "$scratch/man" || fail "cannot unpack postern-man.tar. Nothing was installed"
  fi
}

install_pages() {
  [ -d "$scratch/man" ] || return 0
  remove_pages
  for page in "$scratch"/man/postern.1 "$scratch"/man/postern-*.1; do
    [ -f "$page" ] || continue
    chmod 644 "$page"
    # A link is replaced, and not followed.
    if ! rm -f "$man/${page##*/}" || ! mv "$page" "$man/${page##*/}"; then
      fail "cannot write ${page##*/} to $man. The program is installed"
    fi
  done
  say "installed its manual pages: man postern"
}

# Those of an earlier version too, whose commands may be gone. Pages of other programs have another first line.
remove_pages() {
  for page in "$man"/postern.1 "$man"/postern-*.1; do
    [ -f "$page" ] || continue
    case $(head -n 1 "$page") in
      *'Generated from the syntax of the commands by "npm run generate"'*) rm -f "$page" || fail "cannot remove $page: run this as root (sudo sh)" ;;
    esac
  done
}

remove() {
  [ ! -L "$dir/postern" ] || fail "$dir/postern is a link, such as npm makes: remove it with npm uninstall -g postern"
  for unit in postern postern-agent; do
    [ ! -e "/etc/systemd/system/$unit.service" ] ||
      fail 'a service still uses it: run "postern service uninstall" and "postern service uninstall agent" first'
  done
  [ -f "$dir/postern" ] || fail "there is no $dir/postern: set POSTERN_INSTALL_DIR if it is elsewhere"
  rm -f "$dir/postern" || fail "cannot remove $dir/postern: run this as root (sudo sh)"
  remove_leftovers
  [ -z "$man" ] || remove_pages
  say "removed $dir/postern and its manual pages. Settings (/etc/postern) and data (/var/lib/postern) stay: delete them yourself"
}

run_new() {
  "$scratch/$1" --version 2>"$scratch/problem" ||
    fail "the program does not start here: $(head -n 1 "$scratch/problem"). Nothing was installed"
}

check_upgrade() {
  installed=$("$dir/postern" --version 2>/dev/null || true)
  if [ "$may_downgrade" != 1 ] && [ -n "$installed" ] && is_older "$2" "$installed"; then
    fail "$url offers postern $2, which is older than the installed $installed: set POSTERN_ALLOW_DOWNGRADE=1 if you want it"
  fi
  say "upgrading postern ${installed:-(which does not start)} to $2"
  upgrade_check "$1" ||
    fail "postern $2 cannot start on the store (above). The installed version stays"
}

# With the settings of the service, if there is one, otherwise with those of this environment.
upgrade_check() {
  if [ -e /etc/postern/postern.env ]; then
    [ -r /etc/postern/postern.env ] || fail 'cannot read /etc/postern/postern.env: run this as root (sudo sh)'
    (
      set -a
      # shellcheck source=/dev/null
      . /etc/postern/postern.env
      exec "$scratch/$1" upgrade-check --data-dir "${POSTERN_DATA_DIR:-/var/lib/postern}"
    )
  else
    "$scratch/$1" upgrade-check
  fi
}

say_next() {
  case :$PATH: in
    *:"$dir":*) ;;
    *) say "$dir is not in your PATH: add it, or run $dir/postern" ;;
  esac
  if [ -n "${installed:-}" ]; then
    say 'A server that runs keeps the old version until "postern restart", or "systemctl restart postern".'
  else
    say 'Next: postern server, or postern help.'
  fi
}

# Standard input is this script, if it came through a pipe: no program may read it.
main "$@" </dev/null
