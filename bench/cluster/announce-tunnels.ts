import { announcedSession, published } from '../../test/nodes/support/announced.ts';
import type { DirectoryNode } from '../../test/nodes/support/directory-node.ts';

const PER_SESSION = 10;

/** Sessions of ten tunnels each, `tn_0` and so on, all with names of their own. */
export function announceTunnels({ id, announcer }: DirectoryNode, count: number): void {
  for (let n = 0; n < count; n += 1) {
    const session = `ts_${Math.floor(n / PER_SESSION)}`;
    if (n % PER_SESSION === 0) announcer.putSession(announcedSession(session, id));
    announcer.putTunnel(published(`tn_${n}`, session, { host: `host-${n}.example` }));
  }
}
