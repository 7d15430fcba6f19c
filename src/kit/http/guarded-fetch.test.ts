import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcp, type LookupFunction, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { FetchProblem, type FetchProblemReason } from './fetch-problem.ts';
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';

const LIMITS: GuardedFetchOptions = {
  isAddressAllowed: () => true,
  isPlainHttpAllowed: () => true,
};

test('sends method, headers and body, and returns the response like fetch', async (t) => {
  const origin = await serve(t, (request, response) => {
    const { 'accept-encoding': encoding, connection, authorization } = request.headers;
    response.writeHead(201, { 'x-twice': ['a', 'b'], 'content-type': 'application/json' });
    const { method, url } = request;
    void text(request).then((body) => {
      response.end(JSON.stringify({ method, url, body, encoding, connection, authorization }));
    });
  });
  const answer = await createGuardedFetch(LIMITS)(`${origin}/token?a=b`, {
    method: 'POST',
    headers: { authorization: 'Basic eA==', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ code: 'ä b' }),
  });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get('x-twice'), 'a, b');
  assert.deepEqual(await answer.json(), {
    method: 'POST',
    url: '/token?a=b',
    body: 'code=%C3%A4+b',
    connection: 'close',
    authorization: 'Basic eA==',
  });
});

test('returns statuses without a body', async (t) => {
  const origin = await serve(t, (_request, response) => response.writeHead(204).end());
  assert.equal((await createGuardedFetch(LIMITS)(origin)).status, 204);
});

test('returns a redirect and never follows it', async (t) => {
  let asked = 0;
  const origin = await serve(t, (_request, response) => {
    asked += 1;
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const answer = await createGuardedFetch(LIMITS)(origin);
  assert.deepEqual([answer.status, answer.headers.get('location'), asked], [302, '/elsewhere', 1]);
});

test('accepts a response of exactly the limit, and rejects one byte more, announced or not', async (t) => {
  const origin = await serve(t, (request, response) => {
    const size = Number(new URL(request.url ?? '', 'http://x').searchParams.get('size'));
    if (request.url?.startsWith('/announced') === true) response.setHeader('content-length', size);
    response.end(Buffer.alloc(size));
  });
  const fetch = createGuardedFetch({ ...LIMITS, maxBytes: 1_000_000 });
  for (const kind of ['announced', 'chunked']) {
    assert.equal((await (await fetch(`${origin}/${kind}?size=1000000`)).arrayBuffer()).byteLength, 1_000_000);
    await refused(fetch(`${origin}/${kind}?size=1000001`), 'too_large');
  }
});

test('cuts off an endless response with its connection', async (t) => {
  const closed = Promise.withResolvers<void>();
  const origin = await serve(t, (_request, response) => {
    response.on('close', closed.resolve);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });
  await refused(createGuardedFetch(LIMITS)(origin), 'too_large');
  await closed.promise;
});

test('rejects a response in tiny chunks, which would cost much more memory and time than their bytes', async (t) => {
  const origin = await serveRaw(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunks = '1\r\nA\r\n'.repeat(1000);
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunks));
    };
    socket.on('drain', more);
    more();
  });
  // Below the limit of bytes.
  await refused(createGuardedFetch({ ...LIMITS, maxBytes: 100_000_000 })(origin), 'too_large');
});

test('accepts a response in many small chunks', async (t) => {
  const origin = await serve(t, (_request, response) => {
    for (let count = 0; count < 2000; count += 1) response.write('ab');
    response.end();
  });
  assert.equal((await (await createGuardedFetch(LIMITS)(origin)).text()).length, 4000);
});

