import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { LookupFunction } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { publicAddressGuard } from '../../../../kit/net/cidr.ts';
import type { DestinationPorts, SendOutcome } from '../destination-kind.ts';
import { webhook } from './webhook.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const PREVIOUS = `whsec_${Buffer.from('fedcba9876543210fedcba9876543210').toString('base64')}`;
const NEVER = new AbortController().signal;
const MESSAGE = { id: 'ev_1', type: 'x.v0', body: '{"text":"ü"}' };

async function listen(t: TestContext, handler: RequestListener): Promise<number> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

function sender(t: TestContext, ports: Partial<DestinationPorts> = {}) {
  const made = webhook.createSender({
    clock: { nowMs: () => Date.now() },
    folder: '',
    fileLimits: { maxBytes: 0, maxFiles: 0 },
    timeoutMs: 1_000,
    isAddressAllowed: publicAddressGuard(['127.0.0.0/8']),
    ...ports,
  });
  t.after(() => made.close());
  return (url: string, config: object = {}, signal = NEVER): Promise<SendOutcome> =>
    made.send({ url, secret: SECRET, previous_secret: '', headers: {}, ...config }, MESSAGE, signal);
}

test('signs the sent body with both secrets', async (t) => {
  const seen: { headers: Record<string, string>; body: string }[] = [];
  const port = await listen(t, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      seen.push({ headers: request.headers as Record<string, string>, body });
      response.writeHead(200).end('thanks');
    });
  });
  const send = sender(t);
  const headers = { 'X-Tenant': 'blue', 'User-Agent': 'mine' };
  const outcome = await send(`http://127.0.0.1:${port}/a?b=c`, { previous_secret: PREVIOUS, headers });
  assert.deepEqual(outcome, { verdict: 'delivered', status: 200, error: null });
  const [request] = seen;
  assert.ok(request);
  for (const secret of [SECRET, PREVIOUS]) new Webhook(secret).verify(request.body, request.headers);
  const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  assert.throws(() => new Webhook(other).verify(request.body, request.headers));
  assert.throws(() => new Webhook(SECRET).verify(`${request.body} `, request.headers));
  assert.equal(request.headers['x-tenant'], 'blue');
  assert.equal(request.headers['content-type'], 'application/json');
  await send(`http://127.0.0.1:${port}/`);
  assert.equal(seen[1]?.headers['webhook-signature']?.split(' ').length, 1);
});

const STATUSES: readonly (readonly [number, SendOutcome['verdict']])[] = [
  [200, 'delivered'],
  [202, 'delivered'],
  [204, 'delivered'],
  [301, 'refused'],
  [307, 'refused'],
  [400, 'refused'],
  [401, 'refused'],
  [404, 'refused'],
  [408, 'wait'],
  [410, 'gone'],
  [422, 'refused'],
  [429, 'wait'],
  [500, 'wait'],
  [502, 'wait'],
  [503, 'wait'],
  [599, 'wait'],
];

test('maps statuses to outcomes and does not follow a redirect', async (t) => {
  let requests = 0;
  const port = await listen(t, (request, response) => {
    requests += 1;
    response.writeHead(Number(request.url?.slice(1)), { location: '/200' }).end();
  });
  const send = sender(t);
  for (const [status, verdict] of STATUSES) {
    const outcome = await send(`http://127.0.0.1:${port}/${status}`);
    assert.deepEqual([outcome.status, outcome.verdict], [status, verdict]);
  }
  assert.equal(requests, STATUSES.length);
});

test('reads Retry-After as seconds and as a date', async (t) => {
  const nowMs = Date.parse('2026-11-01T00:00:00Z');
  const answers = ['120', new Date(nowMs + 5_000).toUTCString(), new Date(0).toUTCString(), 'soon'];
  const port = await listen(t, (request, response) => {
    response.writeHead(429, { 'retry-after': answers[Number(request.url?.slice(1))] ?? '' }).end();
  });
  const send = sender(t, { clock: { nowMs: () => nowMs } });
  const asked = [];
  for (const at of answers.keys()) asked.push((await send(`http://127.0.0.1:${port}/${at}`)).retryAfterMs);
  assert.deepEqual(asked, [120_000, 5_000, 0, undefined]);
});

test('makes the lane wait on silence, resets, trickles and floods, but a flood after a 200 is a 200', async (t) => {
  const port = await listen(t, (request, response) => {
    if (request.url === '/reset') request.socket.resetAndDestroy();
    if (request.url === '/garbage') request.socket.end('nothing of HTTP\r\n\r\n');
    if (request.url === '/drip') {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    }
    if (request.url === '/flood') {
      response.writeHead(200);
      const write = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', write);
      response.on('error', () => {});
      write();
    }
  });
  const send = sender(t, { timeoutMs: 300 });
  const outcomes = await Promise.all(
    ['silence', 'reset', 'garbage', 'drip', 'flood'].map((path) => send(`http://127.0.0.1:${port}/${path}`)),
  );
  assert.deepEqual(
    outcomes.map(({ verdict }) => verdict),
    ['wait', 'wait', 'wait', 'wait', 'delivered'],
  );
  assert.match(outcomes[0]?.error ?? '', /no complete response within 300 ms/);
  const unused = await listen(t, () => {});
  assert.ok(unused > 0);
  const abort = new AbortController();
  const given = send(`http://127.0.0.1:${port}/silence`, {}, abort.signal);
  abort.abort();
  assert.equal((await given).verdict, 'wait');
});

/** Returns a public address first, then a private one: the checked address is not the one that would be dialled. */
function rebinding(): LookupFunction {
  let count = 0;
  return (_hostname, options, callback) => {
    count += 1;
    const address = count === 1 ? '192.0.2.1' : '127.0.0.1';
    if (options.all === true) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  };
}

const FORBIDDEN_URLS = [
  'http://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://[::1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://2130706433:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://0x7f.1:PORT/',
  'http://127.1:PORT/',
  'http://0.0.0.0:PORT/',
  'http://0:PORT/',
  'http://10.0.0.1:PORT/',
  'http://192.168.0.1:PORT/',
  'http://169.254.169.254/latest/meta-data/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[64:ff9b::7f00:1]:PORT/',
  'http://168.63.129.16/',
  'http://100.100.100.200/',
];

test('rejects internal addresses in every spelling with a reason, and sends nothing', async (t) => {
  let requests = 0;
  const port = await listen(t, (_request, response) => {
    requests += 1;
    response.end();
  });
  const send = sender(t, { isAddressAllowed: publicAddressGuard([]) });
  for (const url of FORBIDDEN_URLS) {
    const outcome = await send(url.replace('PORT', String(port)));
    assert.equal(outcome.verdict, 'wait', url);
    assert.match(outcome.error ?? '', /connections to the address \S+ are not allowed/, url);
  }
  const rebound = sender(t, { isAddressAllowed: publicAddressGuard([]), lookup: rebinding() });
  for (let tries = 0; tries < 2; tries += 1) {
    assert.match(
      (await rebound(`http://name.example.com:${port}/`)).error ?? '',
      /connections to the address \S+ are not allowed/,
    );
  }
  assert.equal(requests, 0);
});

test('rejects an untrusted certificate', async (t) => {
  const port = await listen(t, (_request, response) => response.end());
  const outcome = await sender(t)(`https://127.0.0.1:${port}/`);
  assert.deepEqual([outcome.verdict, outcome.status], ['wait', null]);
});
