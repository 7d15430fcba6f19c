import assert from 'node:assert/strict';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import type { Lease, LeaseKind } from '../../src/store/store.ts';
import type { TestWorld } from '../support/test-world.ts';
import { makeCertificate } from './certificates.ts';

interface Created {
  readonly id: string;
  readonly uri: string;
}

export interface TunnelIds {
  readonly http: string;
  readonly https: string;
  readonly tcp: string;
  readonly tls: string;
  readonly labelled: string;
  readonly unmatched: string;
  readonly expired: string;
}

/** Resources that the interface's operations depend on. */
export interface Parents {
  readonly edge: Created;
  readonly route: Created;
  readonly otherEdge: Created;
  readonly subscription: Created;
  readonly backends: Readonly<Record<string, Created>>;
  readonly olderGroup: Created;
  readonly newerGroup: Created;
  readonly authorities: readonly Created[];
  readonly session: string;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly tunnels: TunnelIds;
}

export const STARTED_AT = '2026-03-01T10:20:30.000Z';
export const EPHEMERAL = ['http', 'https', 'tcp', 'tls'] as const;
const HOUR_MS = 3_600_000;
const ksuid = createKsuidSource();

export function newId(prefix: string, nowMs = Date.now()): string {
  return `${prefix}_${ksuid(nowMs)}`;
}

export async function createParents(world: TestWorld): Promise<Parents> {
  const create = async (path: string, body: unknown): Promise<Created> => {
    const answer = await world.api('POST', path, body);
    assert.equal(answer.status, 201, answer.text);
    return { id: answer.body.id, uri: answer.body.uri };
  };
  const edge = await create('/edges/https', { hostports: ['interface.localhost:443'] });
  const route = await create(`/edges/https/${edge.id}/routes`, { match_type: 'path_prefix', match: '/' });
  const olderGroup = await create('/backends/tunnel_group', { labels: { app: 'shop' } });
  const newerGroup = await create('/backends/tunnel_group', { labels: { env: 'prod' } });
  const fixed = await create('/backends/static', { address: '10.0.0.5:3000' });
  const backends = {
    static: fixed,
    tunnel_group: olderGroup,
    http_response: await create('/backends/http_response', { body: 'hello' }),
    weighted: await create('/backends/weighted', { backends: { [fixed.id]: 1 } }),
    failover: await create('/backends/failover', { backends: [fixed.id] }),
  };
  const authorities = [];
  for (const commonName of ['first', 'second', 'third']) {
    const { certificatePem } = await makeCertificate({ commonName, isCa: true });
    authorities.push(await create('/certificate_authorities', { ca_pem: certificatePem }));
  }
  return {
    edge,
    route,
    otherEdge: await create('/edges/https', {}),
    subscription: await create('/event_subscriptions', {}),
    backends,
    olderGroup,
    newerGroup,
    authorities,
    ...(await openTunnels(world)),
  };
}

/** As the gateway does: a session, its tunnels, and the endpoints of those started by agents. */
async function openTunnels(world: TestWorld): Promise<Pick<Parents, 'session' | 'endpoints' | 'tunnels'>> {
  const session = newId('ts');
  const endpoints: Record<string, string> = {};
  const tunnels: Record<string, string> = {};
  const leases: Lease[] = [lease('tunnel_session', session, null, { metadata: 'of the session' })];
  for (const proto of EPHEMERAL) {
    const tunnel = newId('tn');
    const endpoint = newId('ep');
    const publicUrl = `${proto}://${proto}.localhost:7443`;
    const common = { public_url: publicUrl, proto, region: 'local', metadata: `of the ${proto} tunnel` };
    leases.push(
      lease('tunnel', tunnel, session, {
        ...common,
        started_at: STARTED_AT,
        session_metadata: 'of the session',
        endpoint_id: endpoint,
        forwards_to: 'http://localhost:8080',
      }),
      lease('endpoint', endpoint, tunnel, { ...common, created_at: STARTED_AT, type: 'ephemeral', tunnel_id: tunnel }),
    );
    tunnels[proto] = tunnel;
    endpoints[proto] = endpoint;
  }
  const labelled = { started_at: STARTED_AT, region: 'local', session_metadata: 'of the session' };
  tunnels['labelled'] = newId('tn');
  tunnels['unmatched'] = newId('tn');
  tunnels['expired'] = newId('tn');
  leases.push(
    lease('tunnel', tunnels['labelled'], session, {
      ...labelled,
      labels: { app: 'shop', env: 'prod' },
      metadata: 'of the labelled tunnel',
      forwards_to: 'localhost:9000',
    }),
    lease('tunnel', tunnels['unmatched'], session, { ...labelled, labels: { app: 'nobody' }, forwards_to: ':1' }),
    { ...lease('tunnel', tunnels['expired'], session, labelled), expiresAtMs: Date.now() - 1 },
  );
  await world.store.presence.put(leases);
  return { session, endpoints, tunnels: tunnels as unknown as TunnelIds };
}

function lease(kind: LeaseKind, id: string, parent: string | null, doc: Lease['doc']): Lease {
  return { kind, id, parent, credentialId: null, bootId: 'boot', expiresAtMs: Date.now() + HOUR_MS, doc };
}
