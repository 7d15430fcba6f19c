import { closeSync, readdirSync, readlinkSync } from 'node:fs';

const FOLDER = '/proc/self/fd';
const STANDARD = [0, 1, 2];

/**
 * Closes the sockets that this process has inherited without being offered them. The runtime copies the descriptor of a
 * connection that it hands to a worker without close-on-exec (Node 26.10). So a process that is started meanwhile has it
 * too, and the client would never see the end of its connection. Call it before this process opens sockets of its own.
 */
export function closeInheritedSockets(offered: readonly number[]): void {
  const kept = new Set([...STANDARD, ...offered]);
  for (const fd of descriptors()) if (!kept.has(fd) && isSocket(fd)) closeSync(fd);
}

/** None on a system that does not list them. */
function descriptors(): readonly number[] {
  try {
    return readdirSync(FOLDER).map(Number);
  } catch {
    return [];
  }
}

function isSocket(fd: number): boolean {
  try {
    return readlinkSync(`${FOLDER}/${fd}`).startsWith('socket:');
  } catch {
    // It was the one of the folder itself.
    return false;
  }
}
