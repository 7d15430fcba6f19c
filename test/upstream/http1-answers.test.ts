import assert from 'node:assert/strict';
import type { LookupFunction } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { answering, ask, assertNothingLeft, play, rawServer, upstreamTo } from './ask.ts';

after(assertNothingLeft);

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('a kept connection carries one request after the other', async () => {
  await using server = await answering(OK);
  await using given = upstreamTo(server.port);
  for (let i = 0; i < 5; i += 1) {
    const answer = await ask(given.upstream);
    assert.deepEqual([answer.head?.status, answer.body, answer.trailers], [200, 'ok', []]);
    assert.deepEqual(given.upstream.stats(), { idle: 1, active: 0 });
  }
  assert.equal(server.accepted(), 1);
});

test('keeps at most maxIdleConnections, uses the most recent first, and expires them', async () => {
  await using server = await answering(OK);
  await using given = upstreamTo(server.port, { limits: { maxIdleConnections: 2, keepAliveMs: 300 } });
  await Promise.all(Array.from({ length: 5 }, () => ask(given.upstream)));
  assert.equal(given.upstream.stats().idle, 2);
  await ask(given.upstream);
  assert.equal(server.accepted(), 5);
  while (given.upstream.stats().idle > 0 || server.sockets.size > 0) await sleep(5);
});

test("honors an upstream's announced keep-alive timeout", async () => {
  await using server = await answering(`HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n`);
  await using given = upstreamTo(server.port);
  await ask(given.upstream);
  assert.equal(given.upstream.stats().idle, 0, 'less than the margin is left');
});

test('writes the request as one head, in one piece with an available body', async () => {
  const seen: string[] = [];
  await using server = await rawServer((socket) => {
    socket.on('data', (bytes) => {
      seen.push(bytes.toString('latin1'));
      socket.write(OK);
    });
  });
  await using given = upstreamTo(server.port);
  await ask(given.upstream, {
    method: 'DELETE',
    target: '/a?b',
    headers: ['x-a', 'b', 'cookie', 'a=1', 'cookie', 'b=2'],
  });
  await ask(given.upstream, { method: 'POST', headers: ['te', 'trailers'] });
  assert.equal(seen[0], 'DELETE /a?b HTTP/1.1\r\nhost: app.test\r\nx-a: b\r\ncookie: a=1; b=2\r\n\r\n');
  assert.equal(
    seen[1],
    'POST / HTTP/1.1\r\nhost: app.test\r\nconnection: te\r\nte: trailers\r\ncontent-length: 0\r\n\r\n',
  );
});

test('throws at a request that could be split', async () => {
  await using server = await answering(OK);
  await using given = upstreamTo(server.port);
  const bad = [
    { target: '/ HTTP/1.1\r\nX: y' },
    { target: '/a b' },
    { target: '' },
    { target: '/\u010a' },
    { method: 'GET /x' },
    { method: 'CONNECT' },
    { authority: 'a\r\nb: c' },
    { headers: ['x', 'a\r\nb: c'] },
    { headers: ['x', 'a\nb'] },
    { headers: ['x', 'a\0'] },
    { headers: ['x', '\u010a'] },
    { headers: ['x\r\ny', 'a'] },
    { headers: ['x y', 'a'] },
    { headers: ['content-length', '5'] },
    { headers: ['Transfer-Encoding', 'chunked'] },
    { headers: ['connection', 'close'] },
    { headers: ['host', 'other'] },
    { switchTo: 'a\r\nb: c' },
  ];
  for (const parts of bad) assert.throws(() => void ask(given.upstream, parts), { name: 'UnsafeRequestError' });
  assert.deepEqual(given.upstream.stats(), { idle: 0, active: 0 });
});

