import { hostNameProblem } from '../../lib/host-name.ts';

/** The problem with a `host:port`, or null. */
export function hostportProblem(hostport: string, edgePort: number | null): string | null {
  const separator = hostport.lastIndexOf(':');
  if (separator === -1) return `"${hostport}" must be "host:port", such as "app.example.com:443"`;
  const port = hostport.slice(separator + 1);
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) return `"${hostport}" must have a port from 1 to 65535`;
  if (edgePort !== null && Number(port) !== 443 && Number(port) !== edgePort) {
    return `"${hostport}" has port ${port}, but the edge listens on ${edgePort === 443 ? '443' : `443 or ${edgePort}`} (POSTERN_EDGE_LISTEN)`;
  }
  return hostNameProblem(hostOf(hostport), 'allowed');
}

export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'));
}
