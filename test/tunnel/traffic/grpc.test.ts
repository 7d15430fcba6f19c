import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { issue } from '../../edge/tls/test-authority.ts';
import { call, clientOf } from '../../support/clients/grpc-client.ts';
import { grpcUpstream } from '../../support/clients/grpc-service.ts';
import { grpcSuite } from '../../support/clients/grpc-suite.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const authority = await issue({ commonName: 'CA of the local service', isCa: true });
const certificate = await issue({
  commonName: 'service',
  issuer: authority,
  usages: ['server'],
  dnsNames: ['localhost'],
});
const secure = await grpcUpstream({ after }, certificate);
const plain = await grpcUpstream({ after }, null);
const world = await TunnelWorld.open({ after });
const upstreamTls = { ca: authority.certificatePem };
const secureWays = await bothWays(world, { addr: `https://${secure.address}`, upstreamTls });
const plainWays = await bothWays(world, { addr: `h2c://${plain.address}` });

for (const [at, [kind, ways, service]] of (
  [
    ['https', secureWays, secure],
    ['h2c', plainWays, plain],
  ] as const
).entries()) {
  for (const { name: way, host } of shareOfCases(ways, at, 2)) {
    const name = `${way} to a service of ${kind}`;
    grpcSuite({ name, edge: world.edge, host, service });

    test(`gRPC through ${name}: the service does not see the tunnel`, async (context) => {
      await call(clientOf(context, world.edge, host), 'unary', Buffer.from('x'));
      assert.deepEqual(service.metadata.at(-1)?.get('postern-tunnel'), []);
    });
  }
}
