import { readdir, readFile, readlink } from 'node:fs/promises';
import { type Finding, findingsOf } from '../../../../control/checks/check.ts';
import type { ListenAddress } from '../../../../kit/net/listen-address.ts';
import { type Config, variableOf } from '../../../settings/schema.ts';
import { addressText, dialled, dialProblem, listenProblem } from '../dial.ts';
import type { Installation } from '../installation.ts';

type ListenSetting = 'api_listen' | 'edge_listen' | 'edge_http_listen' | 'tunnel_listen';

interface Place {
  readonly setting: ListenSetting;
  readonly address: ListenAddress;
}

/** Whether all configured listeners accept connections. */
export async function checkListeners({ config, isLocal }: Installation): Promise<readonly Finding[]> {
  const found = findingsOf('listeners');
  if (!isLocal) {
    found.hint('the edge listens on the machine of the server: run this command there to check its addresses');
    return found.list;
  }
  for (const { setting, address } of placesOf(config).filter((place) => place.setting !== 'api_listen')) {
    if (address.port === 0) {
      found.hint(`${setting} has port 0: the "ready" line in the server's log names the actual port`);
      continue;
    }
    const problem = await dialProblem(dialled(address));
    if (problem === null) found.ok(`${setting} ${addressText(address)} is open`);
    else {
      found.problem(
        `cannot connect to ${addressText(address)} (${setting}): ${problem}`,
        `run this command with the server's settings, such as ${variableOf(setting)}, or check the server's log`,
      );
    }
  }
  return found.list;
}

/** Whether a stopped server could open its ports. */
export async function checkPorts({ config, isLocal }: Installation): Promise<readonly Finding[]> {
  const found = findingsOf('ports');
  if (!isLocal) return found.list;
  for (const { setting, address } of placesOf(config).filter((place) => place.address.port !== 0)) {
    const problem = await listenProblem(address);
    if (problem === null) found.ok(`${setting} ${addressText(address)} is free`);
    else if (problem === 'EADDRINUSE') {
      found.problem(
        `${(await whoListens(address.port)) ?? 'another program'} already listens on ${addressText(address)}`,
        `stop it, or set another address with ${setting} (${variableOf(setting)})`,
      );
    } else {
      const why =
        problem === 'EACCES'
          ? 'permission denied'
          : problem === 'EADDRNOTAVAIL'
            ? 'not an address of this machine'
            : problem;
      found.problem(
        `cannot listen on ${addressText(address)}: ${why}`,
        `set another address with ${setting} (${variableOf(setting)})`,
      );
    }
  }
  return found.list;
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
