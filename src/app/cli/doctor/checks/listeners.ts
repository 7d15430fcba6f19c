import { readdir, readFile, readlink } from 'node:fs/promises';
import { type Finding, findingTable } from '../../../../kit/findings.ts';
import type { ListenAddress } from '../../../../kit/net/listen-address.ts';
import { type Config, variableOf } from '../../../settings/schema.ts';
import { addressText, dialled, dialProblem, listenProblem } from '../dial.ts';
import type { Installation } from '../installation.ts';

type ListenSetting = 'api_listen' | 'edge_listen' | 'edge_http_listen' | 'tunnel_listen';

interface Place {
  readonly setting: ListenSetting;
  readonly address: ListenAddress;
}

const ofListeners = findingTable('listeners', {
  listeners_elsewhere: {
    level: 'hint',
    text: 'the edge listens on the machine of the server: run this command there to check its addresses',
  },
  listener_port_unknown: {
    level: 'hint',
    text: ({ setting }: Place) => `${setting} has port 0: the "ready" line in the server's log names the actual port`,
  },
  listener_unreachable: {
    level: 'problem',
    text: ({ setting, address, problem }: Place & { readonly problem: string }) =>
      `cannot connect to ${addressText(address)} (${setting}): ${problem}`,
    advice: ({ setting }: Place) =>
      `run this command with the server's settings, such as ${variableOf(setting)}, or check the server's log`,
  },
});

/** Whether all configured listeners accept connections. */
export async function checkListeners({ config, isLocal }: Installation): Promise<readonly Finding[]> {
  const { found, ok } = ofListeners;
  if (!isLocal) return [found('listeners_elsewhere', null)];
  const findings: Finding[] = [];
  for (const place of placesOf(config).filter(({ setting }) => setting !== 'api_listen')) {
    const { setting, address } = place;
    if (address.port === 0) findings.push(found('listener_port_unknown', place));
    else {
      const problem = await dialProblem(dialled(address));
      const isOpen = problem === null;
      findings.push(
        isOpen
          ? ok(`${setting} ${addressText(address)} is open`)
          : found('listener_unreachable', { ...place, problem }),
      );
    }
  }
  return findings;
}

function addressAdvice({ setting }: Place): string {
  return `set another address with ${setting} (${variableOf(setting)})`;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'not an address of this machine',
};

const ofPorts = findingTable('ports', {
  port_in_use: {
    level: 'problem',
    text: ({ address, program }: Place & { readonly program: string }) =>
      `${program} already listens on ${addressText(address)}`,
    advice: (place: Place) => `stop it, or ${addressAdvice(place)}`,
  },
  port_refused: {
    level: 'problem',
    text: ({ address, problem }: Place & { readonly problem: string }) =>
      `cannot listen on ${addressText(address)}: ${REASONS[problem] ?? problem}`,
    advice: addressAdvice,
  },
});

/** Whether a stopped server could open its ports. */
export async function checkPorts({ config, isLocal }: Installation): Promise<readonly Finding[]> {
  const { found, ok } = ofPorts;
  const findings: Finding[] = [];
  if (!isLocal) return findings;
  for (const place of placesOf(config).filter(({ address }) => address.port !== 0)) {
    const { setting, address } = place;
    const problem = await listenProblem(address);
    if (problem === null) findings.push(ok(`${setting} ${addressText(address)} is free`));
    else if (problem === 'EADDRINUSE') {
      const program = (await whoListens(address.port)) ?? 'another program';
      findings.push(found('port_in_use', { ...place, program }));
    } else findings.push(found('port_refused', { ...place, problem }));
  }
  return findings;
}

function placesOf(config: Config): readonly Place[] {
  const settings: ListenSetting[] = ['api_listen'];
  if (config.roles.includes('edge')) settings.push('edge_listen', 'edge_http_listen');
  if (config.roles.includes('gateway')) settings.push('tunnel_listen');
  return settings.flatMap((setting) => [config[setting]].flat().map((address) => ({ setting, address })));
}

const LISTENING = '0A';

/**
 * The process that holds a TCP port: `postern (process 123)`. Null: the system does not reveal it, or not to this user.
 */
async function whoListens(port: number): Promise<string | null> {
  const inodes = await listeningInodes(port);
  if (inodes.size === 0) return null;
  for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    for (const file of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '');
      if (inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '')) return processName(pid);
    }
  }
  return null;
}

/** Columns of /proc/net/tcp: number, local address, remote address, state, …, inode as the tenth. */
async function listeningInodes(port: number): Promise<ReadonlySet<string>> {
  const inodes = new Set<string>();
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(table, 'utf8').catch(() => '')).split('\n')) {
      const columns = line.trim().split(/\s+/);
      if (columns[1]?.endsWith(suffix) === true && columns[3] === LISTENING) inodes.add(columns[9] ?? '');
    }
  }
  return inodes;
}

async function processName(pid: string): Promise<string> {
  const comm = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim();
  // Node names its first thread, which is what the system shows for the process.
  const name = comm.replace(/-MainThread$/, '');
  return `${name === '' ? 'a program' : name} (process ${pid})`;
}
