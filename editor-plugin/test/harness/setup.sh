#!/usr/bin/env bash
# Brings what the harness drives: Chromium (by apt, where there is none) and the workbenches out of npm.
# setup.sh [web|node|all]
set -euo pipefail
cd "$(dirname "$0")"
lane="${1:-all}"

if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then
  sudo=$([ "$(id -u)" = 0 ] || echo sudo)
  $sudo apt-get update -qq
  $sudo apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi

npm ci --ignore-scripts --no-audit --no-fund --silent

if [ "$lane" != web ]; then
  ( cd node_lane
    npm ci --ignore-scripts --no-audit --no-fund --silent
    # VS Code's own dependencies are a package inside code-server. No compiler is needed: the natives are not used here.
    cd node_modules/code-server/lib/vscode
    [ -d node_modules ] || npm install --omit=dev --ignore-scripts --no-audit --no-fund --silent
    rm -rf node_modules/@github )
fi
