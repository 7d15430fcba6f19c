import { call } from '../support/call.ts';
import { startPosternServer } from '../support/start-program.ts';
import { HOST, MUTUAL_HOST } from './certificates.ts';
import type { Contender, ContenderOptions } from './contender.ts';

/** Settings of all benches: all connections come from one address. */
export const QUIET = {
  POSTERN_ROLES: 'api,edge',
  POSTERN_ACCESS_LOG: 'false',
  POSTERN_LOG_LEVEL: 'warn',
  POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '0',
};

/** Issues its own certificates: ECDSA P-256, like the others'. No access log, as they have none. */
export async function startPostern(
  name: string,
  options: ContenderOptions,
  checkout?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Contender> {
  const server = await startPosternServer(options.directory, { ...QUIET, ...env }, checkout);
  const { port } = server;
  const backend = await call(port, 'POST', '/backends/static', { address: `127.0.0.1:${options.upstreamPort}` });
  const authority = await call(port, 'POST', '/certificate_authorities', {
    ca_pem: options.certificates.clientAuthorityPem,
  });
  for (const host of [HOST, MUTUAL_HOST]) {
    const edge = await call(port, 'POST', '/edges/https', { hostports: [`${host}:443`] });
    const edgePath = `/edges/https/${String(edge['id'])}`;
    if (host === MUTUAL_HOST)
      await call(port, 'PUT', `${edgePath}/mutual_tls`, { certificate_authority_ids: [authority['id']] });
    for (const match of ['/', '/json']) {
      const route = await call(port, 'POST', `${edgePath}/routes`, { match_type: 'path_prefix', match });
      const routePath = `${edgePath}/routes/${String(route['id'])}`;
      await call(port, 'PUT', `${routePath}/backend`, { backend_id: backend['id'] });
      if (match === '/json') await call(port, 'PUT', `${routePath}/compression`, {});
    }
  }
  const edgePort = server.edgePort as number;
  return {
    name,
    version: process.version,
    pid: server.pid,
    port: edgePort,
    mutualPort: edgePort,
    stop: () => server.stop(),
  };
}
