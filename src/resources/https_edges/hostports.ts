import { hostNameProblem } from '../../lib/net/host-name.ts';
import { hostOf } from '../../lib/net/split-address.ts';

const ANY_OF = new Intl.ListFormat('en', { type: 'disjunction' });

/** The problem with a `host:port`, or null. */
export function hostportProblem(hostport: string, edgePorts: readonly number[] | null): string | null {
  const separator = hostport.lastIndexOf(':');
  if (separator === -1) return `"${hostport}" must be "host:port", such as "app.example.com:443"`;
  const port = hostport.slice(separator + 1);
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) return `"${hostport}" must have a port from 1 to 65535`;
  if (edgePorts !== null && !edgePorts.includes(Number(port))) {
    const known = ANY_OF.format(edgePorts.toSorted((one, other) => one - other).map(String));
    return `"${hostport}" has port ${port}, but visitors can use ${known}: write one of these, or add the port to edge_listen, or to edge_host_ports if something in front maps it`;
  }
  return hostNameProblem(hostOf(hostport), 'allowed');
}
