import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type Clock, systemClock } from '../../src/kit/clock.ts';
import { certificatesIn } from '../../src/kit/pki/describe-certificate.ts';
import type { DnsLookup } from '../../src/proxy/dns/servers/dns-lookup.ts';
import { hasFailed, isIssued, managedRecord, untilManaged } from '../support/acme/acme-world.ts';
import { MovedClock } from '../support/acme/manager-world.ts';
import { type Pebble, pebbleIsMissing, startPebble } from '../support/acme/pebble.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { startBind } from '../support/dns/bind.ts';
import { SECRETS } from '../support/dns/challenge-records.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { tempDir } from '../support/temp-dir.ts';

const skip = pebbleIsMissing() ?? false;

let postgres: PostgresServer;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

/** A server that orders from pebble, which validates at its edge. */
async function openWorld(
  cleanup: Cleanup,
  pebble: Pebble,
  env: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock,
  dnsLookup?: DnsLookup,
): Promise<EdgeWorld> {
  const edge = await EdgeWorld.open(
    cleanup,
    {
      POSTERN_ACME: 'on',
      POSTERN_ACME_DIRECTORY: pebble.directoryUrl,
      POSTERN_ACME_CA_FILE: pebble.caFile,
      ...env,
    },
    { resolveName: async () => ['127.0.0.1'], clock, ...(dnsLookup !== undefined && { dnsLookup }) },
  );
  const { addresses } = edge.world.server;
  pebble.tls.targets.splice(0, 1, addresses.edge?.port ?? 0);
  pebble.http.targets.splice(0, 1, addresses.edgeHttp?.port ?? 0);
  return edge;
}

