import type { RemoteDirectory } from '../../nodes/directory/announced.ts';
import type { PeerLinks } from '../../nodes/links/peer-links.ts';
import type { Membership } from '../../nodes/membership/membership.ts';
import type { NodeStore } from '../../store/node-store.ts';

/** The other nodes of the installation, for a gateway that shares sessions and names with them. */
export interface ClusterPorts {
  readonly membership: Pick<
    Membership,
    'self' | 'nodes' | 'get' | 'mayServe' | 'rightLeftMs' | 'nowMs' | 'onChange' | 'onLapse'
  >;
  readonly links: Pick<PeerLinks, 'get' | 'all' | 'call' | 'relay' | 'serve' | 'onDown'>;
  readonly directory: Pick<RemoteDirectory, 'session' | 'sessions' | 'tunnelsOf' | 'nameHolder'>;
  readonly store: NodeStore;
}
