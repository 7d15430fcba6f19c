import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { type Issued, issue } from '../edge/tls/test-authority.ts';
import { until } from '../support/cluster.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { firstOf } from '../support/share-of-cases.ts';
import { crl } from '../support/test-crl.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const operation = (method: string, path: string, body?: object) => ({ method, path, ...(body && { body }) });
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`a pending change does not hold off a revocation on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs };
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com' };
    const options = { clock, env, ...(databaseUrl !== undefined && { databaseUrl }) };
    const world = await TestWorld.open({ after }, options);
    const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const waiting = (...operations: object[]): Promise<ApiAnswer> =>
      ok('POST', '/changesets', { operations, confirm_within: '1h' });
    const created = async (path: string, body: object): Promise<string> => (await ok('POST', path, body)).body.id;
    const newest = async () => (await ok('GET', '/changes?limit=1')).body;
    const isOver = () => until('no change waits', async () => (await newest()).pending === null);
    const timePasses = () => {
      aheadMs += 3_600_001;
      return isOver();
    };
    const edge = await created('/edges/https', { hostports: ['app.example.com:443'] });
    const route = await created(`/edges/https/${edge}/routes`, { match: '/', match_type: 'path_prefix' });
    const account = await created('/service_accounts', { name: 'backup' });

    interface Kind {
      readonly path: string;
      readonly body: object;
      readonly less: object;
      /** Not a revocation: the pending change holds it off. */
      readonly more: object;
    }
    const kinds: readonly Kind[] = [
      {
        path: '/api_keys',
        body: { scopes: ['edges:read', 'edges:write'] },
        less: { scopes: ['edges:read'] },
        more: { scopes: ['edges:read', 'edges:write', 'backends:read'] },
      },
      {
        path: '/credentials',
        body: { acl: ['bind:a.example.com', 'bind:b.example.com'] },
        less: { acl: ['bind:a.example.com', 'configure:oidc'] },
        more: { acl: [] },
      },
      {
        path: '/guest_links',
        body: { edge_id: edge, route_id: route, expires_at: inDays(20), max_browsers: 5 },
        less: { max_browsers: 4, expires_at: inDays(10) },
        more: { max_browsers: 4, expires_at: inDays(30) },
      },
      {
        path: '/service_account_tokens',
        body: { service_account_id: account, expires_at: inDays(20) },
        less: { expires_at: inDays(1) },
        more: { expires_at: inDays(30) },
      },
      { path: '/service_accounts', body: { name: 'x' }, less: { active: false }, more: { name: 'y' } },
    ];

    // What is a revocation does not depend on the engine.
    const others = new Set(firstOf(kinds, 2));
    for (const kind of engine === 'sqlite' ? kinds : kinds.slice(0, 1)) {
      const { path, body, less, more } = kind;
      test(`about ${path}, which ends with it`, async () => {
        const [narrowed, deleted, kept] = [
          await created(path, body),
          await created(path, body),
          await created(path, body),
        ];
        const before = (await ok('GET', `${path}/${kept}`)).body;
        for (const [id, revoke] of [
          [narrowed, () => ok('PATCH', `${path}/${narrowed}`, less)],
          [deleted, () => ok('DELETE', `${path}/${deleted}`)],
        ] as const) {
          await waiting(operation('PATCH', `${path}/${id}`, { description: 'held' }));
          const refused = await world.api('PATCH', `${path}/${id}`, more);
          assert.deepEqual([refused.status, refused.body.error_code], [409, 'ERR_POSTERN_CHANGE_PENDING']);
          await revoke();
          await isOver();
          assert.match((await newest()).changes[0].message, new RegExp(`all that it changed was revoked.*${id}`));
        }
        // The rest of the change waits on, and comes back without it.
        const change = (id: string) => operation('PATCH', `${path}/${id}`, { description: 'trial' });
        const again = await created(path, body);
        const last = await created(path, body);
        const { revision } = (await waiting(change(again), change(kept), change(last))).body;
        await ok('POST', '/changesets', {
          operations: [operation('PATCH', `${path}/${again}`, less), operation('DELETE', `${path}/${last}`)],
        });
        // As the pending change left it, which is no reason to take it back.
        assert.equal((await newest()).pending.revision, revision);
        await timePasses();
        const { description, ...others } = (await ok('GET', `${path}/${again}`)).body;
        assert.equal(description, 'trial');
        for (const [name, value] of Object.entries(less)) assert.deepEqual(others[name], value, name);
        assert.deepEqual((await ok('GET', `${path}/${kept}`)).body, before);
        assert.equal((await world.api('GET', `${path}/${last}`)).status, 404);
        const { message } = (await newest()).changes[0];
        assert.ok(message.includes(again) && message.includes(last) && !message.includes(kept), message);
      });

      if (!others.has(kind)) continue;
      test(`about ${path} that repeats what the pending change did, which then stays`, async () => {
        const [repeated, kept] = [await created(path, body), await created(path, body)];
        const before = (await ok('GET', `${path}/${kept}`)).body;
        const narrow = (id: string) => operation('PATCH', `${path}/${id}`, less);
        const { revision } = (await waiting(narrow(repeated), narrow(kept))).body;
        await ok('PATCH', `${path}/${kept}`, { description: '' });
        await ok('POST', '/changesets', { operations: [narrow(repeated)], dry_run: true });
        await ok('PATCH', `${path}/${repeated}`, less);
        assert.equal((await newest()).pending.revision, revision);
        await timePasses();
        const now = (await ok('GET', `${path}/${repeated}`)).body;
        for (const [name, value] of Object.entries(less)) assert.deepEqual(now[name], value, name);
        assert.deepEqual((await ok('GET', `${path}/${kept}`)).body, before);
      });

      test(`about a new one of ${path}, which its revert still takes away`, async () => {
        const answer = await waiting(operation('POST', path, body), operation('POST', '/ip_policies', {}));
        const { id } = answer.body.results[0].body;
        await ok('PATCH', `${path}/${id}`, less);
        await timePasses();
        assert.equal((await world.api('GET', `${path}/${id}`)).status, 404);
      });
    }

    test('but a PATCH that states nothing that the change narrowed takes nothing out of it', async () => {
      const body = { email: `repeated@${engine}.example.com`, name: 'Ana', groups: ['a', 'b'] };
      const path = `/user_accounts/${await created('/user_accounts', body)}`;
      const narrowed = operation('PATCH', path, { groups: ['a'], description: 'trial' });
      const { revision } = (await waiting(narrowed, operation('POST', '/ip_policies', {}))).body;
      await ok('PATCH', path, { name: 'Ana', active: true, description: 'trial' });
      await ok('POST', `/changes/${revision}/revert`, {});
      assert.deepEqual((await ok('GET', path)).body.groups, ['a', 'b']);
    });

    test('of an author that has narrowed itself: who does the same ends the change', async () => {
      const scopes = ['api_keys:write', 'edges:write', 'ip_policies:write'];
      const { id, token } = (await ok('POST', '/api_keys', { scopes })).body;
      const less = { scopes: ['api_keys:write'] };
      const operations = [operation('PATCH', `/api_keys/${id}`, less), operation('POST', '/ip_policies', {})];
      assert.equal(
        (await world.api('POST', '/changesets', { operations, confirm_within: '24h' }, { key: token })).status,
        200,
      );
      await ok('PATCH', `/api_keys/${id}`, less);
      await isOver();
      assert.deepEqual((await ok('GET', `/api_keys/${id}`)).body.scopes, less.scopes);
    });

    if (engine === 'sqlite') {
      test('of the groups of a person, but not together with another name or address', async () => {
        const body = { email: 'ana@example.com', groups: ['a', 'b'] };
        const path = `/user_accounts/${await created('/user_accounts', body)}`;
        await waiting(operation('PATCH', path, { name: 'held' }));
        for (const beside of [{ name: 'Boss' }, { email: 'other@example.com' }]) {
          const { status } = await world.api('PATCH', path, { groups: ['a'], ...beside });
          assert.equal(status, 409, JSON.stringify(beside));
        }
        await ok('PATCH', path, { groups: ['a'], description: 'left the team' });
        await isOver();
      });

      test('of client certificates: only by lists that revoke all that was revoked, or by a stricter mode', async () => {
        const authority = await issue({ commonName: 'Staff CA', isCa: true });
        const leaf = (commonName: string): Promise<Issued> => issue({ commonName, issuer: authority });
        const [one, two] = [await leaf('one'), await leaf('two')];
        const list = async (number: number, fromMs: number, ...revoked: Issued[]): Promise<string> =>
          (await crl({ issuer: authority, number, fromMs, revoked })).pem;
        const present = await list(2, -3_600_000, one);
        const path = `/certificate_authorities/${await created('/certificate_authorities', {
          ca_pem: authority.certificatePem,
          crl_mode: 'soft',
          crl_pem: present,
        })}`;
        await waiting(operation('PATCH', path, { description: 'held' }));
        const further = await list(3, -60_000, one, two);
        const fewer = await list(4, -30_000, two);
        for (const [what, body] of Object.entries({
          'an older list': { crl_pem: await list(1, -7_200_000, one, two) },
          'a list without an earlier certificate': { crl_pem: fewer },
          'the same list, and a newer one with fewer': { crl_pem: `${present}${fewer}` },
          'no list': { crl_pem: '', crl_mode: 'off' },
          'a further list, and a weaker mode': { crl_pem: further, crl_mode: 'off' },
          'a further list, and another URL': { crl_pem: further, crl_url: 'https://crl.example.com/' },
        })) {
          assert.equal((await world.api('PATCH', path, body)).status, 409, what);
        }
        await ok('PATCH', path, { crl_pem: further });
        await isOver();
        await waiting(operation('PATCH', path, { description: 'held again' }));
        await ok('PATCH', path, { crl_mode: 'hard' });
        await isOver();
      });
    }

    test('but a repeated widening stays a trial', async () => {
      const id = await created('/api_keys', { scopes: ['edges:read'] });
      const wide = { scopes: ['edges:read', 'edges:write'] };
      await waiting(operation('PATCH', `/api_keys/${id}`, wide));
      await ok('PATCH', `/api_keys/${id}`, wide);
      await timePasses();
      assert.deepEqual((await ok('GET', `/api_keys/${id}`)).body.scopes, ['edges:read']);
    });

    test('with a stolen key that waits about itself, in a changeset that first widens another', async () => {
      const { id, token } = (await ok('POST', '/api_keys', { scopes: ['api_keys:write', 'edges:read'] })).body;
      const held = { operations: [operation('PATCH', `/api_keys/${id}`, { description: 'x' })], confirm_within: '24h' };
      assert.equal((await world.api('POST', '/changesets', held, { key: token })).status, 200);
      const widened = {
        operations: [
          operation('PATCH', `/api_keys/${id}`, { scopes: ['api_keys:write', 'edges:read', 'edges:write'] }),
          operation('PATCH', `/api_keys/${id}`, { scopes: ['edges:read', 'edges:write'] }),
        ],
      };
      assert.equal((await world.api('POST', '/changesets', widened)).status, 409);
      await ok('DELETE', `/api_keys/${id}`);
      assert.equal((await world.api('GET', '/edges/https', undefined, { key: token })).status, 401);
      await isOver();
    });

    test('of an account whose token it changed; but not of one that an earlier access rule names', async () => {
      const own = await created('/service_accounts', { name: 'own' });
      const token = await created('/service_account_tokens', { service_account_id: own });
      await waiting(operation('PATCH', `/service_account_tokens/${token}`, { description: 'x' }));
      await ok('DELETE', `/service_accounts/${own}`);
      await isOver();
      const named = await created('/service_accounts', { name: 'named' });
      const access = `/edges/https/${edge}/routes/${route}/access`;
      await ok('PUT', access, { allow: [{ service_accounts: [named] }] });
      await waiting(operation('DELETE', access));
      assert.equal((await world.api('DELETE', `/service_accounts/${named}`)).status, 409);
      await ok('PATCH', `/service_accounts/${named}`, { active: false });
      await timePasses();
      assert.equal((await ok('GET', access)).body.allow.length, 1);
      assert.equal((await ok('GET', `/service_accounts/${named}`)).body.active, false);
    });

    test('nor of one that it changed beside the access rule that names it: the rule could not come back', async () => {
      const named = await created('/service_accounts', { name: 'named' });
      const access = `/edges/https/${edge}/routes/${route}/access`;
      await ok('PUT', access, { allow: [{ service_accounts: [named] }] });
      const { id, token } = (await ok('POST', '/api_keys', { scopes: ['edges:write', 'service_accounts:write'] })).body;
      const change = operation('PATCH', `/service_accounts/${named}`, { description: 'x' });
      const opened = { operations: [change, operation('DELETE', access)], confirm_within: '24h' };
      assert.equal((await world.api('POST', '/changesets', opened, { key: token })).status, 200);
      const refused = await world.api('DELETE', `/service_accounts/${named}`);
      assert.deepEqual([refused.status, refused.body.error_code], [409, 'ERR_POSTERN_CHANGE_PENDING']);
      await ok('PATCH', `/service_accounts/${named}`, { active: false });
      assert.equal((await world.api('DELETE', `/service_accounts/${named}`)).status, 409);
      await ok('DELETE', `/api_keys/${id}`);
      await isOver();
      assert.equal((await ok('GET', access)).body.allow.length, 1);
      assert.equal((await ok('GET', `/service_accounts/${named}`)).body.active, false);
    });
  });
}
