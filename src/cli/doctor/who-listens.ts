import { readdir, readFile, readlink } from 'node:fs/promises';

const LISTENING = '0A';

/**
 * The process that holds a TCP port: `postern (process 123)`. Null: the system does not reveal it, or not to this user.
 */
export async function whoListens(port: number): Promise<string | null> {
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
