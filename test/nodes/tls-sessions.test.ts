import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { connect, type SecureVersion } from 'node:tls';
import type { ClusterNode } from '../support/cluster/cluster-node.ts';
import { Cluster } from '../support/cluster.ts';

const cluster = await Cluster.open({ after }, { nodes: 2 });
const [one, two] = [cluster.node(0), cluster.node(1)];
const HOSTS = ['app.localhost', 'below.apps.localhost'];
const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[];

interface Visit {
  readonly status: string;
  readonly isReused: boolean;
  readonly session: Buffer;
  readonly leaf: string;
}

/** One request on a connection of its own. TLS 1.3 sends its ticket after the handshake, before the response. */
async function visit(node: ClusterNode, servername: string, version: SecureVersion, session?: Buffer): Promise<Visit> {
  const socket = connect({
    host: node.address,
    port: node.ports.edge,
    servername,
    ca: [...cluster.ca],
    minVersion: version,
    maxVersion: version,
    ...(session !== undefined && { session }),
  });
  let given = session;
  socket.on('session', (ticket: Buffer) => {
    given = ticket;
  });
  await once(socket, 'secureConnect');
  const isReused = socket.isSessionReused();
  const leaf = socket.getPeerCertificate().fingerprint256;
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write(`GET / HTTP/1.1\r\nhost: ${servername}\r\nconnection: close\r\n\r\n`);
  await once(socket, 'close');
  return { status: text.slice(9, 12), isReused, session: given ?? assert.fail('no ticket'), leaf };
}

suite('TLS sessions with a leaf of the internal CA, on PostgreSQL', () => {
  test('resume after kill -9 and a restart, and on another node', async () => {
    await one.api('POST', '/edges/https', { hostports: ['app.localhost:443', '*.apps.localhost:443'] });
    const cases = HOSTS.flatMap((host) => VERSIONS.map((version) => ({ host, version })));
    const first = await Promise.all(cases.map(({ host, version }) => visit(one, host, version)));
    assert.deepEqual(
      first.map(({ isReused }) => isReused),
      cases.map(() => false),
    );
    await one.kill();
    await one.start();
    for (const [at, { host, version }] of cases.entries()) {
      const before = first[at] ?? assert.fail();
      for (const node of [one, two]) {
        const where = `${host} over ${version} on ${node.name}`;
        const fresh = await visit(node, host, version);
        assert.notEqual(fresh.leaf, before.leaf, `${where} has the leaf of the process that ended`);
        const again = await visit(node, host, version, before.session);
        assert.equal(again.isReused, true, where);
        assert.equal(again.status, before.status, where);
        const other = HOSTS.find((each) => each !== host) ?? '';
        const elsewhere = await visit(node, other, version, before.session);
        assert.equal(elsewhere.isReused, false, `${where}, then for ${other}`);
      }
    }
  });
});
