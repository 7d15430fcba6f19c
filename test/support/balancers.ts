import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cleanup } from './cleanup.ts';
import { tempDir } from './temp-dir.ts';

const START_TIMEOUT_MS = 20_000;
const NGINX_STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so';

/** What to pass as `skip` of a test that needs this program; false when it is installed. */
export function missingBalancer(needed: 'haproxy' | 'nginx' | 'nginx stream' | 'caddy'): string | false {
  const [program = '', module] = needed.split(' ');
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  const isThere = folders.some((folder) => isReadable(join(folder, program)));
  if (module === 'stream' && isThere && !isReadable(NGINX_STREAM_MODULE)) return 'NOT RUN: nginx has no stream module';
  return isThere ? false : `NOT RUN: ${program} is not installed`;
}

/** HAProxy with this configuration, in which PORT is a free port; returns that port once it accepts connections. */
export async function startHaproxy(test: Cleanup, configuration: string): Promise<number> {
  const folder = await tempDir(test);
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, `${configuration.replaceAll('PORT', String(port))}\n`);
  await running(test, spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] }), port);
  return port;
}

/** The same with nginx, for an `http` or a `stream` block. */
export async function startNginx(test: Cleanup, block: string): Promise<number> {
  const folder = await tempDir(test);
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  const lines = [
    ...(/^stream /m.test(block) ? [`load_module ${NGINX_STREAM_MODULE};`] : []),
    'daemon off;',
    'master_process off;',
    `pid ${join(folder, 'pid')};`,
    'error_log stderr;',
    'events {}',
    block.replaceAll('PORT', String(port)),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const env = { ...process.env, PATH: `${process.env['PATH']}${delimiter}/usr/sbin` };
  await running(test, spawn('nginx', ['-c', file, '-e', 'stderr'], { env, stdio: ['ignore', 'pipe', 'pipe'] }), port);
  return port;
}

/** The same with Caddy, for its JSON. It keeps its files in a directory of the test. */
export async function startCaddy(test: Cleanup, configuration: string): Promise<number> {
  const folder = await tempDir(test);
  const port = await freePort();
  const file = join(folder, 'caddy.json');
  await writeFile(file, configuration.replaceAll('PORT', String(port)));
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  await running(test, spawn('caddy', ['run', '--config', file], { env, stdio: ['ignore', 'pipe', 'pipe'] }), port);
  return port;
}

async function running(test: Cleanup, child: ChildProcess, port: number): Promise<void> {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  test.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`${child.spawnfile} did not start: ${output}`);
    await sleep(20);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => finish(true)).once('error', () => finish(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
