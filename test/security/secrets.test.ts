import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../../src/kit/clock.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { currentSchema } from '../../src/store/sql/schema/migrations.ts';
import { cleanupAfterSuite, ENGINES, made, startedServer, usePostgres } from '../concurrency/worlds.ts';
import { querySql } from '../store/engines.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { openInternalCa } from '../support/internal-ca.ts';
import { freshDatabase } from '../support/postgres.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type ApiAnswer, type RequestOptions, TestWorld } from '../support/test-world.ts';

usePostgres();

const ksuid = createKsuidSource();
const newId = (prefix: string): string => `${prefix}_${ksuid(Date.now())}`;

/** Every planted secret, with a name that says where. */
class Planted {
  readonly #values = new Map<string, string>();

  /** Letters and digits only, so that it is valid as a token, a password or base64. */
  plant(name: string): string {
    return this.add(name, `PLANTED${randomBytes(18).toString('hex')}`);
  }

  add(name: string, value: string): string {
    assert.ok(!this.#values.has(name), `${name} is planted twice`);
    this.#values.set(name, value);
    return value;
  }

  get count(): number {
    return this.#values.size;
  }

  /** Fails with the names, not the values, of those that the text contains. */
  assertAbsentFrom(where: string, text: string): void {
    const found = [...this.#values].filter(([, value]) => text.includes(value)).map(([name]) => name);
    assert.deepEqual(found, [], `found in ${where}`);
  }
}

const WITHOUT_TABLE = {
  what: 'a table is gone',
  sabotage: 'ALTER TABLE changes RENAME TO elsewhere',
  repair: 'ALTER TABLE elsewhere RENAME TO changes',
};

/** Commits that fail, and the log line about each. PostgreSQL quotes the row that violates a constraint. */
const FAILURES = {
  sqlite: [{ ...WITHOUT_TABLE, status: 500, logs: 'request failed' }],
  postgres: [
    { ...WITHOUT_TABLE, status: 503, logs: 'request refused for now' },
    {
      what: 'a constraint is violated',
      sabotage: "ALTER TABLE changes ADD CONSTRAINT broken CHECK (op = 'never') NOT VALID",
      repair: 'ALTER TABLE changes DROP CONSTRAINT broken',
      status: 500,
      logs: 'request failed',
    },
  ],
};

for (const engine of ENGINES) {
  suite(`planted secrets on ${engine}`, () => {
    const cleanup = cleanupAfterSuite();
    const planted = new Planted();
    const presets = {
      POSTERN_API_KEY: planted.plant('POSTERN_API_KEY'),
      POSTERN_AUTHTOKEN: planted.plant('POSTERN_AUTHTOKEN'),
      POSTERN_SECRET_KEY: planted.add('POSTERN_SECRET_KEY', randomBytes(32).toString('base64')),
      POSTERN_LOG_LEVEL: 'trace',
    };
    const refusals: ApiAnswer[] = [];
    let world: TestWorld;
    let location: StoreLocation;

    before(async () => {
      const database = engine === 'sqlite' ? null : await openDatabase(planted.plant('password of the database'));
      world = await TestWorld.open(cleanup, { env: presets, ...(database !== null && { databaseUrl: database.url }) });
      if (database !== null) cleanup.after(() => database.drop());
      const shared = { dataDir: world.dataDir, secretKey: presets.POSTERN_SECRET_KEY };
      location =
        database === null ? { engine: 'sqlite', ...shared } : { engine: 'postgres', url: database.url, ...shared };
    });

    const send = (method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<ApiAnswer> =>
      world.api(method, path, body, { key: presets.POSTERN_API_KEY, ...options });

    /** A rejection must not quote what it rejects. */
    async function refused(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<void> {
      const answer = await send(method, path, body, options);
      assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${path}: ${answer.status}`);
      refusals.push(answer);
    }

    test('every event type is subscribed to first', async () => {
      const { body } = await send('GET', '/event_types');
      const sources = body.event_types.map(({ type }: { type: string }) => ({ type }));
      made(await send('POST', '/event_subscriptions', { sources }));
    });

    test('secrets of login modules, set in every way', async () => {
      const oidc = (secret: string) => ({ issuer: 'https://i.example.com', client_id: 'c', client_secret: secret });
      const edge = made(await send('POST', '/edges/https', { hostports: ['planted.localhost:443'] }));
      const route = made(
        await send(
          'POST',
          `${edge.uri}/routes`,
          { match_type: 'path_prefix', match: '/', oidc: oidc(planted.plant('oidc of a create')) },
          {
            headers: { 'idempotency-key': planted.plant('Idempotency-Key') },
          },
        ),
      );
      await send('PUT', `${route.uri}/oidc`, oidc(planted.plant('oidc of a PUT')));
      await send('PATCH', route.uri, { oidc: oidc(planted.plant('oidc of a PATCH')) });
      await send('GET', edge.uri);
      await send('DELETE', `${route.uri}/oidc`);
      await send('PUT', `${route.uri}/oidc`, oidc(planted.plant('oidc that stays')));

      const put = (body: object) => refused('PUT', `${route.uri}/oidc`, body);
      await put({ client_secret: [planted.plant('oidc in a list')] });
      await put({ client_secret: { value: planted.plant('oidc in an object') } });
      await put({ client_secret: planted.plant('oidc too long').padEnd(5000, 'x') });
      await put({ client_secrett: planted.plant('oidc under a misspelled name') });
      await put({ ...oidc(planted.plant('oidc beside a mistake')), maximum_duration: -1 });
      await put({ ...oidc(planted.plant('oidc beside a bad issuer')), issuer: 'ftp://x' });
      await put({ issuer: `https://user:${planted.plant('password in an issuer')}@i.example.com` });
      await put({ cookie_prefix: `${planted.plant('secret as a cookie prefix')} ;` });
      await put({ scopes: [`${planted.plant('secret as a scope')} with a space`] });
      await put({ inactivity_timeout: planted.plant('secret as a number') });
      await refused('PATCH', route.uri, { oidc: { client_secret: [planted.plant('oidc inline, in a list')] } });
      await refused('POST', `${edge.uri}/routes`, {
        match_type: 'path_prefix',
        match: '/',
        oidc: oidc(planted.plant('oidc of a refused create')),
      });
      await refused('PUT', `${route.uri}/oidc`, oidc(planted.plant('oidc of a lost race')), {
        headers: { 'if-match': '"1"' },
      });
      await refused(
        'PUT',
        `/edges/https/${newId('edghts')}/routes/${newId('edghtsrt')}/oidc`,
        oidc(planted.plant('oidc of nowhere')),
      );
    });

    test('webhooks: secrets, headers, addresses', async () => {
      const url = 'https://hooks.example.com/a';
      const webhook = {
        url,
        secret: `whsec_${planted.plant('webhook secret')}`,
        previous_secret: `whsec_${planted.plant('previous webhook secret')}`,
        headers: { authorization: `Bearer ${planted.plant('webhook header')}` },
      };
      const target = (change: object) => ({ target: { webhook: { ...webhook, ...change } } });
      const destination = made(
        await send('POST', '/event_destinations', target({}), { headers: { 'idempotency-key': 'w' } }),
      );
      await send('PATCH', destination.uri, target({ secret: `whsec_${planted.plant('rotated webhook secret')}` }));
      await send('POST', `${destination.uri}/pause`);
      await send('POST', `${destination.uri}/resume`);
      for (const path of [destination.uri, '/event_destinations']) {
        const read = await send('GET', path);
        assert.equal(read.status, 200);
        planted.assertAbsentFrom(`GET ${path}`, read.text);
      }
      const generated = await send('POST', '/event_destinations', { target: { webhook: { url } } });
      planted.add('generated webhook secret', generated.body.target.webhook.secret);
      assert.equal((await send('DELETE', generated.body.uri)).status, 204);

      const post = (change: object) => refused('POST', '/event_destinations', target(change));
      await refused('POST', '/event_destinations', target({}), { headers: { 'idempotency-key': 'w' } });
      await refused(
        'POST',
        '/event_destinations',
        target({ secret: `whsec_${planted.plant('webhook secret of another body')}` }),
        { headers: { 'idempotency-key': 'w' } },
      );
      await post({ secret: `${planted.plant('webhook secret of the wrong form')}!` });
      await post({ secret: 5, headers: { 'x-key': planted.plant('webhook header beside a mistake') } });
      await post({ headers: { 'x-key': `${planted.plant('webhook header with a line break')}\n` } });
      await post({ headers: { 'x-key': [planted.plant('webhook header in a list')] } });
      await post({ headers: { host: planted.plant('webhook header that is reserved') } });
      await post({ headers: planted.plant('webhook headers as text') });
      await post({ url: `https://user:${planted.plant('password in a webhook URL')}@hooks.example.com/` });
      await post({ url: `ftp://hooks.example.com/?token=${planted.plant('token in a webhook URL')}` });
      await post({ token: planted.plant('webhook unknown field') });
      await refused('PATCH', destination.uri, target({ secret: [planted.plant('webhook secret in a list')] }));
    });

    test('private keys, uploaded and pasted into the wrong field', async () => {
      const ca = await openInternalCa({ dataDir: await tempDir(cleanup), domain: 'apps.test', clock: systemClock });
      const mint = () => ca.mintLeaf({ hosts: ['a.apps.test'], ips: [], days: 30 });
      const [leaf, other] = [await mint(), await mint()];
      planted.add('private key', lineOf(leaf.privateKeyPem));
      planted.add('private key of another', lineOf(other.privateKeyPem));
      const { certificatePem } = leaf;
      const certificate = made(
        await send(
          'POST',
          '/tls_certificates',
          { certificate_pem: certificatePem, private_key_pem: leaf.privateKeyPem },
          { headers: { 'idempotency-key': 'c' } },
        ),
      );
      for (const path of [certificate.uri, '/tls_certificates'])
        planted.assertAbsentFrom(path, (await send('GET', path)).text);
      await refused('POST', '/tls_certificates', {
        certificate_pem: certificatePem,
        private_key_pem: other.privateKeyPem,
      });
      await refused('POST', '/tls_certificates', {
        certificate_pem: certificatePem,
        private_key_pem: other.privateKeyPem.replace('BEGIN', 'BEGUN'),
      });
      await refused('POST', '/tls_certificates', {
        certificate_pem: other.privateKeyPem,
        private_key_pem: other.privateKeyPem,
      });
      await refused('POST', '/tls_certificates', { certificate_pem: `${certificatePem}${other.privateKeyPem}` });
      await refused('POST', '/certificate_authorities', { ca_pem: other.privateKeyPem });
      await refused('POST', '/certificate_authorities', { ca_pem: `${ca.otherCaPem}${other.privateKeyPem}` });
      await refused('PATCH', certificate.uri, { private_key_pem: other.privateKeyPem });
    });

    test('tokens of API keys, credentials and service accounts', async () => {
      const account = (await send('POST', '/service_accounts', { name: 'planted' })).body.id;
      for (const [path, fields] of [
        ['/api_keys', {}],
        ['/credentials', {}],
        ['/service_account_tokens', { service_account_id: account }],
      ] as const) {
        const created = await send('POST', path, fields, { headers: { 'idempotency-key': 't' } });
        const token = planted.add(`token of ${path}`, created.body.token);
        await refused('POST', path, fields, { headers: { 'idempotency-key': 't' } });
        await refused('POST', path, { ...fields, token });
        await refused('PATCH', created.body.uri, { token });
        planted.assertAbsentFrom(path, (await send('GET', path)).text);
        assert.equal((await send('DELETE', created.body.uri)).status, 204);
      }
      await refused('POST', '/api_keys', { scopes: planted.plant('token as scopes') });
      await refused('POST', '/credentials', { acl: { rule: planted.plant('token as acl') } });
    });

    test('failed authentication', async () => {
      for (const [at, authorization] of ['Bearer $', 'Basic $', '$', 'Bearer $ x', 'Token token=$'].entries()) {
        const headers = { authorization: authorization.replace('$', planted.plant(`Authorization ${at}`)) };
        for (const path of ['/tunnels', '/metrics', '/nowhere'])
          await refused('GET', path, undefined, { key: null, headers });
      }
    });

    test('bodies, queries and headers that cannot be parsed', async () => {
      await refused('POST', '/ip_policies', undefined, {
        rawBody: `{"description": "${planted.plant('invalid JSON')}`,
      });
      await refused('POST', '/ip_policies', undefined, { rawBody: `"${planted.plant('a text as the body')}"` });
      await refused('POST', '/ip_policies', undefined, {
        rawBody: `{"__proto__": {"a": "${planted.plant('a prototype')}"}}`,
      });
      await refused('POST', '/ip_policies', undefined, {
        rawBody: `a=${planted.plant('a form')}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      await refused('POST', '/ip_policies', { metadata: planted.plant('a body too large').repeat(40_000) });
      await refused('GET', `/tunnels?token=${planted.plant('an unknown query parameter')}`);
      await refused('GET', `/tunnels?before_id=${planted.plant('a malformed cursor')}!`);
      await refused('GET', `/tunnels?limit=${planted.plant('a malformed limit')}`);
      await refused('GET', `/event_deliveries?state=${planted.plant('an unknown state')}`);
      await refused(
        'PATCH',
        `/ip_policies/${newId('ipp')}`,
        {},
        { headers: { 'if-match': planted.plant('a malformed If-Match') } },
      );
      await refused(
        'POST',
        '/ip_policies',
        {},
        { headers: { 'idempotency-key': `${planted.plant('a malformed Idempotency-Key')} x` } },
      );
      await refused('GET', '/tunnels', undefined, { version: planted.plant('a version') });
      const cookie = `session=${planted.plant('a cookie')}`;
      assert.equal((await send('GET', '/tunnels', undefined, { headers: { cookie } })).status, 200);
    });

    test('tokens of a login session', async () => {
      const now = new Date().toISOString();
      await feedLogin(world.store, newId('as'), {
        userId: newId('au'),
        userDoc: { created_at: now },
        lastActiveMs: Date.now(),
        doc: { created_at: now },
        secrets: { refresh_token: planted.plant('refresh token') },
      });
      planted.assertAbsentFrom('/app/sessions', (await send('GET', '/app/sessions')).text);
    });

    test('no rejection quotes one', () => {
      assert.ok(refusals.length > 60);
      for (const { status, text, headers } of refusals) {
        planted.assertAbsentFrom(`a ${status}: ${text.slice(0, 80)}`, `${text}\n${JSON.stringify([...headers])}`);
      }
    });

    test('no event contains one', async () => {
      const events = await world.store.events.list({ beforeId: null, limit: 10_000 });
      assert.ok(events.length >= 17, `only ${events.length} events`);
      planted.assertAbsentFrom('events', JSON.stringify(events));
      const verbs = new Set(events.map(({ type }) => type.slice(type.lastIndexOf('_') + 1)));
      assert.deepEqual([...verbs].sort(), ['created.v0', 'deleted.v0', 'updated.v0']);
    });

    test('neither metrics nor the documentation show one', async () => {
      for (const path of ['/metrics', '/openapi.json', '/docs', '/healthz']) {
        const { status, text } = await send('GET', path);
        assert.equal(status, 200);
        planted.assertAbsentFrom(path, text);
      }
    });

    test('the database, the data directory and a backup contain none', async () => {
      const tables = [];
      for (const { name } of currentSchema.tables)
        tables.push(JSON.stringify(await querySql(location, `SELECT * FROM ${name}`)));
      assert.ok(tables.join('').includes('hooks.example.com'), 'the dump shows what is no secret');
      planted.assertAbsentFrom('the tables', tables.join('\n'));
      for (const file of await readdir(world.dataDir, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        planted.assertAbsentFrom(file.name, await readFile(join(file.parentPath, file.name), 'latin1'));
      }
      const backups = await tempDir(cleanup);
      const passphrase = planted.plant('passphrase of a backup');
      for (const withKey of [undefined, { passphrase }]) {
        const file = join(backups, withKey === undefined ? 'without-key' : 'with-key');
        await backupStore({ source: location, file, ...(withKey && { withKey }) });
        const text = gunzipSync(await readFile(file)).toString('latin1');
        assert.ok(text.includes('hooks.example.com'), 'the backup shows what is no secret');
        planted.assertAbsentFrom(file, text);
      }
    });

    for (const { what, sabotage, repair, status, logs } of FAILURES[engine]) {
      test(`a ${status} response and its log lines contain none either: ${what}`, async () => {
        await querySql(location, sabotage);
        const secret = planted.plant(`oidc of a commit that failed: ${what}`);
        const body = { match_type: 'path_prefix', match: '/broken', oidc: { client_secret: secret } };
        const edge = (await send('GET', '/edges/https')).body.https_edges[0];
        const answer = await send('POST', `${edge.uri}/routes`, body, {
          headers: { 'idempotency-key': planted.plant(`Idempotency-Key of a commit that failed: ${what}`) },
        });
        await querySql(location, repair);
        assert.equal(answer.status, status, answer.text);
        planted.assertAbsentFrom('the answer', answer.text);
        const id = answer.body.details.operation_id;
        const lines = world.logLines.filter((line) => line.includes(id) && line.includes(`"${logs}"`));
        assert.equal(lines.length, 1, `lines about it: ${lines.length}`);
        planted.assertAbsentFrom('its log line', lines.join(''));
      });
    }

    test('no log line contains one, from the start on, at level trace', () => {
      assert.ok(world.logLines.length > refusals.length + 20, `only ${world.logLines.length} lines`);
      planted.assertAbsentFrom('the log', world.logLines.join(''));
      assert.ok(planted.count > 50, `only ${planted.count} planted`);
    });
  });
}

/** The test server uses trust authentication, so any password works. */
async function openDatabase(password: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const database = await freshDatabase(startedServer());
  const url = new URL(database.url);
  url.password = password;
  return { url: url.href, drop: () => database.drop() };
}

/** A line from the middle of a PEM: the lines around it are not secret. */
function lineOf(pem: string): string {
  const line = pem.trim().split('\n')[1];
  assert.ok(line !== undefined && line.length > 40);
  return line.slice(-40);
}
