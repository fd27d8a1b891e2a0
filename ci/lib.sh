# shellcheck shell=bash
# What the scripts of this directory share. Sourced, never run.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD

# shellcheck disable=SC2034  # used where this is sourced
{
    packages_tools=(gcc libc6-dev pkg-config libclang-dev libhwloc-dev libudev-dev)
    packages_mpich=(mpich libmpich-dev)
    packages_openmpi=(openmpi-bin libopenmpi-dev)
}

say() { printf '%s\n' "$*" >&2; }
die() {
    say "$(basename "$0"): $*"
    exit 1
}

# help_wanted "$@": for --help, prints the comment at the head of the script, and ends it.
help_wanted() {
    for word in "$@"; do
        case $word in
        -h | --help)
            sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        esac
    done
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root, and there is no sudo: $*"
    fi
}

# install_packages NAME...: installs the Debian packages that are missing.
# TATPIO_SKIP_INSTALL=1 takes it that everything is there.
install_packages() {
    [[ ${TATPIO_SKIP_INSTALL:-0} == 1 ]] && return
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        die "this is no Debian system, so nothing was installed. Install what these Debian packages hold: $*
and then run this again with TATPIO_SKIP_INSTALL=1"
    fi
    local missing=() name
    for name in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
    done
    [[ ${#missing[@]} -eq 0 ]] && return
    say "installing ${missing[*]}"
    as_root apt-get update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# need_cargo: a Rust that is new enough, or a message that says where it comes from.
need_cargo() {
    command -v cargo >/dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    command -v cargo >/dev/null ||
        die "cargo is missing: install Rust $wanted or newer from https://rustup.rs, and open a new shell"
    found=$(rustc --version | cut -d' ' -f2)
    [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]] ||
        die "Rust $found is too old: $wanted or newer is needed; run rustup update (https://rustup.rs)"
}

# first_of NAME...: the first of the commands that there is.
first_of() {
    local name
    for name in "$@"; do
        command -v "$name" && return
    done
    die "none of these commands was found: $*"
}

# choose_mpi mpich|openmpi: sets and exports MPICC, and sets mpirun (an array) and CARGO_TARGET_DIR.
# The suffixed commands come first, because both libraries may be installed.
choose_mpi() {
    local launcher
    mpi=$1
    case $mpi in
    mpich | openmpi) ;;
    *) die "there is no MPI called $mpi: it is mpich or openmpi" ;;
    esac
    MPICC=$(first_of "mpicc.$mpi" mpicc)
    launcher=$(first_of "mpirun.$mpi" mpirun)
    mpirun=("$launcher")
    if [[ $mpi == openmpi ]]; then
        mpirun+=(--oversubscribe --mca mpi_yield_when_idle 1)
        if [[ $EUID -eq 0 ]]; then mpirun+=(--allow-run-as-root); fi
    fi
    "$MPICC" -show | grep -q -- "$mpi" || die "$MPICC is not that of $mpi: $("$MPICC" -show)"
    # The probe of the crate mpi would look at these before MPICC.
    unset MPI_PKG_CONFIG CRAY_MPICH_DIR
    export MPICC CARGO_TARGET_DIR=$root/target/$mpi
}

# mpi_variable NAME VALUE: appends to mpirun what sets a variable for the ranks and not for mpirun itself.
mpi_variable() {
    case $mpi in
    mpich) mpirun+=(-genv "$1" "$2") ;;
    openmpi) mpirun+=(-x "$1=$2") ;;
    esac
}

# memory_directory MEGABYTES: a directory in memory if it has that room, else the one for temporary files.
memory_directory() {
    local free
    free=$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1) || free=0
    if [[ -w /dev/shm && ${free:-0} -ge $1 ]]; then
        echo /dev/shm
    else
        echo "${TMPDIR:-/tmp}"
    fi
}
