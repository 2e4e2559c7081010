#!/usr/bin/env bash
# Brings what the tests need beyond Go and a fresh machine lacks: Debian
# packages (.ci/install), and a SYCL runtime with Intel's OpenCL for CPUs from
# PyPI, in a folder of the user's cache that is named by the list of versions.
#
#   .ci/deps.sh       install what is missing, write the environment file
#   .ci/deps.sh env   print the path of the environment file, for a shell to source
#
# What cannot be installed is said and no failure: the tests that need it are
# then skipped, or fail if TANDEM_REQUIRE names them.
set -euo pipefail

# Changing a version changes the folder.
wheels=(
	intel-sycl-rt==2026.2.0
	intel-opencl-rt==2026.2.0
	intel-cmplr-lib-ur==2026.2.0
	intel-cmplr-lib-rt==2026.2.0
	intel-cmplr-lic-rt==2026.2.0
	tbb==2023.2.0
	tcmlib==1.6.0
	umf==1.2.0
)

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tandem/deps
key=$(printf '%s\n' "${wheels[@]}" | sha256sum | cut -c1-12)
root=$cache/sycl-$key
env=$cache/env-$key.sh

if [ "${1:-}" = env ]; then
	mkdir -p "$cache"
	[ -e "$env" ] || printf '# Nothing is installed: run make deps.\n' >"$env"
	echo "$env"
	exit 0
fi

"$here/install"

skip() {
	echo "no SYCL runtime: $*; the tests that need one are skipped, or fail if TANDEM_REQUIRE names sycl" >&2
	exit 0
}

# as_root runs a command as root, where that goes without asking.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

if ! command -v g++ >/dev/null && command -v apt-get >/dev/null; then
	{ as_root apt-get update && as_root apt-get install -y --no-install-recommends g++; } >/dev/null 2>&1 || true
fi

# fill installs the wheels into the folder $1.
fill() {
	local pip=("$1/bin/python" -m pip)
	if ! python3 -m venv "$1" >/dev/null 2>&1; then
		# Debian keeps what venv needs in a package of its own.
		if command -v apt-get >/dev/null && as_root apt-get install -y --no-install-recommends python3-venv >/dev/null 2>&1 &&
			python3 -m venv "$1" >/dev/null 2>&1; then
			:
		elif python3 -m pip --version >/dev/null 2>&1; then
			pip=(python3 -m pip)
		else
			return 1
		fi
	fi
	"${pip[@]}" install --quiet --disable-pip-version-check --no-input --no-compile --root-user-action=ignore \
		--prefix "$1" "${wheels[@]}"
	# Debian's own pip puts a folder between.
	if [ -d "$1/local/lib" ]; then
		cp -al "$1/local/." "$1/" && rm -rf "$1/local"
	fi
	[ -n "$(compgen -G "$1/lib/libsycl.so.*")" ] && [ -e "$1/include/sycl/sycl.hpp" ]
}

if [ ! -e "$root/complete" ]; then
	[ "$(uname -sm)" = "Linux x86_64" ] || skip "the wheels are for Linux on x86-64"
	command -v python3 >/dev/null || skip "there is no python3"
	mkdir -p "$cache"
	if command -v flock >/dev/null; then
		exec 9>"$cache/lock"
		flock 9 # another checkout may be at it
	fi
	if [ ! -e "$root/complete" ]; then
		echo "installing: ${wheels[*]} (1.5 GB) into $root"
		new=$(mktemp -d "$cache/new-XXXXXX")
		trap 'rm -rf "$new"' EXIT
		if ! fill "$new/tree" >"$new/log" 2>&1; then
			tail -n 5 "$new/log" >&2
			skip "installing the wheels failed"
		fi
		touch "$new/tree/complete"
		rm -rf "$root"
		mv "$new/tree" "$root"
	fi
fi

printf 'export TANDEM_SYCL_ROOT=%q\n' "$root" >"$env.$$"
mv "$env.$$" "$env"
