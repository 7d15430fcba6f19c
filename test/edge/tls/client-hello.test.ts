import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import fc from 'fast-check';
import {
  type ClientHello,
  HelloReader,
  MAX_HELLO_BYTES,
  type ReaderState,
} from '../../../src/proxy/edge/tls/client-hello.ts';
import { ofNode, ofProgram } from './capture-hello.ts';

const RUNS = process.env['POSTERN_TEST_LONG'] === '1' ? 200_000 : 3000;
const none: ClientHello = { serverName: null, alpnProtocols: [] };

const REAL: readonly (readonly [string, () => Promise<Buffer>, ClientHello | 'bad_name'])[] = [
  ['node', () => ofNode({ servername: 'app.localhost' }), { ...none, serverName: 'app.localhost' }],
  [
    'node over TLS 1.2 with ALPN',
    () => ofNode({ servername: 'App.LOCALHOST', maxVersion: 'TLSv1.2', ALPNProtocols: ['h2', 'http/1.1'] }),
    { serverName: 'app.localhost', alpnProtocols: ['h2', 'http/1.1'] },
  ],
  [
    'node with a dot at the end',
    () => ofNode({ servername: 'app.localhost.' }),
    { ...none, serverName: 'app.localhost' },
  ],
  ['node without a name', () => ofNode({ servername: '' }), none],
  [
    'curl',
    () => ofProgram('curl', (port) => ['-sk', '--noproxy', '*', `https://app.localhost:${port}/`]),
    { serverName: 'app.localhost', alpnProtocols: ['h2', 'http/1.1'] },
  ],
  [
    'curl by address',
    () => ofProgram('curl', (port) => ['-sk', '--noproxy', '*', '--http1.1', `https://127.0.0.1:${port}/`]),
    { serverName: null, alpnProtocols: ['http/1.1'] },
  ],
  ...(['-tls1_2', '-tls1_3'] as const).map(
    (version) =>
      [
        `openssl ${version}`,
        () => openssl(version, '-servername', 'app.localhost', '-alpn', 'h2'),
        { serverName: 'app.localhost', alpnProtocols: ['h2'] },
      ] as const,
  ),
  ['openssl without a name', () => openssl('-noservername'), none],
  ['openssl with an IPv4 address as name', () => openssl('-servername', '127.0.0.1'), 'bad_name'],
  ['openssl with an IPv6 address as name', () => openssl('-servername', '::1'), 'bad_name'],
  ['openssl with a wildcard as name', () => openssl('-servername', '*.localhost'), 'bad_name'],
];

function openssl(...args: string[]): Promise<Buffer> {
  return ofProgram('openssl', (port) => ['s_client', '-connect', `127.0.0.1:${port}`, ...args]);
}

function readAll(...chunks: readonly Buffer[]): ReaderState {
  const reader = new HelloReader();
  let state: ReaderState = { state: 'more' };
  for (const chunk of chunks) {
    state = reader.push(chunk);
    if (state.state !== 'more') break;
  }
  return state;
}

function records(payload: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < payload.length; start += size) {
    const part = payload.subarray(start, start + size);
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(parts);
}

/** A handmade ClientHello with these extensions. */
function hello(...extensions: readonly (readonly [type: number, content: readonly number[]])[]): Buffer {
  const list = extensions.flatMap(([type, content]) => [...u16(type), ...u16(content.length), ...content]);
  const body = [3, 3, ...new Array<number>(32).fill(7), 0, 0, 2, 0x13, 1, 1, 0, ...u16(list.length), ...list];
  return records(Buffer.from([1, 0, ...u16(body.length), ...body]), 16_384);
}

function u16(value: number): readonly number[] {
  return [value >> 8, value & 0xff];
}

function name(text: string, type = 0): readonly number[] {
  const bytes = [...Buffer.from(text, 'latin1')];
  return [...u16(bytes.length + 3), type, ...u16(bytes.length), ...bytes];
}

