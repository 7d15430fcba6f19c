import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { issue } from '../edge/tls/test-authority.ts';
import { startNodeProcesses } from './support/node-processes.ts';
import { createNewsSite, measureConfiguration, measureRevocation, percentile } from './support/propagation.ts';

/** The long form, with limits, is `test/long/propagation.test.ts`. */
const site = await createNewsSite(await startNodeProcesses({ after }, 2));

test('configuration written at one node is served by the other', async (t) => {
  t.diagnostic(`${percentile(await measureConfiguration(site, 10), 1).toFixed(0)} ms at most`);
});

test('a login that is revoked at one node ends at the other', async (t) => {
  t.diagnostic(`${percentile(await measureRevocation(site, 6), 1).toFixed(0)} ms at most`);
});

/** Visits once, and returns the ticket for the next visit. */
function visit(edge: string, host: string, session?: Buffer): Promise<{ isReused: boolean; ticket: Buffer | null }> {
  const [address = '', port] = edge.split(':');
  return new Promise((resolve, reject) => {
    let ticket: Buffer | null = null;
    let isReused = false;
    const options = { host: address, port: Number(port), servername: host, rejectUnauthorized: false, session };
    const socket = connect(options, () => {
      isReused = socket.isSessionReused();
      socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    });
    socket.on('session', (given: Buffer) => {
      ticket = given;
    });
    socket.on('error', reject).on('close', () => resolve({ isReused, ticket }));
    socket.resume();
  });
}

// Two processes: their arguments differ, and the runtime would make them part of the session.
test('a TLS session of one node resumes at the other', async () => {
  const host = 'tickets.localhost';
  const [one, two] = site.nodes;
  assert.ok(one && two);
  const { certificatePem, keyPem } = await issue({ commonName: host, dnsNames: [host], usages: ['server'] });
  await one.api.send('POST', '/tls_certificates', { certificate_pem: certificatePem, private_key_pem: keyPem });
  await one.api.send('POST', '/edges/https', { hostports: [`${host}:443`] });
  const isServed = async (): Promise<boolean> =>
    visit(two.edge, host).then(
      () => true,
      () => false,
    );
  while (!(await isServed())) {}
  const { ticket, isReused } = await visit(one.edge, host);
  assert.deepEqual([isReused, ticket === null], [false, false]);
  const there = await visit(two.edge, host, ticket ?? undefined);
  assert.equal(there.isReused, true);
  // A resumed session need not bring another ticket.
  assert.equal((await visit(one.edge, host, there.ticket ?? ticket ?? undefined)).isReused, true);
});
