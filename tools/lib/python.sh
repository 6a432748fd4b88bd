# Python with the libraries of tools/interop, and the programs it runs. Sourced after common.sh.

python_libraries=(noiseprotocol==0.3.1 dissononce==0.34.3 PyNaCl==1.6.2 cryptography==50.0.2)

# python_environment: makes .build/interop, or says why not; $python is its interpreter.
python_environment() {
  local environment="$root/.build/interop"
  python="$environment/bin/python"
  if [ ! -x "$environment/bin/pip" ]; then
    rm -rf "$environment"
    python3 -m venv "$environment" >&2 || {
      complain "python3 has no venv (tools/setup --measure)"
      return 1
    }
  fi
  if ! "$python" -c 'import noise, dissononce, nacl, cryptography' 2>/dev/null; then
    "$environment/bin/pip" install --quiet --disable-pip-version-check --timeout 20 \
      "${python_libraries[@]}" >&2 || {
      complain "pip cannot install ${python_libraries[*]}"
      return 1
    }
  fi
}

# programs: makes sure that $EARSHOT_BIN has earshot and earshot-rendezvous.
programs() {
  if [ -n "${EARSHOT_BIN-}" ]; then return; fi
  build --product earshot </dev/null
  build --product earshot-rendezvous </dev/null
  EARSHOT_BIN="$(binaries)"
  export EARSHOT_BIN
}