suite('ClientHello of real clients', () => {
  const captured = new Map<string, Buffer>();
  before(async () => {
    for (const [who, capture] of REAL) captured.set(who, await capture());
  });
  const bytesOf = (who: string) => captured.get(who) ?? Buffer.alloc(0);

  for (const [who, , expected] of REAL) {
    const check = (state: ReaderState) => {
      if (expected === 'bad_name') assert.equal(state.state === 'refused' && state.problem, 'bad_name');
      else assert.deepEqual(state, { state: 'done', hello: expected });
    };

    test(`of ${who} is parsed whole, byte by byte, at every split, and spread over records`, () => {
      const bytes = bytesOf(who);
      check(readAll(bytes));
      check(readAll(...Array.from(bytes, (byte) => Buffer.from([byte]))));
      for (let split = 1; split < bytes.length; split += 1)
        check(readAll(bytes.subarray(0, split), bytes.subarray(split)));
      const payload = bytes.subarray(5);
      for (const size of [1, 2, 3, 4, 5, 7, 100, payload.length - 1]) check(readAll(records(payload, size)));
    });

    test(`of ${who} waits for its last byte and ignores what follows`, () => {
      const bytes = bytesOf(who);
      for (let end = 0; end < bytes.length; end += 1) assert.equal(readAll(bytes.subarray(0, end)).state, 'more');
      const reader = new HelloReader();
      check(reader.push(Buffer.concat([bytes, Buffer.from('early data')])));
      assert.equal(reader.bytes.length, bytes.length + 10);
    });
  }

  test('survives every damage: parses, waits or rejects, and never throws', () => {
    const all = [...captured.values()];
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: all.length - 1 }),
        fc.array(fc.tuple(fc.nat(3000), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 }),
        fc.nat(3000),
        (which, damages, split) => {
          const bytes = Buffer.from(all[which] ?? []);
          for (const [at, value] of damages) bytes[at % bytes.length] = value;
          const whole = readAll(bytes);
          const apart = readAll(bytes.subarray(0, split % bytes.length), bytes.subarray(split % bytes.length));
          assert.deepEqual(apart, whole);
          if (whole.state === 'done') assert.match(whole.hello.serverName ?? 'none', /^[a-z0-9._-]+$/);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

suite('ClientHello of hostile clients', () => {
  test('is rejected or awaited, whatever the bytes', () => {
    const prefixed = fc
      .uint8Array({ maxLength: 400 })
      .map((bytes) => Buffer.from([22, 3, 1, 1, 0x40, 1, 0, 1, 0x3c, ...bytes]));
    const raw = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(raw, prefixed), (bytes) => {
        assert.ok(['more', 'done', 'refused'].includes(readAll(bytes).state));
      }),
      { numRuns: RUNS },
    );
  });

  for (const [what, bytes, problem] of [
    ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\n'), 'not_tls'],
    ['one byte of something else', Buffer.from('S'), 'not_tls'],
    ['SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1]), 'not_tls'],
    ['another major version', Buffer.from([22, 2]), 'not_tls'],
    [
      'another protocol after the first record',
      Buffer.concat([records(Buffer.from([1, 0, 1]), 3), Buffer.from('x')]),
      'not_tls',
    ],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0]), 'malformed'],
    ['a record that is too long', Buffer.from([22, 3, 1, 0x40, 1]), 'malformed'],
    ['another message', records(Buffer.from([2, 0, 0, 0]), 4), 'malformed'],
    ['a message of 16 MB', records(Buffer.from([1, 255, 255, 255]), 4), 'too_large'],
    ['an empty message', records(Buffer.from([1, 0, 0, 0]), 4), 'malformed'],
    ['two messages in one record', records(Buffer.concat([hello().subarray(5), Buffer.from([1])]), 9999), 'malformed'],
    ['two names in two extensions', hello([0, name('a.test')], [0, name('b.test')]), 'malformed'],
    [
      'two names in one extension',
      hello([0, [0, 18, ...name('a.test').slice(2), ...name('b.test').slice(2)]]),
      'malformed',
    ],
    ['a name of an unknown type', hello([0, name('a.test', 1)]), 'malformed'],
    ['an empty name', hello([0, name('')]), 'malformed'],
    ['an empty list of names', hello([0, [0, 0]]), 'malformed'],
    ['a name behind which something follows', hello([0, [...name('a.test'), 0]]), 'malformed'],
    ['a name that is longer than its list', hello([0, [0, 4, 0, 0, 9, 97]]), 'malformed'],
    ['a name with a NUL', hello([0, name('a.test\0.evil.test')]), 'bad_name'],
    ['a name with a line break', hello([0, name('a.test\r\nx: y')]), 'bad_name'],
    ['a name of a dot', hello([0, name('.')]), 'bad_name'],
    ['a name with two dots at its end', hello([0, name('a.test..')]), 'bad_name'],
    ['a name with bytes above ASCII', hello([0, name('\u00e4.test')]), 'bad_name'],
    ['a name of 300 characters', hello([0, name(`${'a.'.repeat(149)}aa`)]), 'bad_name'],
    ['an empty list of protocols', hello([16, [0, 0]]), 'malformed'],
    ['an empty protocol', hello([16, [0, 1, 0]]), 'malformed'],
    ['a protocol that is longer than its list', hello([16, [0, 3, 9, 104, 50]]), 'malformed'],
    ['an extension twice', hello([99, []], [99, []]), 'malformed'],
  ] as const) {
    test(`rejects ${what}`, () => {
      const state = readAll(bytes);
      assert.equal(state.state === 'refused' ? state.problem : state.state, problem);
    });
  }

  test('parses one without extensions', () => {
    const body = [3, 3, ...new Array<number>(32).fill(7), 0, 0, 2, 0x13, 1, 1, 0];
    assert.deepEqual(readAll(records(Buffer.from([1, 0, ...u16(body.length), ...body]), 9)), {
      state: 'done',
      hello: none,
    });
  });

  test('is abandoned once it is larger than any real one', () => {
    const endless = records(Buffer.from([1, 0, 0x3f, 0, ...new Array<number>(MAX_HELLO_BYTES).fill(0)]), 1);
    const reader = new HelloReader();
    let state: ReaderState = { state: 'more' };
    let pushed = 0;
    for (let at = 0; state.state === 'more' && at < endless.length; at += 1) {
      state = reader.push(endless.subarray(at, at + 1));
      pushed += 1;
    }
    assert.equal(state.state === 'refused' && state.problem, 'too_large');
    assert.ok(pushed <= MAX_HELLO_BYTES);
    assert.ok(reader.bytes.length <= MAX_HELLO_BYTES);
  });
});
