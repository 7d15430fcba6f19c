import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import type { EdgeAnswer } from '../../support/edge-world.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, NAVIGATION, userIn } from './steps.ts';

const world = await LoginWorld.open({ after });
const { host } = await world.site();
const TARGET = '/page?a=1&b=%20c';

function assertForPrograms(answer: EdgeAnswer, to = TARGET): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.headers['location'], undefined);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  assert.equal(answer.headers['cache-control'], 'no-store');
  const { error_code, details } = JSON.parse(answer.text);
  assert.equal(error_code, 'ERR_POSTERN_LOGIN_REQUIRED');
  const url = new URL(details.login_url);
  assert.equal(`${url.host}${url.pathname}`, `${host}/.postern/login`);
  assert.equal(url.searchParams.get('to'), to);
  assert.equal(answer.headers['www-authenticate'], `Postern-Login realm="${host}", login_url="${details.login_url}"`);
}

const PEOPLE: Readonly<Record<string, object>> = {
  'a link': { ...NAVIGATION, 'sec-fetch-dest': 'document' },
  'a frame': { ...NAVIGATION, 'sec-fetch-dest': 'iframe' },
  'a navigation that accepts anything': { accept: '*/*', 'sec-fetch-mode': 'navigate' },
  'a browser without Fetch Metadata': { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
};
for (const [name, headers] of Object.entries(PEOPLE)) {
  test(`${name} gets 302 to the login`, async () => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await world.edge.ask(host, TARGET, { method, headers: { ...headers } });
      assertLoginWanted(answer);
      assert.equal(answer.headers['location'], `/.postern/login?to=${encodeURIComponent(TARGET)}`);
      assert.equal(answer.headers['cache-control'], 'no-store');
      if (method === 'HEAD') assert.equal(answer.text, '');
    }
  });
}

const PROGRAMS: Readonly<Record<string, object>> = {
  curl: { accept: '*/*' },
  'a program that says nothing': {},
  'fetch, cors': { accept: '*/*', 'sec-fetch-mode': 'cors' },
  'fetch, same-origin': { accept: '*/*', 'sec-fetch-mode': 'same-origin' },
  'an image': { accept: 'image/avif,*/*', 'sec-fetch-mode': 'no-cors' },
  'XMLHttpRequest of old': { accept: '*/*', 'x-requested-with': 'XMLHttpRequest' },
  'JSON wanted': { accept: 'application/json' },
  'an event source': { accept: 'text/event-stream', 'sec-fetch-mode': 'cors' },
};
for (const [name, headers] of Object.entries(PROGRAMS)) {
  test(`${name} gets 401 as JSON with the login address`, async () => {
    assertForPrograms(await world.edge.ask(host, TARGET, { headers: { ...headers } }));
    const head = await world.edge.ask(host, TARGET, { method: 'HEAD', headers: { ...headers } });
    assert.deepEqual([head.status, head.text], [401, '']);
  });
}

test('fetch of an HTML page is not a navigation: 401, not a redirect to another origin', async () => {
  const answer = await world.edge.ask(host, TARGET, { headers: { accept: 'text/html', 'sec-fetch-mode': 'cors' } });
  assert.equal(answer.status, 401);
  assert.equal(answer.headers['location'], undefined);
  assert.notEqual(answer.headers['www-authenticate'], undefined);
});

test('a WebSocket gets 401, even when it claims to be a navigation', async () => {
  for (const extra of ['', 'Sec-Fetch-Mode: navigate\r\nAccept: text/html\r\n']) {
    const socket = await world.edge.connect(host);
    const { statuses } = await rawExchange(
      socket,
      `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n${extra}\r\n`,
      { isEnough: (soFar) => soFar.includes('login_url') || soFar.includes('</html>') },
    );
    assert.deepEqual(statuses, [401]);
  }
});

test('gRPC over HTTP/2 gets 401, which its clients map to UNAUTHENTICATED', async () => {
  const answer = await overHttp2({
    ':method': 'POST',
    ':path': '/greeter.Greeter/SayHello',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  assert.equal(answer.status, 401);
  assert.equal(JSON.parse(answer.text).error_code, 'ERR_POSTERN_LOGIN_REQUIRED');
});

for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
  test(`${method} by a program gets 401, and its login leads to the start page: a redirect cannot repeat it`, async () => {
    const answer = await world.edge.ask(host, TARGET, { method, headers: { accept: '*/*' }, body: 'x' });
    assertForPrograms(answer, '/');
    assert.match(JSON.parse(answer.text).msg, new RegExp(`this ${method} request was not processed`));
  });
}

test('a form gets 401 as a page with an explanation and a link, not a silent GET', async () => {
  const answer = await world.edge.ask(host, TARGET, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'comment=long',
  });
  assert.equal(answer.status, 401);
  assert.match(String(answer.headers['content-type']), /^text\/html/);
  assert.match(answer.text, /this POST request was not processed/);
  assert.match(answer.text, /href="\/\.postern\/login\?to=%2F"/);
});

test('HTTP/2: cookies in one piece or in crumbs open the route, and none of them goes upstream', async () => {
  const browser = world.browser();
  await browser.logIn(host);
  browser.jar.store(world.origin(host), 'theirs=1; Path=/');
  browser.jar.store(world.origin(host), 'also=2; Path=/');
  const cookie = browser.jar.header(`${world.origin(host)}/`) ?? '';
  const crumbs = cookie.split('; ');
  assert.ok(crumbs.length >= 4);
  for (const sent of [cookie, crumbs, crumbs.toReversed()]) {
    const answer = await overHttp2({ ':path': '/', cookie: sent });
    assert.equal(userIn(answer), 'alice@example.com');
    const seen = JSON.parse(answer.text).headers.cookie as string;
    assert.deepEqual(seen.split('; ').toSorted(), ['also=2', 'theirs=1']);
  }
});

async function overHttp2(headers: Record<string, string | string[]>): Promise<EdgeAnswer> {
  const session = await world.edge.http2(host);
  const stream = session.request({ ':authority': host, ...headers });
  stream.end();
  const answered = await new Promise<Record<string, string | string[] | undefined>>((resolve, reject) => {
    stream.once('response', (each) => resolve(each as Record<string, string>));
    stream.once('error', reject);
  });
  const body = Buffer.concat(await stream.toArray());
  session.close();
  return { status: Number(answered[':status']), headers: answered, body, text: body.toString() };
}
