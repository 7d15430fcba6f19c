import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { until } from '../support/cluster.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const TYPE = { type: 'ip_policy_created.v0' };
const operation = (method: string, path: string, body?: object) => ({ method, path, ...(body && { body }) });
const at = (url: string) => ({ target: { webhook: { url } } });
const OURS = 'https://ours.example.com/hook';
const THEIRS = 'https://theirs.example.com/hook';

/** The rows of docs/internals/decisions/0051. */
for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`what a revert gives back on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs };
    const world = await TestWorld.open({ after }, { clock, ...(databaseUrl !== undefined && { databaseUrl }) });

    const ok = async (method: string, path: string, body?: object, key?: string): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body, key === undefined ? {} : { key });
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const waiting = (operations: readonly object[], key?: string): Promise<ApiAnswer> =>
      ok('POST', '/changesets', { operations, confirm_within: '24h' }, key);
    const refused = async (answer: Promise<ApiAnswer>, status = 409, code = 'CHANGE_PENDING') => {
      const { status: got, body } = await answer;
      assert.deepEqual([got, body?.error_code], [status, `ERR_POSTERN_${code}`], JSON.stringify(body));
    };
    const newest = async () => (await ok('GET', '/changes?limit=1')).body;
    const isOver = () => until('no change waits', async () => (await newest()).pending === null);
    const timePasses = () => {
      aheadMs += 86_400_001;
      return isOver();
    };
    const keyWith = async (...scopes: string[]): Promise<{ id: string; token: string }> =>
      (await ok('POST', '/api_keys', { scopes })).body;
    const events = ['event_subscriptions:write', 'event_destinations:write', 'changes:write'];
    const destination = async (url: string): Promise<string> =>
      (await ok('POST', '/event_destinations', at(url))).body.id;
    const subscription = async (...ids: string[]): Promise<string> =>
      (await ok('POST', '/event_subscriptions', { sources: [TYPE], destination_ids: ids })).body.id;
    const placeOf = async (id: string) => (await ok('GET', `/event_destinations/${id}`)).body.target.webhook.url;
    const typesOf = async (id: string) =>
      (await ok('GET', `/event_subscriptions/${id}`)).body.sources.map((each: typeof TYPE) => each.type);

    for (const [how, change] of [
      ['empties', (id: string) => operation('PATCH', `/event_subscriptions/${id}`, { sources: [] })],
      ['disconnects', (id: string) => operation('PATCH', `/event_subscriptions/${id}`, { destination_ids: [] })],
      ['deletes', (id: string) => operation('DELETE', `/event_subscriptions/${id}`)],
    ] as const) {
      test(`a change that ${how} a subscription does not let its destination move meanwhile`, async () => {
        const to = await destination(THEIRS);
        const earlier = await ok('PATCH', `/event_destinations/${to}`, at(OURS));
        const id = await subscription(to);
        const { token } = await keyWith(...events);
        const move = operation('PATCH', `/event_destinations/${to}`, at(THEIRS));
        const { revision } = (await waiting([change(id)], token)).body;
        await refused(world.api('PATCH', move.path, at(THEIRS), { key: token }));
        await refused(world.api('POST', '/changesets', { operations: [move] }, { key: token }));
        await refused(world.api('POST', '/changesets', { operations: [move], dry_run: true }, { key: token }));
        const undo = `/changes/${earlier.headers.get('postern-revision')}/undo`;
        await refused(world.api('POST', undo, { force: true }, { key: token }));
        // Also for one who may read the events: it would decide for the revert.
        await refused(world.api('PATCH', move.path, at(THEIRS)));
        // The author may not bring it back either: it must not add types that it cannot read.
        const withdraw = world.api('POST', `/changes/${revision}/revert`, {}, { key: token });
        await refused(withdraw, 403, 'FORBIDDEN');
        await timePasses();
        assert.deepEqual([await placeOf(to), await typesOf(id)], [OURS, [TYPE.type]]);
        await refused(world.api('PATCH', move.path, at(THEIRS), { key: token }), 403, 'FORBIDDEN');
        await ok('PATCH', move.path, at('https://moved.example.com'));
      });
    }

    test('a harmless address that waits gets no events, which would follow it back', async () => {
      const to = await destination(THEIRS);
      const other = await destination(OURS);
      const id = await subscription(other);
      const { token } = await keyWith('event_destinations:write');
      const wait = () => waiting([operation('PATCH', `/event_destinations/${to}`, at(OURS))], token);
      await wait();
      const body = { sources: [TYPE], destination_ids: [to] };
      await refused(world.api('POST', '/event_subscriptions', body));
      await refused(world.api('PATCH', `/event_subscriptions/${id}`, { destination_ids: [other, to] }));
      await timePasses();
      assert.equal(await placeOf(to), THEIRS);
      const { revision } = (await wait()).body;
      await ok('POST', `/changes/${revision}/confirm`, {});
      await ok('POST', '/event_subscriptions', body);
      await refused(world.api('PATCH', `/event_destinations/${to}`, at(THEIRS), { key: token }), 403, 'FORBIDDEN');
    });

    test('a key that may not read the queued events of a destination does not confirm its move', async () => {
      const to = await destination(OURS);
      const id = await subscription(to);
      await ok('POST', `/event_destinations/${to}/pause`);
      await ok('POST', '/ip_policies', {});
      await ok('PATCH', `/event_subscriptions/${id}`, { sources: [] });
      const { revision } = (await waiting([operation('PATCH', `/event_destinations/${to}`, at(THEIRS))])).body;
      const confirm = `/changes/${revision}/confirm`;
      const { token } = await keyWith('event_destinations:write', 'changes:write');
      await refused(world.api('POST', confirm, {}, { key: token }), 403, 'FORBIDDEN');
      const { token: reader } = await keyWith('event_destinations:write', 'changes:write', 'ip_policies:read');
      await ok('POST', confirm, {}, reader);
    });

    test('a change ends when its author loses a right that its content needs, and not when it loses another', async () => {
      const path = '/api_keys';
      const made = operation('POST', path, { scopes: ['edges:read', 'backends:read'] });
      const { id, token } = await keyWith('api_keys:write', 'edges:read', 'backends:read', 'ip_policies:read');
      const { results } = (await waiting([made], token)).body;
      await ok('PATCH', `${path}/${id}`, { scopes: ['api_keys:write', 'edges:read', 'backends:read'] });
      await ok('PATCH', `${path}/${id}`, { scopes: ['api_keys:write', 'edges:read'] });
      await isOver();
      assert.equal((await world.api('GET', `${path}/${results[0].body.id}`)).status, 404);
      const { changes } = (await ok('GET', '/changes?limit=2')).body;
      assert.match(changes[0].message, new RegExp(`${id}, lost the scope "backends:read"`));
      assert.notEqual(changes[1].author.operation_id, 'changes.revert');
    });

    test('and when its author may no longer read the secret header that it moved', async () => {
      const backend = (await ok('POST', '/backends/static', { address: 'ours.example.com:80' })).body.id;
      const edge = (await ok('POST', '/edges/https', { hostports: ['moved.example.com:443'] })).body.id;
      await ok('POST', `/edges/https/${edge}/routes`, {
        match: '/',
        match_type: 'path_prefix',
        backend: { backend_id: backend },
        request_headers: { add: { authorization: 'Bearer planted' } },
      });
      const { id, token } = await keyWith('backends:write', 'secrets:read');
      await waiting([operation('PATCH', `/backends/static/${backend}`, { address: 'theirs.example.com:80' })], token);
      await ok('PATCH', `/api_keys/${id}`, { scopes: ['backends:write'] });
      await isOver();
      assert.equal((await ok('GET', `/backends/static/${backend}`)).body.address, 'ours.example.com:80');
    });

    test('what moves no events goes on meanwhile', async () => {
      const to = await destination(OURS);
      const [id, second] = [await subscription(to), await subscription(to)];
      await waiting([operation('PATCH', `/event_subscriptions/${id}`, { sources: [] })]);
      await ok('POST', `/event_destinations/${to}/pause`);
      await ok('POST', `/event_destinations/${to}/resume`);
      await ok('PATCH', `/event_destinations/${to}`, { description: 'same place' });
      const third = await subscription(to);
      await timePasses();
      await waiting([operation('PATCH', `/event_destinations/${to}`, { description: 'other' })]);
      await ok('PATCH', `/event_subscriptions/${second}`, { sources: [] });
      await ok('DELETE', `/event_subscriptions/${third}`);
      await timePasses();
      assert.equal((await ok('GET', `/event_destinations/${to}`)).body.description, 'same place');
    });

    test('a destination does not move while somebody subscribes it, by whichever write is faster', async () => {
      const { token } = await keyWith('event_destinations:write');
      const revisionOf = ({ headers }: ApiAnswer): number => Number(headers.get('postern-revision'));
      const race = async (): Promise<void> => {
        const to = await destination(OURS);
        const [subscribed, moved] = await Promise.all([
          world.api('POST', '/event_subscriptions', { sources: [TYPE], destination_ids: [to] }),
          world.api('PATCH', `/event_destinations/${to}`, at(THEIRS), { key: token }),
        ]);
        assert.equal(subscribed.status, 201, subscribed.text);
        const isBefore = moved.status === 200 && revisionOf(moved) < revisionOf(subscribed);
        assert.ok(isBefore || moved.status === 403 || moved.status === 409, `${moved.status}: ${await placeOf(to)}`);
      };
      await Promise.all(Array.from({ length: 30 }, race));
    });

    test('an undo asks for the rights about queued events', async () => {
      const to = await destination(THEIRS);
      const moved = await ok('PATCH', `/event_destinations/${to}`, at(OURS));
      const id = await subscription(to);
      await ok('POST', `/event_destinations/${to}/pause`);
      await ok('POST', '/ip_policies', { description: 'queued' });
      await ok('PATCH', `/event_subscriptions/${id}`, { sources: [] });
      const undo = `/changes/${moved.headers.get('postern-revision')}/undo`;
      const { token } = await keyWith('event_destinations:write', 'changes:write');
      await refused(world.api('POST', undo, { force: true }, { key: token }), 403, 'FORBIDDEN');
      assert.equal(await placeOf(to), OURS);
      const reader = await keyWith('event_destinations:write', 'changes:write', 'ip_policies:read');
      await ok('POST', undo, { force: true }, reader.token);
    });

    for (const [how, revoke] of [
      ['is deleted', (id: string) => ok('DELETE', `/api_keys/${id}`)],
      ['loses the scope', (id: string) => ok('PATCH', `/api_keys/${id}`, { scopes: ['changes:write'] })],
    ] as const) {
      test(`a change is reverted at once when the key of its author ${how}, and a route is closed again`, async () => {
        const { id: edge } = (await ok('POST', '/edges/https', { hostports: [`${how.slice(-5)}.example.com:443`] }))
          .body;
        const routes = `/edges/https/${edge}/routes`;
        const rule = { match: '/', match_type: 'path_prefix', access: { allow: [{ emails: ['one@example.com'] }] } };
        const { id: route } = (await ok('POST', routes, rule)).body;
        const author = await keyWith('edges:write', 'changes:write');
        const { revision } = (await waiting([operation('DELETE', `${routes}/${route}/access`)], author.token)).body;
        await ok('POST', '/api_keys', { scopes: ['edges:read'] });
        assert.equal((await newest()).pending.revision, revision);
        await revoke(author.id);
        await isOver();
        assert.equal((await ok('GET', `${routes}/${route}/access`)).body.allow.length, 1);
        const { message } = (await newest()).changes[0];
        assert.match(message, new RegExp(`^revert of revision ${revision}: the API key that made it, ${author.id}, `));
      });
    }

    test('a change that narrows or deletes the key of its own author still waits', async () => {
      const author = await keyWith('api_keys:write', 'edges:write', 'ip_policies:write');
      const policy = operation('POST', '/ip_policies', {});
      const own = `/api_keys/${author.id}`;
      const change = [operation('PATCH', own, { scopes: ['edges:write'] }), policy];
      const { revision } = (await waiting(change, author.token)).body;
      await ok('POST', '/api_keys', { scopes: ['edges:read'] });
      assert.equal((await newest()).pending.revision, revision);
      await timePasses();
      assert.deepEqual((await ok('GET', own)).body.scopes, ['api_keys:write', 'edges:write', 'ip_policies:write']);
      await waiting([operation('DELETE', own), policy], author.token);
      await timePasses();
      const { message } = (await newest()).changes[0];
      assert.match(message, new RegExp(`nobody confirmed it in time. Revoked, and left alone: ${author.id}$`));
    });
  });
}
