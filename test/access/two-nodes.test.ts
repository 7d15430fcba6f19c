import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws';
import { TEST_USERS } from '../../tools/dev-idp/test-users.ts';
import { openWebSocket } from '../support/edge-websocket.ts';
import { EdgeWorld, type Site } from '../support/edge-world.ts';
import { type Browser, LoginWorld } from '../support/login-world.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { GuestWorld } from './guests/guest-world.ts';
import { bearer, ProgramsWorld } from './programs-world.ts';

/** Two nodes on one PostgreSQL. Every change is written at the first; both serve a stream that it must end. */
const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
const provider = { accessTokenTtlS: 60, refreshTokens: 'always' } as const;
const here = await LoginWorld.open({ after }, { env, databaseUrl: database.url, provider });
const there = here.servedBy(await EdgeWorld.open({ after }, env, { databaseUrl: database.url, clock: here.clock }));
after(() => postgres.stop());
new WebSocketServer({ server: here.upstream }).on('connection', (socket) => socket.send('first'));
afterEach(() => {
  here.clock.reset();
  here.provider.setUsers(TEST_USERS);
});

const { edge } = here;
const guests = GuestWorld.over(here);
const programs = new ProgramsWorld(here);

/** Twice what is promised, for a machine that is busy. */
const LIMIT_MS = 2000;

/** Who has the streams, and what ends them. Resolves when the change is in effect at the first node. */
interface Case {
  readonly open: (world: LoginWorld) => Promise<WebSocket>;
  readonly end: () => Promise<unknown>;
  /** Status of a later request at either node. */
  readonly status: number;
  readonly ask: (world: LoginWorld) => Promise<number>;
}

const CASES: Readonly<Record<string, () => Promise<Case>>> = {
  'a rule about a person changes': async () => {
    const { site, ...person } = await personOn({ allow: [{ emails: ['alice@example.com'] }] });
    const deny = [{ emails: ['alice@example.com'] }];
    return { ...person, end: () => edge.api('PUT', `${site.routePath}/access`, { allow: deny, deny }), status: 403 };
  },
  'a claim changes at a refresh': async () => {
    const { site, browser, ...person } = await personOn({ allow: [{ claims: { groups: ['admins'] } }] });
    const end = async () => {
      here.provider.setUsers(TEST_USERS.map((user) => ({ ...user, claims: { ...user.claims, groups: ['staff'] } })));
      here.clock.advance(70);
      // This request refreshes the login.
      assert.equal((await browser.open(site.host)).status, 403);
    };
    return { ...person, end, status: 403 };
  },
  'a login reaches its maximum duration': async () => {
    const { site: _, ...person } = await personOn({ allow: [{ email_domains: ['example.com'] }] }, 3600);
    return { ...person, end: passes(3601), status: 302 };
  },
  'a token is deleted': async () => {
    const { tokenPath, ...program } = await programOn();
    return { ...program, end: () => edge.api('DELETE', tokenPath), status: 401 };
  },
  'a token expires': async () => {
    const expires = new Date(here.clock.nowMs() + 3_600_000).toISOString();
    return { ...(await programOn({ expires_at: expires })), end: passes(3600), status: 401 };
  },
  'an account is deactivated': async () => {
    const { accountPath, ...program } = await programOn();
    return { ...program, end: () => edge.api('PATCH', accountPath, { active: false }), status: 401 };
  },
  'a guest link is deleted': async () => {
    const { linkPath, ...guest } = await guestOn();
    return { ...guest, end: () => edge.api('DELETE', linkPath), status: 403 };
  },
  'a guest link expires': async () => ({ ...(await guestOn()), end: passes(4 * 86_400), status: 403 }),
};

for (const [what, make] of Object.entries(CASES)) {
  test(`when ${what}, the streams of both nodes are cut within a second`, async (t) => {
    const { open, end, status, ask } = await make();
    assert.deepEqual([await ask(here), await ask(there)], [200, 200]);
    const closings = [here, there].map(async (world) => closingOf(await open(world)));
    const sockets = await Promise.all(closings);
    await end();
    const fromMs = performance.now();
    const tookMs = await Promise.all(sockets.map(async (closed) => (await closed()) - fromMs));
    t.diagnostic(`cut after ${tookMs.map((ms) => ms.toFixed(0)).join(' and ')} ms`);
    assert.deepEqual([await ask(here), await ask(there)], [status, status]);
  });
}

test('either node shows a use of a token at the other', async () => {
  const { tokenPath, ask } = await programOn();
  assert.equal(await ask(there), 200);
  let lastUsed: string | null = null;
  while (lastUsed === null) lastUsed = (await edge.api('GET', tokenPath)).last_used_at;
  assert.ok(Math.abs(Date.parse(lastUsed) - here.clock.nowMs()) < 60_000);
});

/** When the socket closes; fails if it stays open. */
function closingOf(socket: WebSocket): () => Promise<number> {
  const gone = new Promise<number>((resolve) => socket.once('close', () => resolve(performance.now())));
  return async () => {
    const at = await Promise.race([gone, sleep(LIMIT_MS, null, { ref: false })]);
    assert.ok(at !== null, `the stream is still open after ${LIMIT_MS} ms`);
    return at;
  };
}

const passes = (seconds: number) => () => Promise.resolve(here.clock.advance(seconds));

function refreshed(): Promise<void> {
  return there.edge.world.server.replica.refresh();
}

async function personOn(access: object, maximumSeconds = 0) {
  const site = await here.site({ maximum_duration: maximumSeconds });
  await edge.api('PUT', `${site.routePath}/access`, access);
  await refreshed();
  const browser = here.browser();
  await browser.logIn(site.host);
  return { site, browser, ...visits(site, browser) };
}

async function guestOn() {
  const site = await guests.site();
  const link = await guests.invite(site);
  const browser = await guests.guest(link);
  await refreshed();
  return { linkPath: link.uri, ...visits(site, browser) };
}

function visits({ host }: Site, browser: Browser): Pick<Case, 'open' | 'ask'> {
  return {
    open: (world) => openWebSocket(world, browser.at(world), host),
    ask: async (world) => (await browser.at(world).open(host)).status,
  };
}

async function programOn(fields: object = {}) {
  const { accountId, tokenId, token } = await programs.program('two nodes', fields);
  const site = await programs.site({ allow: [{ service_accounts: [accountId] }] });
  await refreshed();
  const headers = { host: site.host, ...bearer(token) };
  return {
    accountPath: `/service_accounts/${accountId}`,
    tokenPath: `/service_account_tokens/${tokenId}`,
    open: async (world: LoginWorld) => {
      const options: ClientOptions & { readonly servername: string } = {
        servername: site.host,
        rejectUnauthorized: false,
        headers,
      };
      const socket = new WebSocket(`wss://127.0.0.1:${world.edge.port}/`, options);
      await once(socket, 'open');
      return socket;
    },
    ask: (world: LoginWorld) => world.edge.status(site.host, '/', { rejectUnauthorized: false, headers }),
  };
}
