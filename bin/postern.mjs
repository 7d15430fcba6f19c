#!/usr/bin/env node
// The launcher. Old syntax on purpose: every Node since 12.20 must be able to read it, so that it can say what is missing.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST_MAJOR = 24;
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];
const LAUNCHED_MARK = 'POSTERN_LAUNCHER';

const self = fileURLToPath(import.meta.url);
const root = path.resolve(path.dirname(self), '..');

const isRelaunched = process.env[LAUNCHED_MARK] === '1';
// Whatever the program starts later must not believe that it was launched from here.
delete process.env[LAUNCHED_MARK];

if (Number(process.versions.node.split('.')[0]) >= OLDEST_MAJOR) {
  runHere();
} else {
  const runtime = isRelaunched ? null : findRuntime();
  if (runtime === null) {
    console.error(
      `postern: needs Node ${OLDEST_MAJOR} or newer, this is ${process.versions.node}: install it, or run "npm ci" in the checkout, which brings one`,
    );
    process.exit(1);
  }
  runOn(runtime);
}

function runHere() {
  if (isRelaunched) {
    // The channel closes with the launcher, also when that was killed with SIGKILL: nobody is left to stop us then.
    process.on('disconnect', () => process.exit(1));
    if (!process.connected) process.exit(1);
    // Listening alone would keep a finished command alive.
    process.channel.unref();
  }
  // A checkout runs the source; the published package holds JavaScript, since Node strips no types inside node_modules.
  const source = path.join(root, 'src', 'main', 'cli.ts');
  const program = fs.existsSync(source) ? source : path.join(root, 'dist', 'main', 'cli.js');
  import(pathToFileURL(program).href)
    .then((cli) => cli.main())
    .catch((error) => {
      console.error(error);
      process.exit(1);
    });
}

function runOn(runtime) {
  const child = spawn(runtime, process.execArgv.concat([self], process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: Object.assign({}, process.env, { [LAUNCHED_MARK]: '1' }),
  });
  FORWARDED_SIGNALS.forEach((signal) => {
    process.on(signal, () => child.kill(signal));
  });
  child.on('error', (error) => {
    console.error(`postern: cannot start ${runtime}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    FORWARDED_SIGNALS.forEach((name) => {
      process.removeAllListeners(name);
    });
    process.kill(process.pid, signal);
  });
}

/** The locked Node: what npm linked beside the package, else the platform package itself. */
function findRuntime() {
  const require = createRequire(import.meta.url);
  const candidates = [path.join(root, 'node_modules', '.bin', 'node')];
  const executable = process.platform === 'win32' ? 'node.exe' : 'node';
  const platforms = { linux: 'node-linux-', darwin: 'node-bin-darwin-', win32: 'node-win-' };
  const name = `${platforms[process.platform]}${process.arch}`;
  try {
    candidates.push(path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin', executable));
  } catch {
    // Then only the link remains.
  }
  const found = candidates.find((candidate) => fs.existsSync(candidate));
  return found === undefined ? null : found;
}
