import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A real engine with nothing in it but the image `local/web`, in a folder of the test's own. */
export interface Engine {
  readonly name: string;
  readonly socket: string;
  /** Network of ordinary containers. */
  readonly network: readonly string[];
  /** A health check that looks for a file. It passes or fails within a second or two of `check`. */
  readonly healthCheck: readonly string[];
  check(container: string): Promise<void>;
  run(...args: readonly string[]): Promise<void>;
  remove(container: string): Promise<void>;
  /** Whether commands work while nothing listens on the socket. */
  readonly worksWithoutSocket: boolean;
  start(): Promise<void>;
  /** Containers go on. */
  end(): Promise<void>;
  /** After its last container. */
  close(): Promise<void>;
}

type Maker = (folder: string) => Promise<Engine>;

export const IMAGE = 'local/web';
const SERVE = 'hostname > /www/index.html; exec httpd -f -p 80 -h /www';
const HEALTHY = ['--health-cmd', 'cat /www/healthy', '--health-retries', '1'];
const STARTS_WITHIN_MS = 30_000;

/** Some sandboxes allow no more. */
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=4000:4000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`;

const podman: Maker = async (folder) => {
  const conf = join(folder, 'containers.conf');
  await writeFile(conf, CONTAINERS_CONF);
  const env = { ...process.env, CONTAINERS_CONF: conf };
  const storage = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run')];
  const socket = join(folder, 'engine.sock');
  const service = new Service(
    () => spawn('podman', [...storage, 'system', 'service', '--time=0', `unix://${socket}`], { env, stdio: 'ignore' }),
    socket,
  );
  const run = (...args: readonly string[]) => command('podman', [...storage, ...args], env);
  await run('info');
  await service.start();
  return {
    name: 'Podman',
    socket,
    network: [],
    healthCheck: [...HEALTHY, '--health-interval', 'disable'],
    check: (container) => run('healthcheck', 'run', container),
    run,
    remove: (container) => run('rm', '--force', '--time', '0', container),
    worksWithoutSocket: true,
    start: () => service.start(),
    end: () => service.end('SIGKILL'),
    close: () => service.end('SIGKILL'),
  };
};

/** Without rules of the firewall, which belongs to the machine. */
const docker: Maker = async (folder) => {
  const socket = join(folder, 'engine.sock');
  const places = ['exec', 'data', 'pid'].map((name) => join(folder, name)) as [string, string, string];
  const service = new Service(
    () =>
      spawn(
        'dockerd',
        [
          ...['--host', `unix://${socket}`, '--exec-root', places[0], '--data-root', places[1], '--pidfile', places[2]],
          ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--storage-driver=vfs', '--live-restore'],
          ...['--exec-opt', 'native.cgroupdriver=cgroupfs', '--log-level', 'error'],
        ],
        { stdio: 'ignore' },
      ),
    socket,
  );
  const run = (...args: readonly string[]) => command('docker', ['--host', `unix://${socket}`, ...args], process.env);
  await service.start();
  const engine: Engine = {
    name: 'Docker',
    socket,
    network: ['--network', 'postern-test'],
    healthCheck: [...HEALTHY, '--health-interval', '1s'],
    check: () => sleep(0),
    run,
    remove: (container) => run('rm', '--force', container),
    worksWithoutSocket: false,
    start: () => service.start(),
    end: () => service.end('SIGTERM'),
    close: async () => {
      await run('network', 'rm', 'postern-test').catch(() => {});
      await service.end('SIGTERM');
      // With --live-restore, it leaves them for its successor.
      for (const place of [join(places[0], 'netns', 'default'), places[1]]) spawnSync('umount', [place]);
    },
  };
  await run('network', 'create', 'postern-test').catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  return engine;
};

class Service {
  readonly #spawn: () => ChildProcess;
  readonly #socket: string;
  #child: ChildProcess | null = null;

  constructor(start: () => ChildProcess, socket: string) {
    this.#spawn = start;
    this.#socket = socket;
  }

  async start(): Promise<void> {
    if (this.#child !== null) return;
    const child = this.#spawn();
    let problem: string | null = null;
    child.on('error', (error) => (problem = error.message));
    child.on('exit', (code) => (problem = `it ended with ${code}`));
    const startedMs = performance.now();
    while (!existsSync(this.#socket)) {
      if (problem !== null) throw new Error(problem);
      if (performance.now() - startedMs > STARTS_WITHIN_MS) {
        child.kill('SIGKILL');
        throw new Error(`it did not start within ${STARTS_WITHIN_MS / 1000} s`);
      }
      await sleep(50);
    }
    this.#child = child;
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
    await rm(this.#socket, { force: true });
  }
}

/** Asynchronously: the server of the test runs in this process. */
async function command(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [said, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${said}`);
}

const ENGINES = {
  Podman: { maker: podman, packages: ['podman', 'runc', 'busybox-static'] },
  Docker: { maker: docker, packages: ['docker.io', 'busybox-static'] },
} as const;

export type EngineName = keyof typeof ENGINES;

/** A reason: it does not work here. */
export async function openEngine(name: EngineName, folder: string): Promise<Engine | string> {
  const { maker, packages } = ENGINES[name];
  const first = await maker(folder).catch((error: Error) => error);
  if (!(first instanceof Error)) return first;
  if (process.platform === 'linux' && process.getuid?.() === 0)
    spawnSync('apt-get', ['-qq', '-y', 'install', '--no-install-recommends', ...packages], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  const again = await maker(folder).catch((error: Error) => error);
  if (!(again instanceof Error)) return again;
  return `${name.toUpperCase()} DID NOT JUDGE LABELS: ${again.message.slice(0, 200)}. Debian: apt-get install ${packages.join(' ')}`;
}

/** A web server that answers with its host name. */
export async function importImage(engine: Engine, folder: string): Promise<void> {
  const root = join(folder, 'image');
  await mkdir(join(root, 'bin'), { recursive: true });
  await mkdir(join(root, 'www'));
  await cp('/bin/busybox', join(root, 'bin', 'busybox'));
  // One of Debian's two packages is linked with libraries, which the image must have too.
  const { stdout: libraries } = spawnSync('ldd', ['/bin/busybox'], { encoding: 'utf8' });
  for (const [, library = ''] of libraries.matchAll(/(\/\S+) \(0x/g))
    await cp(library, join(root, library), { dereference: true });
  for (const name of ['sh', 'httpd', 'hostname', 'cat', 'sleep']) await symlink('busybox', join(root, 'bin', name));
  const tar = join(folder, 'image.tar');
  assert.equal(spawnSync('tar', ['-C', root, '-cf', tar, '.']).status, 0);
  await engine.run('import', '--change', 'EXPOSE 80', '--change', `CMD ["/bin/sh","-c","${SERVE}"]`, tar, IMAGE);
}