test('rejects an endless head as too large', async (t) => {
  const origin = await serveRaw(t, (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`));
  await refused(createGuardedFetch(LIMITS)(origin), 'too_large');
});

for (const [name, drip] of [
  ['the body', ['HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n', 'x']],
  ['the head', ['HTTP/1.1 200 OK\r\nx-slow: ', 'y']],
  ['informational answers', ['', 'HTTP/1.1 103 Early Hints\r\n\r\n']],
] as const) {
  test(`applies the timeout to the whole request: a server that trickles ${name} does not extend it`, async (t) => {
    const closed = Promise.withResolvers<void>();
    const origin = await serveRaw(t, (socket) => {
      socket.write(drip[0]);
      const timer = setInterval(() => socket.write(drip[1]), 10);
      socket.on('close', () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    await refused(createGuardedFetch({ ...LIMITS, timeoutMs: 150 })(origin), 'timeout');
    await closed.promise;
  });
}

test('rejects a flood of informational answers, which has no end of its own', async (t) => {
  const closed = Promise.withResolvers<void>();
  const origin = await serveRaw(t, (socket) => {
    socket.on('close', () => closed.resolve());
    const answers = 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(1000);
    const more = (): void => {
      while (!socket.destroyed && socket.write(answers));
    };
    socket.on('drain', more);
    more();
  });
  await refused(createGuardedFetch(LIMITS)(origin), 'too_large');
  await closed.promise;
});

test('accepts a few informational answers', async (t) => {
  const origin = await serve(t, (_request, response) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end('ok');
  });
  assert.equal(await (await createGuardedFetch(LIMITS)(origin)).text(), 'ok');
});

test('does not wait for a response after a switch of protocols', async (t) => {
  const closed = Promise.withResolvers<void>();
  const origin = await serveRaw(t, (socket) => {
    socket.on('close', () => closed.resolve());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
  });
  await refused(createGuardedFetch(LIMITS)(origin), 'unreachable');
  await closed.promise;
});

test('times out on silence after connecting, and on a name that never resolves', async (t) => {
  const origin = await serveRaw(t, () => {});
  await refused(createGuardedFetch({ ...LIMITS, timeoutMs: 100 })(origin), 'timeout');
  await refused(createGuardedFetch({ ...LIMITS, timeoutMs: 100, lookup: () => {} })('https://idp.example/'), 'timeout');
});

test('aborts before and during the wait', async (t) => {
  const aborter = new AbortController();
  const origin = await serveRaw(t, () => aborter.abort());
  const fetch = createGuardedFetch(LIMITS);
  await refused(fetch(origin, { signal: aborter.signal }), 'timeout');
  await refused(fetch(origin, { signal: aborter.signal }), 'timeout');
});

test('allows plain http only where configured, and no other scheme', async (t) => {
  const origin = await serve(t, (_request, response) => response.end());
  const fetch = createGuardedFetch({ ...LIMITS, isPlainHttpAllowed: (hostname) => hostname === 'localhost' });
  await refused(fetch(`${origin}/x?secret=1`), 'plain_http');
  assert.equal((await fetch(origin.replace('127.0.0.1', 'localhost'))).status, 200);
  await refused(fetch('file:///etc/passwd'), 'plain_http');
  await refused(fetch('data:text/plain,x'), 'plain_http');
});

test('rejects addresses in every spelling', async () => {
  const fetch = createGuardedFetch({ ...LIMITS, isAddressAllowed: (ip) => ip !== '169.254.169.254' });
  for (const host of [
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '169。254。169。254',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[0:0:0:0:0:ffff:a9fe:a9fe]',
  ]) {
    await refused(fetch(`https://${host}/latest`), 'address_refused');
  }
});

test('checks the address with its port', async (t) => {
  const origin = await serve(t, (_request, response) => response.end());
  const asked: [string, number][] = [];
  const isAddressAllowed = (ip: string, port: number): boolean => {
    asked.push([ip, port]);
    return true;
  };
  const port = Number(new URL(origin).port);
  const fetch = createGuardedFetch({ ...LIMITS, isAddressAllowed, lookup: resolvingTo(() => ['::ffff:127.0.0.1']) });
  await fetch(origin);
  await fetch(origin.replace('127.0.0.1', 'idp.example'));
  assert.deepEqual(asked, [
    ['127.0.0.1', port],
    ['127.0.0.1', port],
  ]);
  const notThere = createGuardedFetch({ ...LIMITS, isAddressAllowed: (_ip, asked) => asked !== 443 && asked !== 80 });
  await refused(notThere('https://127.0.0.1'), 'address_refused');
  await refused(notThere('http://127.0.0.1'), 'address_refused');
});

test('refuses port 0, for which the runtime takes the port of the scheme', async () => {
  const fetch = createGuardedFetch({ ...LIMITS, isAddressAllowed: (_ip, port) => port === 0 });
  await refused(fetch('http://127.0.0.1:0/'), 'address_refused');
  await refused(fetch('https://idp.example:0/'), 'address_refused');
});

test('rejects a name that resolves to a good address first and a bad one later (DNS rebinding)', async (t) => {
  const origin = await serve(t, (_request, response) => response.end());
  const answers = ['127.0.0.1', '::ffff:169.254.169.254'];
  const fetch = createGuardedFetch({
    ...LIMITS,
    isAddressAllowed: (ip) => ip === '127.0.0.1',
    lookup: resolvingTo(() => [answers.shift() ?? '']),
  });
  const url = origin.replace('127.0.0.1', 'idp.example');
  assert.equal((await fetch(url)).status, 200);
  await refused(fetch(url), 'address_refused');
  assert.deepEqual(answers, [], 'each request resolves once, and connects to the checked address');
});

test('connects only to the allowed ones of several addresses', async (t) => {
  const origin = await serve(t, (_request, response) => response.end());
  const fetch = createGuardedFetch({
    ...LIMITS,
    isAddressAllowed: (ip) => ip === '127.0.0.1',
    lookup: resolvingTo(() => ['169.254.169.254', '127.0.0.1']),
  });
  assert.equal((await fetch(origin.replace('127.0.0.1', 'idp.example'))).status, 200);
});

for (const [name, raw] of [
  ['is not HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['breaks off', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
  ['breaks off between chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'],
  ['has a status that does not exist', 'HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'],
  ['is empty', ''],
] as const) {
  test(`reports a response that ${name} as unreachable`, async (t) => {
    const origin = await serveRaw(t, (socket) => socket.end(raw));
    await refused(createGuardedFetch(LIMITS)(origin), 'unreachable');
  });
}

test('reports a closed port and an unknown name as unreachable', async () => {
  await refused(createGuardedFetch(LIMITS)('http://127.0.0.1:1/'), 'unreachable');
  const lookup: LookupFunction = (_name, _options, callback) =>
    callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), '', 0);
  await refused(createGuardedFetch({ ...LIMITS, lookup })('https://idp.example/'), 'unreachable');
});

function resolvingTo(addresses: () => string[]): LookupFunction {
  return (_name, _options, callback) =>
    callback(
      null,
      addresses().map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
}

/** Checks the reason, and that the message names the server but neither query nor body. */
async function refused(attempt: Promise<Response>, reason: FetchProblemReason): Promise<void> {
  const problem: unknown = await attempt.then(
    (response) => `status ${response.status}`,
    (error: unknown) => error,
  );
  assert.ok(problem instanceof FetchProblem, String(problem));
  assert.equal(problem.reason, reason, problem.message);
  assert.ok(!problem.message.includes('secret') && !problem.message.includes('?'), problem.message);
  assert.equal(problem.cause, undefined);
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that reads the request's head and then runs `answer`. */
async function serveRaw(t: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcp((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
