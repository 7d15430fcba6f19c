import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { routeOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const upstream = await recordingUpstream({ after });
const site = await world.site();
const { host } = site;
await world.edge.api('PUT', `${site.routePath}/backend`, {
  backend_id: await world.edge.staticBackend(upstream.address),
});
const openRoute = await routeOf(world, site, '/open');
await world.edge.api('PUT', `${openRoute}/backend`, { backend_id: await world.edge.staticBackend(upstream.address) });
const browser = world.browser();
await browser.logIn(host);
const cookie = browser.jar.header(`${world.origin(host)}/`) ?? '';

const NAMES = ['User-Id', 'User-Email', 'User-Name', 'Claims', 'Assertion', 'Anything-Else'];
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => `Postern-Auth-${name}`,
  (name) => `postern-auth-${name}`.toLowerCase(),
  (name) => `POSTERN-AUTH-${name}`.toUpperCase(),
  (name) => `Postern_Auth_${name.replaceAll('-', '_')}`,
  (name) => `Postern-Auth_${name}`,
  (name) => `postern-auth-${name.replaceAll('-', '_')}`,
  (name) => `Postern.Auth.${name.replaceAll('-', '.')}`,
  (name) => `postern-auth-${name.replaceAll('-', '.')}`,
  (name) => `Postern~Auth~${name}`,
  (name) => `Ngrok-Auth-${name}`,
  (name) => `ngrok_auth_${name.replaceAll('-', '_')}`,
  (name) => `NGROK-AUTH-OIDC-${name}`,
];
const SPOOFED = SPELLINGS.flatMap((spell) => NAMES.map(spell));

/** What the upstream received under any name that could be read as one of ours, folded like CGI does. */
async function identitiesSeen(path: string, lines: readonly string[]): Promise<readonly [string, string][]> {
  upstream.forget();
  const socket = await world.edge.connect(host);
  const head = [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...lines];
  await rawExchange(socket, `${head.join('\r\n')}\r\n\r\n`);
  const seen = upstream.seen.at(-1);
  assert.ok(seen !== undefined, 'it got through');
  const pairs = seen.rawHeaders.flatMap((name, at) =>
    at % 2 === 0
      ? [[name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-'), seen.rawHeaders[at + 1] ?? ''] as [string, string]]
      : [],
  );
  return pairs.filter(([name]) => /^(postern|ngrok)-/.test(name) && name !== 'postern-request-id');
}

test("on a protected route the upstream gets each identity header once, with only the edge's value", async () => {
  for (const spell of SPELLINGS) {
    const twice = NAMES.map(spell).flatMap((name) => [`${name}: mallory`, `${name}: mallory2`]);
    const lines = [...twice, `Cookie: ${cookie}`, 'Connection: Postern-Auth-User-Id, Postern-Auth-Claims'];
    assertOurs(await identitiesSeen('/', lines));
  }
});

function assertOurs(seen: readonly [string, string][]): void {
  assert.deepEqual(seen.map(([name]) => name).toSorted(), [
    'postern-auth-assertion',
    'postern-auth-claims',
    'postern-auth-kind',
    'postern-auth-user-email',
    'postern-auth-user-id',
    'postern-auth-user-name',
  ]);
  assert.ok(!seen.some(([, value]) => value.includes('mallory')));
}

test('no spelling gets through, one by one, before and after the cookie', async () => {
  for (const name of SPOOFED) {
    const lines = [`${name}: mallory`, `Cookie: ${cookie}`, `${name}: mallory`];
    assertOurs(await identitiesSeen('/', lines));
  }
});

test('there is no identity on an open route of the same host, or on another host', async () => {
  const lines = [...SPOOFED.map((name) => `${name}: mallory`), `Cookie: ${cookie}`];
  assert.deepEqual(await identitiesSeen('/open', lines), []);
  assert.equal(upstream.seen.at(-1)?.headers['cookie'], undefined, 'nor are our cookies sent there');
});

test('a spoofed identity is not a login', async () => {
  upstream.forget();
  const headers = Object.fromEntries(SPOOFED.map((name) => [name, 'alice@example.com']));
  const answer = await world.edge.ask(host, '/', { headers });
  assert.equal(answer.status, 401);
  assert.deepEqual(upstream.seen, []);
});

test('nor in trailers', async () => {
  upstream.forget();
  const socket = await world.edge.connect(host);
  const head = [
    `POST / HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    'Transfer-Encoding: chunked',
    `Cookie: ${cookie}`,
  ];
  const trailers = SPOOFED.map((name) => `${name}: mallory\r\n`).join('');
  await rawExchange(socket, `${head.join('\r\n')}\r\n\r\n1\r\nx\r\n0\r\n${trailers}\r\n`);
  const seen = upstream.seen.at(-1);
  assert.equal(seen?.body, 'x');
  assert.doesNotMatch(seen?.rawTrailers.join() ?? '', /mallory/);
});