const misbehaviour: Readonly<Record<string, { bytes: string; phase: string; reason: string }>> = {
  garbage: { bytes: 'SSH-2.0-OpenSSH\r\n', phase: 'head', reason: 'malformed' },
  'bare LF': { bytes: 'HTTP/1.1 200 OK\n\n', phase: 'head', reason: 'malformed' },
  'both lengths': {
    bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    phase: 'head',
    reason: 'malformed',
  },
  'giant headers': {
    bytes: `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(1 << 20)}\r\n\r\n`,
    phase: 'head',
    reason: 'headers_too_large',
  },
  'a flood of 1xx': { bytes: 'HTTP/1.1 102 X\r\n\r\n'.repeat(10_000), phase: 'head', reason: 'malformed' },
  'a bad chunk': {
    bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n',
    phase: 'body',
    reason: 'malformed',
  },
  '101 unasked': { bytes: 'HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n', phase: 'head', reason: 'malformed' },
};
for (const [name, { bytes, phase, reason }] of Object.entries(misbehaviour)) {
  test(`${name}: a failure, and the connection is closed`, async () => {
    await using server = await answering(bytes);
    await using given = upstreamTo(server.port);
    const { failure } = await ask(given.upstream);
    assert.deepEqual([failure?.phase, failure?.reason, failure?.mayHaveBeenSent], [phase, reason, true]);
    assert.equal(given.upstream.stats().idle, 0);
  });
}

test('closed before, within and after the head, and within the body', async () => {
  const cases = [
    ['', 'send'],
    ['HTTP/1.1 200 OK\r\nContent', 'head'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'body'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc', 'body'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', 'body'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n', 'body'],
    ['HTTP/1.1 100 Continue\r\n\r\n', 'head'],
  ] as const;
  for (const [bytes, phase] of cases) {
    for (const then of ['end', 'destroy'] as const) {
      await using server = await answering(bytes, then);
      await using given = upstreamTo(server.port);
      const { failure } = await ask(given.upstream, { method: 'POST' });
      assert.deepEqual([failure?.phase, failure?.mayHaveBeenSent], [phase, true], `${bytes} ${then}`);
    }
  }
});

test('a body without framing ends with a proper close; a reset is a failure', async () => {
  await using server = await answering('HTTP/1.1 200 OK\r\n\r\nall of it', 'end');
  await using given = upstreamTo(server.port);
  const whole = await ask(given.upstream);
  assert.deepEqual([whole.body, whole.failure, whole.head?.bodyBytes], ['all of it', null, null]);
  await using cutting = await rawServer((socket) => {
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\npart');
      setTimeout(() => socket.resetAndDestroy(), 50);
    });
  });
  await using other = upstreamTo(cutting.port);
  assert.deepEqual((await ask(other.upstream)).failure?.reason, 'reset');
});

