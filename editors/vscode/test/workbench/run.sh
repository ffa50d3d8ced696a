#!/usr/bin/env bash
# Packages the extension and drives a workbench with it.
# usage: run.sh WORKBENCH CTXD [PICTURES]
set -euo pipefail
workbench=$1 ctxd=$2 pictures=${3:-$1/pictures}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PATH="$workbench/node24/bin:$PATH"
npm run --silent build
"$workbench/tools/node_modules/.bin/vsce" package --allow-missing-repository --no-dependencies --no-rewrite-relative-links -o ctxd.vsix >/dev/null
timeout 600 node test/workbench/drive.mjs "$workbench" ctxd.vsix "$ctxd" "$pictures"
