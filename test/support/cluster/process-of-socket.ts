import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Which of these processes has the socket with this local port. TLS 1.3 hides the client's certificate from a proxy.
 */
export function processOfSocket(localPort: number, pids: readonly number[]): number | null {
  const inode = inodeOf(localPort);
  if (inode === null) return null;
  return pids.find((pid) => hasSocket(pid, inode)) ?? null;
}

function inodeOf(localPort: number): string | null {
  const hex = localPort.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  for (const line of lines) {
    const columns = line.trim().split(/\s+/);
    // Outgoing connections to loopback leave from 127.0.0.1; 01 is ESTABLISHED.
    if (columns[1] === `0100007F:${hex}` && columns[3] === '01') return columns[9] ?? null;
  }
  return null;
}

function hasSocket(pid: number, inode: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => linkOf(`${folder}/${fd}`) === `socket:[${inode}]`);
  } catch {
    return false;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
