import { call } from '../support/call.ts';

export interface BenchSite {
  readonly host: string;
  readonly routePath: string;
}

/** An edge whose routes share one backend. */
export async function makeSite(
  port: number,
  host: string,
  backendId: string,
  matches: readonly string[] = ['/'],
): Promise<BenchSite> {
  const edge = await call(port, 'POST', '/edges/https', { hostports: [`${host}:443`] });
  let routePath = '';
  for (const match of matches) {
    const body = { match_type: 'path_prefix', match, backend: { backend_id: backendId } };
    const route = await call(port, 'POST', `/edges/https/${String(edge['id'])}/routes`, body);
    routePath = `/edges/https/${String(edge['id'])}/routes/${String(route['id'])}`;
  }
  return { host, routePath };
}

export async function makeBackend(port: number, upstreamPort: number): Promise<string> {
  return String((await call(port, 'POST', '/backends/static', { address: `127.0.0.1:${upstreamPort}` }))['id']);
}
