import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { TEST_USERS } from '../../tools/dev-idp/test-users.ts';
import { openWebSocket } from '../support/edge-websocket.ts';
import type { Site } from '../support/edge-world.ts';
import { logIn } from '../support/identity-provider.ts';
import { LoginWorld } from '../support/login-world.ts';

const world = await LoginWorld.open(
  { after },
  { provider: { accessTokenTtlS: 60, refreshTokens: 'always' }, env: { POSTERN_LOG_LEVEL: 'info' } },
);
new WebSocketServer({ server: world.upstream }).on('connection', (socket) =>
  socket.on('message', (data) => socket.send(data)),
);

const ALICE = { emails: ['alice@example.com'] };

async function siteWith(access: object, login: object = {}): Promise<Site> {
  const site = await world.site(login as Record<string, unknown>);
  await allow(site, access);
  return site;
}

async function allow(site: Site, access: object): Promise<void> {
  await world.edge.api('PUT', `${site.routePath}/access`, access);
}

/** Resolves when the socket has closed; fails after two seconds, twice what is promised. */
async function closed(socket: WebSocket): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  const gone = new Promise<'closed'>((resolve) => socket.once('close', () => resolve('closed')));
  assert.equal(await Promise.race([gone, sleep(2000, 'still open' as const, { ref: false })]), 'closed');
}

async function echoed(socket: WebSocket): Promise<void> {
  const answer = new Promise<string>((resolve) => socket.once('message', (data: Buffer) => resolve(data.toString())));
  socket.send('hello');
  assert.equal(await answer, 'hello');
}

/** The log line of the last request with this path. */
function lineOf(path: string): Readonly<Record<string, unknown>> {
  const lines = world.edge.world.logLines.map((line) => JSON.parse(line)).filter((line) => line.path === path);
  return lines.at(-1) ?? {};
}

async function decisions(decision: string): Promise<number> {
  const line = new RegExp(`^postern_access_decisions_total\\{decision="${decision}"\\} (\\d+)$`, 'm');
  return Number(line.exec(await world.edge.metrics())?.[1] ?? 0);
}

suite('a logged-in visitor whom the rules do not let in', async () => {
  const site = await siteWith({ allow: [ALICE], deny: [{ claims: { groups: ['banned'] } }] });
  const bob = world.browser();

  test('gets a page that says who they are, and how to switch account', async () => {
    const page = await bob.logIn(site.host, '/secret', 'bob');
    assert.equal(page.status, 403);
    assert.equal(page.headers['postern-error-code'], 'ERR_POSTERN_ACCESS_DENIED');
    assert.match(page.text, /<h1>This account may not enter<\/h1>/);
    assert.match(page.text, /You are logged in as bob@example\.com\./);
    assert.match(page.text, /<a class="button" href="\/\.postern\/[^"]*">Switch account<\/a>/);
    assert.doesNotMatch(page.text, /alice|allow\[|deny\[/);
  });

  test('gets JSON with the reason when it is a program', async () => {
    const answer = await bob.ask(site.host, '/secret.json');
    const { error_code: code, details } = JSON.parse(answer.text);
    assert.equal(answer.status, 403);
    assert.equal(code, 'ERR_POSTERN_ACCESS_DENIED');
    assert.deepEqual(
      { ...details, request_id: '' },
      { reason: 'no_rule', account: 'bob@example.com', kind: 'user', request_id: '' },
    );
  });

  test('is in the log with the rule, and in the metrics', async () => {
    const before = await decisions('refuse');
    await bob.ask(site.host, '/logged');
    const { access, access_rule: rule, refused_by: by, auth_kind: kind, user } = lineOf('/logged');
    assert.deepEqual([access, rule, by, kind], ['refused', 'none', 'access:no_rule', 'user']);
    assert.match(String(user), /^au_/);
    assert.equal((await decisions('refuse')) - before, 1);
  });

  test('switches account, and comes back to the requested page', async () => {
    const page = await bob.open(site.host, '/secret?a=1');
    const href = /href="([^"]+)">Switch account/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const { url } = await bob.upToProvider(site.host, href);
    assert.match(url?.searchParams.get('prompt') ?? '', /^(login|select_account)$/);
    // The provider knows the browser as Bob, and asks nevertheless.
    const callback = await logIn(world.provider, url as URL, 'alice', bob.jar);
    const { page: entered } = await bob.upToProvider(site.host, `${callback.pathname}${callback.search}`);
    assert.deepEqual([entered.status, JSON.parse(entered.text).url], [200, '/secret?a=1']);
    assert.equal(JSON.parse(entered.text).headers['postern-auth-user-email'], 'alice@example.com');
  });

  test('cannot become somebody else by headers', async () => {
    const other = world.browser();
    await other.logIn(site.host, '/', 'bob');
    const headers = {
      'postern-auth-user-id': 'au_1',
      'postern-auth-user-email': 'alice@example.com',
      'postern-auth-kind': 'service_account',
      'postern-auth-claims': Buffer.from('{"email":"alice@example.com"}').toString('base64url'),
      'x-forwarded-email': 'alice@example.com',
    };
    assert.equal((await other.ask(site.host, '/', { headers })).status, 403);
  });
});

