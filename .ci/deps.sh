#!/usr/bin/env bash
# Brings what the tests need beyond Go and a fresh machine lacks: Debian
# packages (.ci/install), and from PyPI a SYCL runtime with Intel's OpenCL for
# CPUs, Intel's FPGA emulation and two versions of NVIDIA's run-time compiler, in
# folders of the user's cache that are named by the lists of versions.
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

# Intel's FPGA emulation. It does not load beside newer versions of its parts, so
# it has a folder of its own. 0.9 GB.
emulation_wheels=(
	intel-opencl-fpga-emu-rt==2025.0.5
	intel-opencl-rt==2025.0.5
	intel-cmplr-lib-rt==2025.0.5
	intel-cmplr-lic-rt==2025.3.3
	tbb==2022.3.1
	tcmlib==1.6.0
)

# NVRTC needs no GPU: the newest, and the last of CUDA 12. 410 MB.
nvrtc_wheels=(
	nvidia-cuda-nvrtc==13.5.37
	nvidia-cuda-nvrtc-cu12==12.9.86
)

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tandem/deps
key_of() { printf '%s\n' "$@" | sha256sum | cut -c1-12; }
root=$cache/sycl-$(key_of "${wheels[@]}")
nvrtc_root=$cache/nvrtc-$(key_of "${nvrtc_wheels[@]}")
emulation_root=$cache/fpga-emu-$(key_of "${emulation_wheels[@]}")
env=$cache/env-$(key_of "${wheels[@]}" "${nvrtc_wheels[@]}" "${emulation_wheels[@]}").sh

if [ "${1:-}" = env ]; then
	mkdir -p "$cache"
	[ -e "$env" ] || printf '# Nothing is installed: run make deps.\n' >"$env"
	echo "$env"
	exit 0
fi

"$here/install"

# skip says what is not there, and why.
skip() { # name that TANDEM_REQUIRE has for it, what, why
	echo "no $2: $3; the tests that need it are skipped, or fail if TANDEM_REQUIRE names $1" >&2
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

# fill installs wheels into the folder $1.
fill() { # folder, wheel...
	local dir=$1
	shift
	local pip=("$dir/bin/python" -m pip)
	if ! python3 -m venv "$dir" >/dev/null 2>&1; then
		# Debian keeps what venv needs in a package of its own.
		if command -v apt-get >/dev/null && as_root apt-get install -y --no-install-recommends python3-venv >/dev/null 2>&1 &&
			python3 -m venv "$dir" >/dev/null 2>&1; then
			:
		elif python3 -m pip --version >/dev/null 2>&1; then
			pip=(python3 -m pip)
		else
			return 1
		fi
	fi
	"${pip[@]}" install --quiet --disable-pip-version-check --no-input --no-compile --root-user-action=ignore \
		--prefix "$dir" "$@" || return 1
	# Debian's own pip puts a folder between.
	if [ -d "$dir/local/lib" ]; then
		cp -al "$dir/local/." "$dir/" && rm -rf "$dir/local"
	fi
}

has_sycl() { [ -n "$(compgen -G "$1/lib/libsycl.so.*")" ] && [ -e "$1/include/sycl/sycl.hpp" ]; }
# CUDA's headers, for what includes cuda.h: the nested module
# devices/cuda/gorgonia, which does not compile with those of CUDA 13. 3 MB.
header_wheels=(nvidia-cuda-runtime-cu12==12.9.79)
header_root=$cache/cuda-headers-$(key_of "${header_wheels[@]}")
cuda_include() { compgen -G "$1/lib/python3*/*-packages/nvidia/cuda_runtime/include"; }
has_headers() { [ -e "$(cuda_include "$1")/cuda.h" ]; }
has_emulation() { [ -e "$1/lib/libintelocl_emu.so" ]; }
nvrtc_libraries() { compgen -G "$1/lib/python3*/*-packages/nvidia/*/lib/libnvrtc.so.*"; }
has_nvrtc() { [ "$(nvrtc_libraries "$1" | wc -l)" -eq ${#nvrtc_wheels[@]} ]; }

# bring makes a folder of wheels, unless it is complete.
bring() { # name, what, folder, check, wheel...
	local name=$1 what=$2 dir=$3 check=$4 new
	shift 4
	[ ! -e "$dir/complete" ] || return 0
	[ "$(uname -sm)" = "Linux x86_64" ] || { skip "$name" "$what" "the wheels are for Linux on x86-64"; return 0; }
	command -v python3 >/dev/null || { skip "$name" "$what" "there is no python3"; return 0; }
	mkdir -p "$cache"
	(
		if command -v flock >/dev/null; then
			exec 9>"$cache/lock"
			flock 9 # another checkout may be at it
		fi
		[ ! -e "$dir/complete" ] || exit 0
		echo "installing: $* into $dir"
		new=$(mktemp -d "$cache/new-XXXXXX")
		trap 'rm -rf "$new"' EXIT
		if ! { fill "$new/tree" "$@" && "$check" "$new/tree"; } >"$new/log" 2>&1; then
			tail -n 5 "$new/log" >&2
			skip "$name" "$what" "installing the wheels failed"
			exit 0
		fi
		touch "$new/tree/complete"
		rm -rf "$dir"
		mv "$new/tree" "$dir"
	)
}

bring sycl "SYCL runtime" "$root" has_sycl "${wheels[@]}" # 1.5 GB
bring fpga-emu "FPGA emulation by Intel" "$emulation_root" has_emulation "${emulation_wheels[@]}"
bring nvrtc "NVRTC" "$nvrtc_root" has_nvrtc "${nvrtc_wheels[@]}"
bring cuda-headers "CUDA headers" "$header_root" has_headers "${header_wheels[@]}"

{
	[ ! -e "$root/complete" ] || printf 'export TANDEM_SYCL_ROOT=%q\n' "$root"
	[ ! -e "$emulation_root/complete" ] || printf 'export TANDEM_FPGA_ROOT=%q\n' "$emulation_root"
	[ ! -e "$nvrtc_root/complete" ] || printf 'export TANDEM_NVRTC_LIBRARY=%q\n' "$(nvrtc_libraries "$nvrtc_root" | paste -sd:)"
	[ ! -e "$header_root/complete" ] || printf 'export TANDEM_CUDA_INCLUDE=%q\n' "$(cuda_include "$header_root")"
} >"$env.$$"
mv "$env.$$" "$env"
