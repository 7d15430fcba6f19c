import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DnsLookup } from '../../../src/proxy/dns/servers/dns-lookup.ts';
import { askTxt } from '../../../src/proxy/dns/servers/until-visible.ts';
import type { Cleanup } from '../cleanup.ts';
import { tempDir } from '../temp-dir.ts';
import { SECRETS } from './challenge-records.ts';

/** A real BIND 9 with the zones, whose TXT records the TSIG keys `postern` and `postern-512` may change. */
export interface Bind {
  readonly address: string;
  readonly port: number;
  /** The zones and this server as their only name server. */
  readonly lookup: DnsLookup;
  values(name: string): Promise<readonly string[]>;
  readonly log: () => string;
}

const START_MS = 60_000;

export async function startBind(test: Cleanup, zones: readonly string[]): Promise<Bind> {
  const directory = await tempDir(test);
  // The server changes to no other user, whom a temporary directory may not admit.
  await chmod(directory, 0o755);
  const port = await freePort();
  const key = (name: string, algorithm: string) =>
    `key "${name}" { algorithm ${algorithm}; secret "${SECRETS.TSIG}"; };`;
  const files = zones.map((zone) => ({ zone, file: join(directory, `${zone}.db`) }));
  for (const { file } of files)
    await writeFile(file, '$TTL 60\n@ SOA ns1 admin 1 3600 600 86400 60\n@ NS ns1\nns1 A 127.0.0.1\n');
  const policy = 'update-policy { grant postern zonesub TXT; grant postern-512 zonesub TXT; };';
  const config = join(directory, 'named.conf');
  await writeFile(
    config,
    [
      key('postern', 'hmac-sha256'),
      key('postern-512', 'hmac-sha512'),
      `options { directory "${directory}"; pid-file none; session-keyfile "${directory}/session"; recursion no; dnssec-validation no;`,
      `listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; };`,
      'controls { };',
      ...files.map(({ zone, file }) => `zone "${zone}" { type primary; file "${file}"; ${policy} };`),
    ].join('\n'),
  );
  const child = spawn('named', ['-g', '-n', '1', '-c', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  child.on('error', (error) => {
    log += `named cannot be started: ${error.message} (Debian: apt-get install bind9)`;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  test.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const server = { address: '127.0.0.1', port };
  const never = new AbortController().signal;
  const ask = async (name: string) => askTxt(server, name, never);
  const deadlineMs = performance.now() + START_MS;
  while ((await ask(zones[0] as string)).kind !== 'values') {
    if (performance.now() > deadlineMs || child.exitCode !== null) throw new Error(`BIND did not start: ${log}`);
    await sleep(50);
  }
  return {
    ...server,
    log: () => log,
    lookup: {
      aliasOf: async () => null,
      serversOf: async (name) => {
        const zone = zones.find((each) => name.endsWith(each)) ?? '';
        return { zone, servers: [{ host: `ns1.${zone}`, addresses: [server] }] };
      },
      addressesOf: async (host) => [host],
    },
    values: async (name) => {
      const answer = await ask(name);
      return answer.kind === 'values' ? [...answer.values].sort() : [];
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
