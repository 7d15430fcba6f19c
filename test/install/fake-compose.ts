import { spawn, spawnSync } from 'node:child_process';
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

// Stands for "docker compose" in a folder with Compose files: a container is a process with the settings that Compose
// would give it.

const folder = process.cwd();
const data = join(folder, 'data');
const pidFile = join(folder, 'container.pid');
const launcher = join(folder, 'bin', 'postern.mjs');
const { FAKE_API = '', FAKE_DATABASE_URL = '', NODE_COMPILE_CACHE } = process.env;
const [, , compose, verb, ...rest] = process.argv;

if (compose === 'image') process.exit(0);
if (compose !== 'compose') throw new Error(`docker ${compose} is not known here`);
process.exitCode = await run(verb ?? '', rest);

async function run(name: string, words: readonly string[]): Promise<number> {
  const args = words.filter((word) => !['--detach', '--rm', '-T'].includes(word));
  if (name === 'build') return 0;
  if (name === 'stop' || name === 'down') return stop(args.includes('--volumes'));
  if (name === 'up') return up();
  const [service, ...command] = args;
  if (service !== 'postern') throw new Error(`there is no service ${service}`);
  if (name === 'exec' && !existsSync(pidFile)) throw new Error('service "postern" is not running');
  // "exec" takes a program of the image, "run" replaces CMD.
  const [program, ...own] = name === 'exec' ? command : ['postern', ...command];
  const inside = own.map((word) => word.replace(/^\/data(?=\/|$)/, data));
  const started =
    program === 'postern'
      ? spawnSync(process.execPath, [launcher, ...inside], { cwd: data, env: environment(), stdio: 'inherit' })
      : spawnSync(program ?? '', inside, { cwd: data, stdio: 'inherit' });
  return started.status ?? 1;
}

/** Ends the old container, if there is one, and waits until the new one is healthy. */
async function up(): Promise<number> {
  stop(false);
  const log = openSync(join(folder, 'container.log'), 'a');
  const server = spawn(process.execPath, [launcher, 'server'], {
    ...{ cwd: data, env: environment(), detached: true, stdio: ['ignore', log, log] },
  });
  writeFileSync(pidFile, String(server.pid));
  server.unref();
  for (let tries = 0; tries < 600; tries += 1) {
    if (server.exitCode !== null) return server.exitCode;
    const answer = await fetch(`http://${FAKE_API}/healthz`).catch(() => null);
    if (answer?.status === 200) return 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return 1;
}

function stop(removesVolumes: boolean): number {
  if (existsSync(pidFile)) {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    process.kill(pid, 'SIGTERM');
    while (isAlive(pid)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    rmSync(pidFile);
  }
  if (removesVolumes) rmSync(data, { recursive: true });
  return 0;
}

function isAlive(pid: number): boolean {
  try {
    // A process that ended stays until its parent asks for it.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** That of the image and of the service, with this machine's addresses. */
function environment(): Record<string, string> {
  const dotenv = existsSync('.env') ? readFileSync('.env', 'utf8') : '';
  const variables = Object.fromEntries(
    Array.from(dotenv.matchAll(/^(\w+)=(.*)$/gm), ([, name, value]) => [name, value]),
  );
  const files = String(variables['COMPOSE_FILE'] ?? 'compose.yaml').split(':');
  const given = Object.assign(
    {},
    ...files.map((file) => (parse(readFileSync(file, 'utf8')) as ComposeFile).services.postern.environment),
  ) as Record<string, string>;
  const filled = Object.entries(given).map(([name, text]) => [name, fill(text, variables)]);
  const own = Object.fromEntries(filled) as Record<string, string>;
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: data,
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
    POSTERN_DATA_DIR: data,
    POSTERN_API_LISTEN: FAKE_API,
    POSTERN_EDGE_LISTEN: '127.0.0.1:0',
    POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
    POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
    ...own,
    ...(own['POSTERN_CLI_API_URL'] !== undefined && { POSTERN_CLI_API_URL: `http://${FAKE_API}` }),
    ...(own['POSTERN_DATABASE_URL'] !== undefined && { POSTERN_DATABASE_URL: FAKE_DATABASE_URL }),
  };
}

interface ComposeFile {
  readonly services: { readonly postern: { readonly environment: Readonly<Record<string, string>> } };
}

/** As Compose does it; throws where it would stop. */
function fill(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: string, mark: string, rest: string) => {
    const value = variables[name] ?? '';
    if (value === '' && mark === '?') throw new Error(`${name}: ${rest}`);
    return value === '' ? rest : value;
  });
}
