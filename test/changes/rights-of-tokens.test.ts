import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { until } from '../support/cluster.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
const [SOON, LATER, LATEST] = [inDays(5), inDays(20), inDays(40)] as const;
const HELD = 'ERR_POSTERN_CHANGE_PENDING';

interface Needed {
  readonly account: string;
  readonly edge: string;
  readonly route: string;
}

/**
 * Rows of the last table of docs/reference/rights.md. `less` only takes rights away from `fields`; `more` gives some.
 */
interface Row {
  readonly path: string;
  readonly fields: (needed: Needed) => object;
  readonly less: object | null;
  /** Less than `less`, which a change that waits has done already. Default: the same. */
  readonly lesser?: object;
  readonly more: object;
  /** What is made below it. */
  readonly below?: (id: string) => readonly [string, object];
  /** Beside the write scope of the path. */
  readonly scopes?: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    path: '/api_keys',
    fields: () => ({ scopes: ['edges:read', 'edges:write'] }),
    less: { scopes: ['edges:read'] },
    more: { scopes: ['edges:read', 'edges:write', 'backends:read'] },
    scopes: ['edges:read', 'edges:write', 'backends:read'],
  },
  {
    path: '/credentials',
    fields: () => ({ acl: ['bind:a.example.com', 'bind:b.example.com'] }),
    less: { acl: ['bind:a.example.com'] },
    more: { acl: [] },
  },
  {
    path: '/agent_invitations',
    fields: () => ({ gateway: 'gateway.example.com:7444' }),
    less: null,
    more: { description: 'x' },
    scopes: ['credentials:write'],
  },
  {
    path: '/service_accounts',
    fields: () => ({ name: 'backup' }),
    less: { active: false },
    more: { name: 'other' },
    below: (id) => ['/service_account_tokens', { service_account_id: id }],
    scopes: ['service_account_tokens:write'],
  },
  {
    path: '/service_account_tokens',
    fields: ({ account }) => ({ service_account_id: account, expires_at: LATER }),
    less: { expires_at: SOON },
    more: { expires_at: LATEST },
  },
  {
    path: '/oidc_clients',
    fields: () => ({ name: 'Wiki', redirect_uris: ['https://wiki.example.com/cb'], allow_groups: ['a', 'b'] }),
    less: { allow_groups: ['a'] },
    lesser: { allow_groups: [] },
    more: { redirect_uris: ['https://evil.example.com/cb'] },
  },
  {
    path: '/guest_links',
    fields: ({ edge, route }) => ({ edge_id: edge, route_id: route, expires_at: LATER, max_browsers: 2 }),
    less: { max_browsers: 1 },
    more: { expires_at: LATEST },
  },
];

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`tokens, links and clients while a change waits, on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const env = {
      POSTERN_IDENTITY_HOST: 'id.example.com',
      POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
      POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
    };
    const options = { env, ...(databaseUrl !== undefined && { databaseUrl }) };
    const world = await TestWorld.open({ after }, options);
    const other = databaseUrl === undefined ? world : await TestWorld.open({ after }, options);
    const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const settled = async (): Promise<void> => {
      const pending = async () => (await ok('GET', '/changes?limit=1')).body.pending;
      const waiting = await pending();
      if (waiting !== null) await world.api('POST', `/changes/${waiting.revision}/revert`, {});
      await until('no change waits', async () => (await pending()) === null);
    };
    const waits = async (method: string, path: string, body: object) =>
      (await ok('POST', '/changesets', { operations: [{ method, path, body }], confirm_within: '1h' })).body;
    const edge = (await ok('POST', '/edges/https', { hostports: ['app.example.com:443'] })).body.id;
    const route = { match: '/', match_type: 'path_prefix' };
    const needed: Needed = {
      account: (await ok('POST', '/service_accounts', { name: 'program' })).body.id,
      edge,
      route: (await ok('POST', `/edges/https/${edge}/routes`, route)).body.id,
    };

    for (const { path, fields, less, lesser = less, more, below, scopes = [] } of ROWS) {
      const isBeside = less !== null && Object.keys(more).every((name) => !Object.hasOwn(less, name));
      const scope = `${path.slice(1)}:write`;
      const { token: key } = (await ok('POST', '/api_keys', { scopes: [scope, ...scopes] })).body;
      const asks = async (method: string, at: string, body?: object): Promise<string> => {
        await other.server.replica.refresh();
        const { status, body: answer } = await other.api(method, at, body, { key });
        return status < 300 ? 'allowed' : (answer?.error_code ?? String(status));
      };
      const made = async (): Promise<string> => {
        await settled();
        return `${path}/${(await ok('POST', path, fields(needed))).body.id}`;
      };
      const created = async (): Promise<string> => {
        await settled();
        return `${path}/${(await waits('POST', path, fields(needed))).results[0].body.id}`;
      };

      test(`${path}: a key with ${[scope, ...scopes].join(', ')} does all while nothing waits`, async () => {
        const at = await made();
        const asked = [await asks('PATCH', at, more)];
        if (below !== undefined) asked.push(await asks('POST', ...below(at.slice(path.length + 1))));
        if (less !== null) asked.push(await asks('PATCH', at, less));
        asked.push(await asks('DELETE', at), await asks('POST', path, fields(needed)));
        assert.deepEqual(new Set(asked), new Set(['allowed']), asked.join());
      });

      test(`${path}: a change of it that waits holds off more, and never less`, async () => {
        const at = await made();
        await waits('PATCH', at, less ?? { description: 'waits' });
        assert.equal(await asks('PATCH', at, more), HELD);
        if (isBeside) assert.equal(await asks('PATCH', at, { ...more, ...lesser }), HELD, 'less and more');
        if (less !== null) assert.equal(await asks('PATCH', at, less), 'allowed');
        assert.equal(await asks('DELETE', at), 'allowed');
        await settled();
        assert.equal((await world.api('GET', at)).status, 404);
      });

      test(`${path}: its creation that waits holds off more and all below it, and never less`, async () => {
        const at = await created();
        assert.equal(await asks('PATCH', at, more), HELD);
        if (isBeside) assert.equal(await asks('PATCH', at, { ...more, ...less }), HELD, 'less and more');
        if (below !== undefined) assert.equal(await asks('POST', ...below(at.slice(path.length + 1))), HELD);
        if (less !== null) assert.equal(await asks('PATCH', at, less), 'allowed');
        await settled();
        assert.equal((await world.api('GET', at)).status, 404, 'the revert takes the rest');
        assert.equal(await asks('DELETE', await created()), 'allowed');
        await settled();
      });

      test(`${path}: what was deleted does not come back`, async () => {
        const at = await made();
        const revision = (await ok('DELETE', at)).headers.get('postern-revision');
        const undone = await world.api('POST', `/changes/${revision}/undo`, { force: true });
        const isBack = (await world.api('GET', at)).status === 200;
        // An account of a program comes back, without its tokens.
        assert.equal(isBack, path === '/service_accounts', undone.text);
      });
    }
  });
}