test('bytes after the end of an answer poison the connection', async () => {
  await using server = await answering(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`);
  await using given = upstreamTo(server.port);
  for (let i = 1; i <= 3; i += 1) {
    assert.equal((await ask(given.upstream)).body, 'ok');
    assert.equal(given.upstream.stats().idle, 0);
    assert.equal(server.accepted(), i);
  }
});

test('also when they arrive later', async () => {
  await using server = await answering(OK);
  await using given = upstreamTo(server.port);
  await ask(given.upstream);
  assert.equal(given.upstream.stats().idle, 1);
  for (const socket of server.sockets) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
  while (given.upstream.stats().idle > 0) await sleep(5);
  assert.equal((await ask(given.upstream)).body, 'ok');
});

test('NTLM and Negotiate: such a connection is never reused, whichever side started it', async () => {
  await using server = await answering('HTTP/1.1 401 X\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n');
  await using given = upstreamTo(server.port);
  await ask(given.upstream);
  assert.equal(given.upstream.stats().idle, 0);
  await using plain = await answering(OK);
  await using other = upstreamTo(plain.port);
  for (const value of ['NTLM TlRM', 'Negotiate YII', 'negotiate']) {
    await ask(other.upstream, { headers: ['authorization', value] });
    assert.equal(other.upstream.stats().idle, 0, value);
  }
  await ask(other.upstream, { headers: ['authorization', 'Basic abc'] });
  assert.equal(other.upstream.stats().idle, 1);
});

test('every response survives any split, byte by byte', async () => {
  const text =
    'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5;x=y\r\nhello\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n';
  await using server = await rawServer((socket) => {
    const steps = text.split('').flatMap((byte) => [byte, 1]);
    socket.on('data', () => play(socket, steps));
  });
  await using given = upstreamTo(server.port);
  const answer = await ask(given.upstream);
  assert.deepEqual(
    [answer.body, answer.trailers, answer.informational],
    ['helloabc', ['x-t', '1'], [[103, ['link', 'a']]]],
  );
  assert.equal(given.upstream.stats().idle, 1);
});

test('detects a dead kept connection: an idempotent request is sent once more, others fail', async () => {
  let isDying = false;
  await using server = await rawServer((socket) => {
    socket.on('data', () => {
      if (isDying) socket.resetAndDestroy();
      else socket.write(OK);
    });
  });
  await using given = upstreamTo(server.port);
  await ask(given.upstream);
  isDying = true;
  const post = await ask(given.upstream, { method: 'POST' });
  assert.deepEqual([post.failure?.phase, post.failure?.reason, post.failure?.mayHaveBeenSent], ['send', 'reset', true]);
  assert.equal(server.accepted(), 1);
  isDying = false;
  await ask(given.upstream);
  isDying = true;
  const twice = ask(given.upstream, { method: 'PUT' });
  assert.equal((await twice).failure?.phase, 'send', 'dead twice');
  assert.equal(server.accepted(), 3);
  isDying = false;
  await ask(given.upstream);
  const before = server.accepted();
  for (const socket of server.sockets) {
    socket.removeAllListeners('data');
    socket.on('data', () => socket.destroy());
  }
  assert.equal((await ask(given.upstream, { method: 'DELETE' })).body, 'ok');
  assert.equal(server.accepted(), before + 1);
});

test('nothing was sent where nobody listens, or the address or name is invalid', async () => {
  const gone = await rawServer(() => {});
  const { port } = gone;
  await gone[Symbol.asyncDispose]();
  const cases = [
    [{}, 'refused'],
    [{ isAddressAllowed: () => false }, 'forbidden_address'],
    [{ host: 'localhost', isAddressAllowed: (ip: string) => ip !== '127.0.0.1' && ip !== '::1' }, 'forbidden_address'],
    [{ host: 'no-such-host.invalid' }, 'dns'],
    [{ host: 'slow.test', lookup: () => {}, limits: { connectTimeoutMs: 100 } }, 'timeout'],
  ] as const;
  for (const [options, reason] of cases) {
    await using given = upstreamTo(port, options);
    const { failure } = await ask(given.upstream);
    assert.deepEqual([failure?.phase, failure?.reason, failure?.mayHaveBeenSent], ['connect', reason, false]);
  }
});

test('opens no connection for which no file descriptor is left, and keeps those that are open', async () => {
  await using server = await answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  for (const host of ['127.0.0.1', 'localhost']) {
    const lookup: LookupFunction = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    for (const tls of [null, { servername: 'localhost' }]) {
      const before = server.accepted();
      await using full = upstreamTo(server.port, { host, lookup, tls, hasRoom: () => false });
      const { failure } = await ask(full.upstream);
      const seen = [failure?.phase, failure?.reason, failure?.mayHaveBeenSent];
      assert.deepEqual(seen, ['connect', 'too_many_files', false], `${host} ${tls === null ? 'http' : 'https'}`);
      assert.equal(server.accepted(), before);
    }
    let asked = 0;
    const hasRoom = (): boolean => {
      asked += 1;
      return asked === 1;
    };
    await using given = upstreamTo(server.port, { host, lookup, hasRoom });
    assert.deepEqual([(await ask(given.upstream)).body, (await ask(given.upstream)).body, asked], ['ok', 'ok', 1]);
  }
});

test('resolves a name for each new connection, and dials only allowed addresses', async () => {
  await using server = await answering('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok');
  let lookups = 0;
  const judged: string[] = [];
  await using given = upstreamTo(server.port, {
    host: 'backend.test',
    lookup: (_name, _options, callback) => {
      lookups += 1;
      const addresses = ['169.254.169.254', '127.0.0.1'].map((address) => ({ address, family: 4 }));
      process.nextTick(() => callback(null, lookups < 3 ? addresses : addresses.slice(0, 1)));
    },
    isAddressAllowed: (ip) => {
      judged.push(ip);
      return ip !== '169.254.169.254';
    },
  });
  assert.equal((await ask(given.upstream)).body, 'ok');
  assert.equal((await ask(given.upstream)).body, 'ok');
  assert.equal((await ask(given.upstream)).failure?.reason, 'forbidden_address');
  assert.equal(lookups, 3);
  assert.ok(judged.includes('169.254.169.254'));
});
