import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/kit/clock.ts';
import type { Cleanup } from '../cleanup.ts';
import { openInternalCa } from '../internal-ca.ts';
import { tempDir } from '../temp-dir.ts';
import { type Relay, startRelay } from './relay.ts';

/** A real ACME server of Debian's package "pebble", in strict mode, with its DNS server. */
export interface Pebble {
  readonly directoryUrl: string;
  /** PEM file that trusts the server itself. */
  readonly caFile: string;
  /** Where it validates; the test adds the ports of the nodes. */
  readonly http: Relay;
  readonly tls: Relay;
  /** Base URL of the DNS server's management. */
  readonly dnsUrl: string;
  /** The root that its certificates chain to, in PEM. */
  root(): Promise<string>;
  /** What the server logged. */
  readonly log: () => string;
}

export interface PebbleOptions {
  /** Percentage of valid nonces that it rejects. */
  readonly rejectedNonces?: number;
  /** Requires external account binding with one of these keys, by id. */
  readonly boundKeys?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** HOST:PORT of the name server that it asks, instead of its own. */
  readonly dnsServer?: string;
  /** Instead of five years. */
  readonly certificateDays?: number;
}

const START_MS = 120_000;

/** Why there is no pebble, for `skip`; undefined where there is one. */
export function pebbleIsMissing(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const isThere = ['pebble', 'pebble-challtestsrv'].every((program) =>
    folders.some((folder) => isExecutable(join(folder, program))),
  );
  if (isThere) return undefined;
  const reason = 'pebble is not installed (Debian: apt-get install pebble)';
  console.error(`\n!! skipped: ${reason}\n`);
  return reason;
}

export async function startPebble(test: Cleanup, options: PebbleOptions = {}): Promise<Pebble> {
  const directory = await tempDir(test);
  const [http, tls] = [await startRelay(test), await startRelay(test)];
  const ca = await openInternalCa({ dataDir: directory, domain: 'pebble.invalid', clock: systemClock });
  const leaf = await ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 1 });
  const [acmePort, managementPort, dnsPort, dnsManagementPort] = await freePorts(4);
  const paths = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem'), ca: join(directory, 'ca.pem') };
  await writeFile(paths.cert, leaf.certificatePem);
  await writeFile(paths.key, leaf.privateKeyPem);
  await writeFile(paths.ca, leaf.caPem);
  const config = join(directory, 'pebble.json');
  const pebble = {
    listenAddress: `127.0.0.1:${acmePort}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: paths.cert,
    privateKey: paths.key,
    httpPort: http.port,
    tlsPort: tls.port,
    ocspResponderURL: '',
    externalAccountBindingRequired: options.boundKeys !== undefined,
    externalAccountMACKeys: options.boundKeys ?? {},
    ...(options.certificateDays !== undefined && { certificateValidityPeriod: options.certificateDays * 86_400 }),
  };
  await writeFile(config, JSON.stringify({ pebble }));
  const none = '';
  runs(test, 'pebble-challtestsrv', [
    ...[dnsFlag(), `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsManagementPort}`],
    ...['-http01', none, '-https01', none, '-tlsalpn01', none, '-defaultIPv4', '127.0.0.1', '-defaultIPv6', none],
  ]);
  const server = runs(
    test,
    'pebble',
    ['-strict', '-config', config, '-dnsserver', options.dnsServer ?? `127.0.0.1:${dnsPort}`],
    {
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_WFE_NONCEREJECT: String(options.rejectedNonces ?? 20),
      PEBBLE_AUTHZREUSE: '0',
      ...options.env,
    },
  );
  const get = (url: string) => getText(url, leaf.caPem);
  const directoryUrl = `https://127.0.0.1:${acmePort}/dir`;
  await untilAnswers(() => get(directoryUrl), server.log);
  return {
    directoryUrl,
    caFile: paths.ca,
    http,
    tls,
    dnsUrl: `http://127.0.0.1:${dnsManagementPort}`,
    root: () => get(`https://127.0.0.1:${managementPort}/roots/0`),
    log: server.log,
  };
}

/** Pebble 2.10 renamed it. */
function dnsFlag(): string {
  const { stderr, stdout } = spawnSync('pebble-challtestsrv', ['-help'], { encoding: 'utf8' });
  return /^ +-dnsserver /m.test(`${stdout}${stderr}`) ? '-dnsserver' : '-dns01';
}

function runs(
  test: Cleanup,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcess; readonly log: () => string } {
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  const exited = once(child, 'close');
  test.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, log: () => log };
}

async function untilAnswers(ask: () => Promise<string>, log: () => string): Promise<void> {
  const deadlineMs = performance.now() + START_MS;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw new Error(`pebble did not start: ${log()}`, { cause: error });
      await sleep(50);
    }
  }
}

function getText(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
