import { optional } from '../lib/settings/setting.ts';
import { dialledAddress, hinted, listenAddressOrOff, text } from '../lib/settings/setting-kinds.ts';

/** Settings of a node among others. */
export const nodeSettings = {
  node_name: optional(
    hinted(
      'NAME',
      text('1 to 64 letters, digits, dots, hyphens and underscores', (value) => /^[A-Za-z0-9._-]{1,64}$/.test(value)),
    ),
    { description: 'Name of this node in GET /nodes, in metrics and in log lines. Unset: the host name.' },
  ),
  peer_listen: optional(listenAddressOrOff, {
    description:
      'Listen address for the other nodes on the same PostgreSQL database, over mutual TLS, or "off". Unset: 127.0.0.1:7445, or a free port if that one is in use. Nodes on several machines need an address that the others reach. Not used with SQLite.',
  }),
  peer_address: optional(dialledAddress, {
    description:
      'Address at which the other nodes dial this one. Unset: the address of peer_listen; for a wildcard such as 0.0.0.0, the local address that reaches the database.',
  }),
  tunnel_address: optional(dialledAddress, {
    description:
      'Address at which agents dial this node, named to agents of the other nodes so that they keep a connection to two nodes. Unset: none, for nodes behind a load balancer.',
  }),
};