suite('a rehearsal', async () => {
  const site = await siteWith({ enforce: false, allow: [ALICE], deny: [{ claims: { groups: ['admins'] } }] });

  test('lets everybody pass, and says in the log and the metrics which rule would have refused', async () => {
    const before = [await decisions('would_refuse'), await decisions('refuse')];
    const [alice, bob] = [world.browser(), world.browser()];
    assert.equal((await alice.logIn(site.host, '/rehearsed-alice', 'alice')).status, 200);
    assert.equal((await bob.logIn(site.host, '/rehearsed-bob', 'bob')).status, 200);
    const facts = ({ access, access_rule: rule, status, refused_by: by }: Readonly<Record<string, unknown>>) => [
      access,
      rule,
      status,
      by,
    ];
    assert.deepEqual(facts(lineOf('/rehearsed-alice')), ['would_refuse', 'deny[0]', 200, undefined]);
    assert.deepEqual(facts(lineOf('/rehearsed-bob')), ['would_refuse', 'none', 200, undefined]);
    assert.deepEqual([await decisions('would_refuse'), await decisions('refuse')], [(before[0] ?? 0) + 2, before[1]]);
  });

  test('enforced later, refuses whom it said', async () => {
    const bob = world.browser();
    await bob.logIn(site.host, '/', 'bob');
    const socket = await openWebSocket(world, bob, site.host);
    await echoed(socket);
    await allow(site, { enforce: true, allow: [ALICE] });
    await closed(socket);
    assert.equal((await bob.open(site.host)).status, 403);
  });
});

suite('a running stream', async () => {
  test('is cut within a second of a rule that refuses it, and not by one that does not', async () => {
    const site = await siteWith({ allow: [{ claims: { groups: ['staff'] } }] });
    const [alice, bob] = [world.browser(), world.browser()];
    await alice.logIn(site.host, '/', 'alice');
    await bob.logIn(site.host, '/', 'bob');
    const [hers, his] = [await openWebSocket(world, alice, site.host), await openWebSocket(world, bob, site.host)];
    await allow(site, { allow: [{ claims: { groups: ['staff'] } }], deny: [{ emails: ['BOB@example.com'] }] });
    await closed(his);
    await echoed(hers);
    await world.edge.api('DELETE', `${site.routePath}/access`);
    await echoed(hers);
    hers.terminate();
  });

  test('is cut when a claim changes at a refresh', async () => {
    const site = await siteWith({ allow: [{ claims: { groups: ['admins'] } }] });
    const alice = world.browser();
    await alice.logIn(site.host, '/', 'alice');
    const socket = await openWebSocket(world, alice, site.host);
    await echoed(socket);
    world.provider.setUsers(TEST_USERS.map((user) => ({ ...user, claims: { ...user.claims, groups: ['staff'] } })));
    world.clock.advance(70);
    try {
      assert.equal((await alice.open(site.host)).status, 403);
      await closed(socket);
    } finally {
      world.provider.setUsers(TEST_USERS);
      world.clock.reset();
    }
  });
});

suite('a request with a token that is not valid', async () => {
  const site = await siteWith({ allow: [ALICE] });

  test('is counted as refused, and in a rehearsal as one that would be', async () => {
    const headers = { authorization: `Bearer pst_${'x'.repeat(43)}` };
    const [refused, rehearsed] = [await decisions('refuse'), await decisions('would_refuse')];
    assert.equal(await world.edge.status(site.host, '/', { headers }), 401);
    assert.equal(await decisions('refuse'), refused + 1);
    const open = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress));
    await allow(open, { allow: [ALICE], enforce: false });
    assert.equal(await world.edge.status(open.host, '/', { headers }), 200);
    assert.deepEqual([await decisions('refuse'), await decisions('would_refuse')], [refused + 1, rehearsed + 1]);
  });
});

suite('a request without a login', async () => {
  test('gets 403 with a clear message where no login module is', async () => {
    const site = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress));
    await allow(site, { allow: [ALICE] });
    const page = await world.browser().open(site.host, '/nobody');
    assert.equal(page.status, 403);
    assert.equal(page.headers['postern-error-code'], 'ERR_POSTERN_ACCESS_LOGIN_NEEDED');
    assert.match(page.text, /It has no login for people/);
    await allow(site, { allow: [ALICE], enforce: false });
    assert.equal((await world.browser().open(site.host, '/nobody')).status, 200);
    assert.equal(lineOf('/nobody')['access_rule'], 'none');
  });

  test('goes to the login before the rules are asked, also in a rehearsal', async () => {
    const site = await siteWith({ enforce: false });
    assert.equal((await world.browser().open(site.host)).status, 302);
  });

  test('passes as OPTIONS where the login lets it, without identity headers', async () => {
    const site = await siteWith({ allow: [ALICE] }, { options_passthrough: true });
    const answer = await world.edge.ask(site.host, '/', {
      method: 'OPTIONS',
      headers: { 'postern-auth-user-email': 'alice@example.com' },
    });
    assert.equal(answer.status, 200);
    const names = Object.keys(JSON.parse(answer.text).headers);
    assert.deepEqual(
      names.filter((name) => name.startsWith('postern-auth')),
      [],
    );
  });
});
