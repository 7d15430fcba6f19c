import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { SecureVersion } from 'node:tls';
import { EdgeWorld } from '../../support/edge-world.ts';
import { issue } from '../tls/test-authority.ts';
import { breakMutualTls, GONE } from './break-mutual-tls.ts';

const world = await EdgeWorld.open({ after });
const authority = await issue({ commonName: 'staff', isCa: true });
const staff = await issue({ commonName: 'ann', usages: ['client'], issuer: authority });
const self = await issue({ commonName: 'self', usages: ['client'] });
const { id: authorityId } = await world.api('POST', '/certificate_authorities', { ca_pem: authority.certificatePem });

/** The outcome of a request on its own connection: its status, or `refused` when no byte of HTTP was sent. */
async function outcome(host: string, options: object): Promise<number | 'refused'> {
  return world.ask(host, '/', options).then(
    ({ status }) => status,
    () => 'refused' as const,
  );
}

for (const version of ['TLSv1.2', 'TLSv1.3'] satisfies SecureVersion[]) {
  test(`${version}: mutual_tls that cannot be prepared accepts no handshake, and works again once repaired`, async () => {
    const { host, edgeId, edgePath } = await world.site(await world.httpResponse('in'));
    const limits = { minVersion: version, maxVersion: version };
    const shown = { ...limits, cert: staff.certificatePem, key: staff.keyPem };
    await world.api('PUT', `${edgePath}/mutual_tls`, { certificate_authority_ids: [authorityId] });
    const agent = world.agent();
    assert.equal(await outcome(host, { ...shown, agent }), 200);

    await breakMutualTls(world.world, edgeId, [authorityId, GONE]);
    assert.equal(await outcome(host, limits), 'refused');
    assert.equal(await outcome(host, shown), 'refused');
    assert.equal(await outcome(host, { ...limits, cert: self.certificatePem, key: self.keyPem }), 'refused');
    // An older connection is asked to reconnect, and then cannot.
    assert.equal(await outcome(host, { ...shown, agent }), 421);
    agent.destroy();
    assert.match(await world.metrics(), /handshake_failures_total\{reason="client_certificate_missing"\} [1-9]/);

    await world.api('PUT', `${edgePath}/mutual_tls`, { certificate_authority_ids: [authorityId] });
    assert.equal(await outcome(host, shown), 200);
    assert.equal(await outcome(host, limits), 'refused');
  });
}
