import { call } from '../support/call.ts';

/** Routes of each of many edges. */
export const MATCHES = ['/', '/api'];

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

const WRITERS = 32;

/** Many edges with two routes each; returns the last one. */
export async function makeSites(port: number, count: number, upstreamPort = 9): Promise<BenchSite> {
  const backend = await makeBackend(port, upstreamPort);
  let next = 0;
  let last: BenchSite = { host: '', routePath: '' };
  const write = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      last = await makeSite(port, `site-${next}.localhost`, backend, MATCHES);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return last;
}

export async function makeBackend(port: number, upstreamPort: number): Promise<string> {
  return String((await call(port, 'POST', '/backends/static', { address: `127.0.0.1:${upstreamPort}` }))['id']);
}