suite('certificates from a real ACME server', { skip }, async () => {
  const pebble = await startPebble({ after });

  test('orders a certificate for the host of an edge by tls-alpn-01', async (context) => {
    const edge = await openWorld(context, pebble);
    await edge.edge('first.example.com');
    const doc = await untilManaged(edge.world.server, 'first.example.com', isIssued);
    assert.equal(doc.challenge_type, 'tls-alpn-01');
    const [leaf, ...issuers] = certificatesIn(doc.certificate_pem as string);
    assert.equal(leaf?.checkHost('first.example.com'), 'first.example.com');
    assert.ok(issuers.at(-1)?.checkIssued(new X509Certificate(await pebble.root())));
    assert.equal(leaf?.publicKey.asymmetricKeyType, 'ec');
    const renewsAfterMs = Date.parse(doc.renews_at as string) - Date.parse(doc.not_before as string);
    const lifeMs = Date.parse(doc.not_after as string) - Date.parse(doc.not_before as string);
    assert.equal(Math.round((renewsAfterMs / lifeMs) * 100), 67);
    const record = managedRecord(edge.world.server, 'first.example.com');
    assert.deepEqual(Object.keys(record?.secrets ?? {}), ['/private_key']);
    assert.deepEqual([...edge.world.server.replica.all('acme_challenge')], []);
    const socket = await edge.connect('first.example.com', { ca: [await pebble.root()] });
    assert.equal(socket.getPeerX509Certificate()?.serialNumber.toLowerCase(), leaf?.serialNumber.toLowerCase());
  });

  test('is answered by a node that has not ordered', async (context) => {
    const database = await freshDatabase(postgres);
    context.after(() => database.drop());
    const secretKey = Buffer.alloc(32, 3).toString('base64');
    const shared = { POSTERN_DATABASE_URL: database.url, POSTERN_SECRET_KEY: secretKey };
    const ordering = await openWorld(context, pebble, shared);
    const answering = await openWorld(context, pebble, { ...shared, POSTERN_ACME: 'off' });
    await ordering.edge('both.example.com');
    await untilManaged(answering.world.server, 'both.example.com', isIssued);
    assert.match(await answering.metrics(), /postern_edge_acme_challenges_total\{type="tls-alpn-01"\} [1-9]/);
    assert.doesNotMatch(await ordering.metrics(), /postern_edge_acme_challenges_total\{type="tls-alpn-01"\} [1-9]/);
    // The node that only followed serves the certificate as well.
    await answering.connect('both.example.com', { ca: [await pebble.root()] });
    answering.disconnect();
    ordering.disconnect();
    await answering.world.close();
    await ordering.world.close();
  });

  test('uses http-01 where it is the only configured challenge', async (context) => {
    const edge = await openWorld(context, pebble, { POSTERN_ACME_CHALLENGES: 'http-01' });
    await edge.edge('second.example.com');
    const doc = await untilManaged(edge.world.server, 'second.example.com', isIssued);
    assert.equal(doc.challenge_type, 'http-01');
  });

  test('gets a wildcard by dns-01 from a hook', async (context) => {
    const directory = await tempDir(context);
    const hook = join(directory, 'hook');
    const calls = join(directory, 'calls');
    const post = `curl -sf -o ${join(directory, 'out')} --data`;
    await writeFile(
      hook,
      `#!/bin/sh\nset -e\necho "$1 $2" >> ${calls}\ncase $1 in
present) ${post} "{\\"host\\":\\"$2.\\",\\"value\\":\\"$3\\"}" ${pebble.dnsUrl}/set-txt ;;
cleanup) ${post} "{\\"host\\":\\"$2.\\"}" ${pebble.dnsUrl}/clear-txt ;;\nesac\n`,
    );
    await chmod(hook, 0o755);
    const edge = await openWorld(context, pebble, {
      POSTERN_ACME_DNS: JSON.stringify({ '*': { provider: 'hook', path: hook } }),
    });
    await edge.edge('*.wild.example.com');
    const doc = await untilManaged(edge.world.server, '*.wild.example.com', isIssued);
    const [leaf] = certificatesIn(doc.certificate_pem as string);
    assert.equal(leaf?.subjectAltName, 'DNS:*.wild.example.com');
    const lines = ['present _acme-challenge.wild.example.com', 'cleanup _acme-challenge.wild.example.com'];
    assert.deepEqual((await readFile(calls, 'utf8')).trim().split('\n'), lines);
  });

  test('says what the server saw when the name leads elsewhere', async (context) => {
    const edge = await openWorld(context, pebble, { POSTERN_ACME_CHALLENGES: 'http-01' });
    pebble.http.targets.splice(0);
    await edge.edge('elsewhere.example.com');
    const { job } = await untilManaged(edge.world.server, 'elsewhere.example.com', hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_CHALLENGE');
    assert.match(job?.msg ?? '', /http-01 failed for elsewhere\.example\.com: .+ \(connection\)/);
  });

  test('changes the key of the account', async (context) => {
    const clock = new MovedClock();
    const edge = await openWorld(context, pebble, { POSTERN_ACME_ACCOUNT_KEY_DAYS: '1' }, clock);
    const node = edge.world.server;
    await edge.edge('key.example.com');
    await untilManaged(node, 'key.example.com', isIssued);
    const secret = (): string | undefined => [...node.replica.all('acme_account')][0]?.secrets?.['/private_key'];
    const first = secret();
    clock.advance(2 * 86_400_000);
    await edge.edge('next.example.com');
    await untilManaged(node, 'next.example.com', isIssued);
    assert.notEqual(secret(), first);
  });
});

suite('wildcards with DNS UPDATE at BIND 9, from a real ACME server', { skip }, async () => {
  const bind = await startBind({ after }, ['dns.example.com', 'example.net']);
  const pebble = await startPebble({ after }, { dnsServer: `127.0.0.1:${bind.port}` });
  const options = { provider: 'rfc2136', server: `127.0.0.1:${bind.port}`, key_name: 'postern' };

  test('are issued together with the domain itself, and leave no record', async (context) => {
    const keyFile = join(await tempDir(context), 'key');
    await writeFile(keyFile, `${SECRETS.TSIG}\n`);
    const zone = { ...options, key: `$\{file:${keyFile}}` };
    const env = {
      POSTERN_ACME_CHALLENGES: 'dns-01',
      POSTERN_ACME_DNS: JSON.stringify({ 'dns.example.com': zone, 'example.net': zone }),
    };
    const edge = await openWorld(context, pebble, env, systemClock, bind.lookup);
    const hosts = ['dns.example.com', '*.dns.example.com', 'example.net', '*.example.net', 'www.example.net'];
    await edge.edge(...hosts);
    for (const host of hosts) {
      const doc = await untilManaged(edge.world.server, host, isIssued);
      assert.equal(certificatesIn(doc.certificate_pem as string)[0]?.subjectAltName, `DNS:${host}`);
      assert.equal(doc.challenge_type, 'dns-01');
    }
    for (const name of [
      '_acme-challenge.dns.example.com',
      '_acme-challenge.example.net',
      '_acme-challenge.www.example.net',
    ])
      assert.deepEqual(await bind.values(name), []);
    assert.ok(!edge.world.logLines.join('').includes(SECRETS.TSIG));
    await edge.connect('shop.example.net', { ca: [await pebble.root()] });
  });
});

suite('an ACME server that requires external account binding', { skip }, async () => {
  const boundKeys = { 'kid-1': 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' };
  const pebble = await startPebble({ after }, { boundKeys });

  test('issues with the key, and is named in the message without it', async (context) => {
    const without = await openWorld(context, pebble);
    await without.edge('eab.example.com');
    const { job } = await untilManaged(without.world.server, 'eab.example.com', hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_ACCOUNT');
    assert.match(job?.msg ?? '', /requires external account binding: set acme_eab_key_id and acme_eab_key/);
    const bound = await openWorld(context, pebble, {
      POSTERN_ACME_EAB_KEY_ID: 'kid-1',
      POSTERN_ACME_EAB_KEY: boundKeys['kid-1'],
    });
    await bound.edge('eab.example.com');
    await untilManaged(bound.world.server, 'eab.example.com', isIssued);
    assert.ok(!bound.world.logLines.join('').includes('zWND'));
  });
});
