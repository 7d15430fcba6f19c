// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { call, clientOf } from '../../support/clients/grpc-client.ts';
import { grpcUpstream } from '../../support/clients/grpc-service.ts';
import { grpcSuite } from '../../support/clients/grpc-suite.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { firstOf } from '../../support/share-of-cases.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';

const authority = await UpstreamAuthority.trusted({ after });
const upstream = await grpcUpstream({ after }, await authority.issue());
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address, true);
const plain = await world.site(backend);
const compressed = await world.site(backend);
await world.api('PUT', `${compressed.routePath}/compression`, {});

for (const [name, { host }] of firstOf([
  ['the edge with compression on', compressed],
  ['the edge', plain],
] as const)) {
  grpcSuite({ name, edge: world, host, service: upstream });

  test(`gRPC through ${name}: the upstream sees the caller`, async (context) => {
    await call(clientOf(context, world, host), 'unary', Buffer.from('x'));
    assert.deepEqual(upstream.metadata.at(-1)?.get('x-forwarded-for'), ['127.0.0.1']);
  });
}

test("gRPC can distinguish the edge's rejections from other errors", async (context) => {
  const site = await world.site(backend);
  const { policyId } = await world.ipPolicy('deny', '127.0.0.0/8');
  await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
  await assert.rejects(call(clientOf(context, world, site.host), 'unary', Buffer.from('x')), {
    code: status.PERMISSION_DENIED,
  });
  const dead = await world.site();
  await assert.rejects(call(clientOf(context, world, dead.host), 'unary', Buffer.from('x')), {
    code: status.UNAVAILABLE,
  });
});
