# Shared by scripts/demo, scripts/docs and scripts/test. The caller sets $root, sources this file and calls
#     prepare EXTRA
# after which $venv/bin holds belated with that extra. Plain POSIX sh.

: "${root:?}"
venv=$root/.venv
stamp=$venv/belated-stamp
log=$venv/belated-install.log
lock=$root/.venv.lock
lock_timeout=${BELATED_LOCK_TIMEOUT:-900}
# Modules get their bytecode when they are first imported, not all while installing; it is kept.
unset PYTHONDONTWRITEBYTECODE

say() {
    printf '%s\n' "$*" >&2
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

is_recent() {
    "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

minor_version() {
    "$1" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

# The interpreter a new .venv is built from. Inside some other virtual environment this is the
# interpreter beneath it, so that rebuilding .venv never depends on .venv itself.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_recent "$PYTHON" ||
            die "PYTHON=$PYTHON is not a working Python 3.11 or newer (it reports: $(minor_version "$PYTHON" || echo nothing))."
        found=$PYTHON
    else
        found=
        for candidate in python3.13 python3.12 python3.11 python3; do
            if is_recent "$candidate"; then
                found=$candidate
                break
            fi
        done
        [ -n "$found" ] ||
            die "belated needs Python 3.11 or newer and none was found (python3 reports: $(minor_version python3 || echo nothing)). Install one, or name it: PYTHON=/path/to/python3.11 $0"
    fi
    "$found" -I -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'
}

# Does .venv exist, run, have pip, belong to this folder, and match $PYTHON where that is given?
venv_is_usable() {
    "$venv/bin/python" -I -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' \
        >/dev/null 2>&1 || return 1
    if [ -f "$stamp" ] && [ "$(sed -n 1p "$stamp")" != "$root" ]; then
        return 1
    fi
    [ -z "${PYTHON:-}" ] || [ "$(minor_version "$PYTHON")" = "$(minor_version "$venv/bin/python")" ]
}

create_venv() {
    python=$(find_python) || exit 1
    "$python" -I -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        die "$python cannot create virtual environments: its venv or ensurepip module is missing. On Debian and Ubuntu install the python3-venv package."
    say "Creating .venv with Python $(minor_version "$python") ..."
    "$python" -m venv --clear "$venv" || die "could not create $venv."
}

# Everything an installation depends on: the interpreter, the metadata and the version number; and
# everything that is compiled, which has a digest of its own.
fingerprint() {
    "$venv/bin/python" -I -c '
import glob, hashlib, platform, sys
root = sys.argv[1]
digest = hashlib.sha256(platform.python_version().encode())
for name in sys.argv[2:]:
    for path in sorted(glob.glob(root + "/" + name)):
        with open(path, "rb") as file:
            digest.update(path[len(root):].encode() + file.read())
print(digest.hexdigest())
' "$root" "$@"
}

fingerprint_of_metadata() {
    fingerprint pyproject.toml setup.py src/belated/_version.py
}

fingerprint_of_core() {
    fingerprint setup.py 'src/belated/core/*.py' 'src/belated/core/*.pxd'
}

# The stamp holds four lines: folder, fingerprint, extra, and the fingerprint of what is compiled.
# The dev extra contains the others.
is_installed() {
    [ -f "$stamp" ] || return 1
    [ "$(sed -n 2p "$stamp")" = "$(fingerprint_of_metadata)" ] || return 1
    have=$(sed -n 3p "$stamp")
    [ "$have" = "$1" ] || [ "$have" = dev ]
}

# uv takes a fifth of the time of pip, which takes over where uv is not to be had or fails.
install() {
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-compile uv &&
        "$venv/bin/python" "$root/scripts/with_uv.py" "$@" ||
        "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-compile "$@"
}

# Shows that something is going on, every ten seconds, until stop_clock.
start_clock() {
    (
        seconds=0
        while sleep 10 </dev/null >/dev/null 2>&1; do
            seconds=$((seconds + 10))
            say "  ... $seconds s"
        done
    ) &
    clock=$!
}

stop_clock() {
    [ -z "${clock:-}" ] || kill "$clock" 2>/dev/null || true
    clock=
}

install_extra() {
    if [ -f "$stamp" ]; then
        say "Updating belated[$1] in .venv ..."
    else
        say "Installing belated[$1] into .venv and compiling its core (first time only, a minute or two) ..."
    fi
    rm -f "$stamp"
    print=$(fingerprint_of_metadata) || die "could not read pyproject.toml and src/belated/_version.py."
    compiled=$(fingerprint_of_core) || die "could not read src/belated/core."
    choose_compiler
    start_clock
    if ! install -e "${root}[$1]" >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        die "the installation failed; the whole log is in $log"
    fi
    stop_clock
    write_stamp "$print" "$1" "$compiled"
}

write_stamp() {
    printf '%s\n' "$root" "$1" "$2" "$3" >"$stamp.new"
    mv -f "$stamp.new" "$stamp"
}

# Where there is no C compiler, a package has one: zig, which compiles to the same bits.
choose_compiler() {
    export BELATED_REQUIRE_COMPILED=1
    if [ -n "${CC:-}" ] || command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1; then
        return
    fi
    say "No C compiler was found; installing one into .venv (ziglang) ..."
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-compile ziglang \
        >"$log" 2>&1 || die "ziglang could not be installed; install a C compiler. See $log"
    CC="$venv/bin/python -m ziglang cc"
    export CC
}

is_compiled() {
    [ "$(sed -n 4p "$stamp")" = "$(fingerprint_of_core)" ]
}

# Compiles what has changed since the installation.
compile_core() {
    say "Compiling belated.core ..."
    compiled=$(fingerprint_of_core) || die "could not read src/belated/core."
    choose_compiler
    if ! "$venv/bin/python" -c 'import Cython, setuptools' 2>/dev/null; then
        install 'cython>=3.1' 'setuptools>=77' >"$log" 2>&1 || die "Cython could not be installed; see $log"
    fi
    start_clock
    if ! (cd "$root" && "$venv/bin/python" setup.py build_ext --inplace) >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        die "the core could not be compiled; the whole log is in $log"
    fi
    stop_clock
    write_stamp "$(sed -n 2p "$stamp")" "$(sed -n 3p "$stamp")" "$compiled"
}

release_lock() {
    stop_clock
    rm -rf "$lock"
}

take_lock() {
    waited=0
    until mkdir "$lock" 2>/dev/null; do
        [ -d "$lock" ] || [ -w "$root" ] || die "$root is not writable."
        owner=$(cat "$lock/pid" 2>/dev/null || true)
        if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
            # Its owner is gone. Renaming is atomic: of several waiters one removes it.
            if mv "$lock" "$lock.$$" 2>/dev/null; then
                rm -rf "$lock.$$"
                continue
            fi
        fi
        [ "$waited" -ne 0 ] || say "Waiting for another set-up of .venv to finish ..."
        [ "$waited" -lt "$lock_timeout" ] ||
            die "waited $waited s for $lock; if no other set-up is running, remove that folder."
        sleep 1
        waited=$((waited + 1))
    done
    trap release_lock EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '%s\n' "$$" >"$lock/pid"
}

prepare() {
    if venv_is_usable && is_installed "$1" && is_compiled; then
        return
    fi
    take_lock
    venv_is_usable || create_venv
    is_installed "$1" || install_extra "$1"
    is_compiled || compile_core
    release_lock
    trap - EXIT HUP INT TERM
}
