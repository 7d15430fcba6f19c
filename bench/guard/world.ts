import { mkdir } from 'node:fs/promises';
import { CookieJar } from '../../test/support/cookie-jar.ts';
import type { RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { logInOnce } from '../oidc/bench-browser.ts';
import { call } from '../support/call.ts';
import type { Program } from '../support/start-program.ts';
import { startAgents, startTunnelServer, type TunnelServer } from '../tunnel/tunnel-server.ts';

export const OPEN_HOST = 'open.localhost';
export const LOGIN_HOST = 'login.localhost';
export const TUNNEL_HOST = 'tunnel.localhost';
/** How many modules are written in turn, one by each writer. */
export const WRITERS = 32;

/** A server with a site, a site with a login, an agent with a tunnel, and modules to read and write. */
export interface World {
  readonly server: TunnelServer;
  readonly agent: Program;
  /** Cookie header of a user who is logged in. */
  readonly cookie: string;
  readonly readPath: string;
  readonly writePaths: readonly string[];
}

export interface Surroundings {
  readonly upstreamPort: number;
  readonly provider: RunningIdentityProvider;
  readonly stack: AsyncDisposableStack;
}

export async function openWorld(directory: string, checkout: string, surroundings: Surroundings): Promise<World> {
  const { upstreamPort, provider, stack } = surroundings;
  await mkdir(directory, { recursive: true });
  const server = await startTunnelServer(directory, checkout);
  stack.defer(() => server.program.stop());
  const { port } = server.program;
  const backend = await makeBackend(port, upstreamPort);
  const open = await makeSite(port, OPEN_HOST, backend);
  const closed = await makeSite(port, LOGIN_HOST, backend);
  const client = {
    client_id: 'guard',
    client_secret: 'guard-secret',
    redirect_uris: [`https://${LOGIN_HOST}:${server.edgePort}/.postern/callback`],
  };
  // One world is opened after the other, and each logs in once.
  provider.setClients([client]);
  await call(port, 'PUT', `${closed.routePath}/oidc`, {
    issuer: provider.issuer,
    client_id: client.client_id,
    client_secret: client.client_secret,
    scopes: ['email', 'profile'],
  });
  const jar = await logInOnce(provider, server.edgePort, LOGIN_HOST, new CookieJar());
  const edgePath = open.routePath.slice(0, open.routePath.indexOf('/routes/'));
  const writePaths: string[] = [];
  for (let at = 0; at < WRITERS; at += 1) {
    const body = { match_type: 'exact_path', match: `/w${at}` };
    const route = await call(port, 'POST', `${edgePath}/routes`, body);
    writePaths.push(`${edgePath}/routes/${String(route['id'])}/oidc`);
  }
  const addr = `127.0.0.1:${upstreamPort}`;
  const agent = await startAgents(server, [
    [
      { proto: 'https', domain: TUNNEL_HOST, addr },
      { proto: 'http', domain: TUNNEL_HOST, addr },
    ],
  ]);
  stack.defer(() => agent.stop());
  const cookie = jar.header(`https://${LOGIN_HOST}:${server.edgePort}/`) ?? '';
  return { server, agent, cookie, readPath: `${closed.routePath}/oidc`, writePaths };
}
