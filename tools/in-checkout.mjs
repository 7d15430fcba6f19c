// `npm start`, `npm test` and `npm run check` begin here. Installs what the checkout lacks, then runs the given script
// on the locked Node. Deliberately without TypeScript: a fresh clone has only the Node of the machine, which may be
// version 20.
//
//   node tools/in-checkout.mjs tools/test.ts [ARGUMENT …]    set up, then run this script
//   node tools/in-checkout.mjs                               set up only
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const OLDEST_MAJOR = 20;
/** As in bin/postern.mjs: older ones cannot run the sources. */
const OLDEST_THAT_RUNS_SOURCES = 24;
const PROGRESS_MS = 5000;
const POLL_MS = 200;

/** A sentence for the person at the terminal, without a stack. */
class Refusal extends Error {}

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const modules = path.join(root, 'node_modules');
const lockedNode = path.join(modules, '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
/** Who sets up, and which commands run on the installed packages: a file each, named by its process. */
const state = path.join(root, '.cache', 'checkout');
const lock = path.join(state, 'set-up');
const own = path.join(state, String(process.pid));

const [script, ...rest] = process.argv.slice(2);
try {
  if (Number(process.versions.node.split('.')[0]) < OLDEST_MAJOR) {
    throw new Refusal(`needs Node ${OLDEST_MAJOR} or newer, this is ${process.versions.node}`);
  }
  fs.mkdirSync(state, { recursive: true });
  await setUp();
  if (script !== undefined) await runOnLockedNode([path.join(root, script), ...rest]);
  fs.rmSync(own, { force: true });
} catch (error) {
  fs.rmSync(own, { force: true });
  console.error(error instanceof Refusal ? `postern: ${error.message}` : error);
  process.exit(1);
}

/** Returns when everything is installed and this process counts as one that uses it. */
async function setUp() {
  for (;;) {
    if (!isBeingSetUp() && missing() === null) {
      fs.writeFileSync(own, `npm run ${process.env.npm_lifecycle_event ?? 'postern'}`);
      // Another command may have begun to set up in between.
      if (!isBeingSetUp() && missing() === null) return;
      fs.rmSync(own, { force: true });
    }
    if (takeLock()) {
      try {
        await install();
      } finally {
        fs.rmSync(lock, { force: true });
      }
    } else {
      await waitForOther();
    }
  }
}

/** What is not as package-lock.json says, or null. Both files are read: 10 ms, and no stamp can be wrong. */
function missing() {
  const wanted = packagesOf(path.join(root, 'package-lock.json'));
  if (wanted === null) throw new Refusal(`${root} has no package-lock.json: this is no checkout of Postern`);
  // npm writes it when it is done.
  const installed = packagesOf(path.join(modules, '.package-lock.json'));
  if (installed === null) return 'node_modules';
  for (const [name, { version, link, optional, devOptional, peer }] of Object.entries(wanted)) {
    if (name === '' || !name.includes('node_modules/') || link) continue;
    const found = installed[name];
    // Packages of other platforms are optional.
    if (found === undefined && (optional || devOptional || peer)) continue;
    if (found?.version !== version) return name;
  }
  return fs.existsSync(lockedNode) ? null : 'the locked Node';
}

function packagesOf(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return null;
  }
}

async function install() {
  if (missing() === null) return;
  const users = commandsThatRun();
  if (fs.existsSync(modules) && users.length > 0) {
    throw new Refusal(
      `package-lock.json changed, and ${users.join(' and ')} still runs on the installed packages: stop it, then try again`,
    );
  }
  const startedMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  console.error('postern: installing the locked Node and the packages of this checkout (npm ci) …');
  const progress = setInterval(
    () =>
      process.stderr.write(
        process.stderr.isTTY ? `\rpostern: ${seconds()} ` : `postern: still installing, ${seconds()}\n`,
      ),
    process.stderr.isTTY ? 1000 : PROGRESS_MS,
  );
  const { code, output } = await npm(['ci', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']);
  clearInterval(progress);
  if (process.stderr.isTTY) process.stderr.write('\r');
  if (code !== 0) throw new Refusal(`npm ci failed (${code}):\n${output.trim()}`);
  const lacking = missing();
  if (lacking !== null) {
    throw new Refusal(
      `npm ci installed everything but ${lacking}: is this platform one of Linux and macOS, x64 or arm64?`,
    );
  }
  console.error(`postern: installed in ${seconds()}`);
}

/** npm under npm knows where it is; a shell finds it on PATH. Its output is shown only if it fails. */
function npm(args) {
  const self = process.env.npm_execpath;
  const [command, first] = self === undefined ? ['npm', []] : [process.execPath, [self]];
  // The settings of the outer npm (its script, its arguments) are not for the inner one.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(lifecycle|package)_/.test(name)),
  );
  return new Promise((resolve) => {
    const child = spawn(command, [...first, ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-20_000);
      });
    }
    const stop = (signal) => child.kill(signal);
    process.on('SIGINT', stop).on('SIGTERM', stop);
    child.on('error', (error) => resolve({ code: 1, output: error.message }));
    child.on('close', (code, signal) => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      if (signal !== null) process.exit(130);
      resolve({ code, output });
    });
  });
}

/** Creating the file decides. A lock whose process ended is removed by a rename, which only one of several can do. */
function takeLock() {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const holder = holderOfLock();
  if (holder === null || isAlive(holder)) return false;
  const stale = path.join(state, `stale-${process.pid}`);
  try {
    fs.renameSync(lock, stale);
    // Somebody may have replaced it just before: then it is put back.
    if (Number(fs.readFileSync(stale, 'utf8')) !== holder) fs.renameSync(stale, lock);
    else fs.rmSync(stale);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  return false;
}

async function waitForOther() {
  const holder = holderOfLock();
  if (holder !== null && isAlive(holder)) console.error(`postern: waiting for the set-up by process ${holder}`);
  while (isBeingSetUp()) await sleep(POLL_MS);
}

function isBeingSetUp() {
  const holder = holderOfLock();
  return holder !== null && isAlive(holder);
}

function holderOfLock() {
  try {
    // Empty for the moment in which it is created.
    return Number(fs.readFileSync(lock, 'utf8')) || null;
  } catch {
    return null;
  }
}

/** Commands of other processes; what ended ones left is removed. */
function commandsThatRun() {
  return fs.readdirSync(state).flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    if (runsHere(Number(name))) return [`"${fs.readFileSync(path.join(state, name), 'utf8')}" (process ${name})`];
    fs.rmSync(path.join(state, name), { force: true });
    return [];
  });
}

/** A process id may be used again by a program of elsewhere: on Linux, the folder of the process shows it. */
function runsHere(pid) {
  if (!isAlive(pid)) return false;
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`).startsWith(root);
  } catch {
    return process.platform !== 'linux';
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Takes the place of this process where Node can (from 22.15 on); else waits beside it and passes signals on. */
async function runOnLockedNode(args) {
  const isNew = Number(process.versions.node.split('.')[0]) >= OLDEST_THAT_RUNS_SOURCES;
  const node = isNew ? process.execPath : lockedNode;
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.execve(node, [node, ...args], process.env);
  }
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; a service manager only to this one.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const [code, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (...outcome) => resolve(outcome));
  });
  fs.rmSync(own, { force: true });
  process.exit(code ?? (signal === 'SIGINT' ? 130 : 143));
}
