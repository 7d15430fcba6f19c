import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type HttpsEdge,
  type HttpsEdgeRouteCreate,
  type OidcModule,
  PosternClient,
  type Ref,
  responseOf,
} from '../../src/client/index.ts';

/** Checked by the compiler: `npm run types` fails when a line below compiles that must not, or the reverse. */
async function compiled(client: PosternClient): Promise<void> {
  const edge = await client.httpsEdges.create({ hostports: ['a.localhost:7443'], mutual_tls: { enabled: false } });
  const asEdge: HttpsEdge = edge;
  const oidc: OidcModule | null | undefined = asEdge.routes[0]?.oidc;
  const backend: Ref | undefined = asEdge.routes[0]?.backend?.backend;
  const status: 'active' | 'paused' | 'suspended' = (await client.eventDestinations.get('ed_1')).status;
  const token: string = (await client.apiKeys.create()).token;
  const proto: 'http' | 'https' | 'tcp' | 'tls' | undefined = (await client.tunnels.get('tn_1')).proto;
  for await (const delivery of client.eventDeliveries.list({ state: 'dead', limit: 5 })) {
    const attempt: number | null | undefined = delivery.attempts[0]?.status;
    void attempt;
  }
  await client.weightedBackends.create({ backends: { bkdsc_1: 90 } });
  await client.httpsEdges.update(edge.id, {}, { ifMatch: edge, signal: AbortSignal.timeout(1) });
  void [oidc, backend, status, token, proto, responseOf(edge).etag];

  // @ts-expect-error: a misspelled field
  await client.httpsEdges.create({ hostport: ['a.localhost:7443'] });
  // @ts-expect-error: a wrong type
  await client.httpsEdges.create({ hostports: 'a.localhost:7443' });
  // @ts-expect-error: match is required
  const incomplete: HttpsEdgeRouteCreate = { match_type: 'path_prefix' };
  // @ts-expect-error: not one of the choices
  await client.httpsEdgeRoutes.create(edge.id, { match_type: 'prefix', match: '/' });
  // @ts-expect-error: a route needs both ids
  await client.httpsEdgeRoutes.get(edge.id);
  // @ts-expect-error: creating is not conditional
  await client.httpsEdges.create({}, { ifMatch: edge });
  // @ts-expect-error: reading needs no idempotency key
  await client.httpsEdges.get(edge.id, { idempotencyKey: 'x' });
  // @ts-expect-error: a token is shown by the create only
  const later: string = (await client.apiKeys.get('ak_1')).token;
  // @ts-expect-error: a private key is never read back
  void (await client.tlsCertificates.get('cert_1')).private_key_pem;
  // @ts-expect-error: what a change may not touch
  await client.ipPolicyRules.update('ipr_1', { action: 'deny' });
  // @ts-expect-error: weights are numbers
  await client.weightedBackends.create({ backends: { bkdsc_1: '90' } });
  // @ts-expect-error: answers are not to be written into
  edge.description = 'x';
  // @ts-expect-error: tunnels are there to be read
  void client.tunnels.create;
  // @ts-expect-error: an object of one's own has no response
  responseOf({ id: 'x' });
  void [later, incomplete];
}

test('the types above compile, and there is a client behind them', () => {
  assert.equal(typeof compiled, 'function');
  assert.equal(new PosternClient({ baseUrl: 'http://127.0.0.1:7080', apiKey: 'k' }) instanceof PosternClient, true);
});
