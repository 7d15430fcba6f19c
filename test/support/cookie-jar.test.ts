import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CookieJar } from './cookie-jar.ts';

const APP = 'https://app.example.com/a/b';

function header(line: string, from = APP, to = from): string | undefined {
  const jar = new CookieJar();
  jar.store(from, line);
  return jar.header(to);
}

test('a cookie without Domain is sent to its host alone, on any port', () => {
  assert.equal(header('a=1; Path=/', APP, 'https://app.example.com:7443/'), 'a=1');
  assert.equal(header('a=1; Path=/', APP, 'https://x.app.example.com/'), undefined);
  assert.equal(header('a=1; Path=/', APP, 'https://example.com/'), undefined);
});

test('a cookie with Domain reaches siblings, and only a host below that domain may set it', () => {
  assert.equal(header('a=1; Path=/; Domain=.example.com', APP, 'https://other.example.com/'), 'a=1');
  assert.equal(header('a=1; Path=/; Domain=other.example.com', APP, 'https://other.example.com/'), undefined);
  assert.equal(header('a=1; Path=/; Domain=com', APP), undefined);
});

test('Secure cookies stay on https', () => {
  assert.equal(header('a=1; Path=/; Secure', APP, 'http://app.example.com/'), undefined);
  assert.equal(header('a=1; Path=/; Secure', 'http://app.example.com/', APP), undefined);
  assert.equal(header('a=1; Path=/; Secure'), 'a=1');
});

test('__Host- and __Secure- are enforced', () => {
  assert.equal(header('__Host-a=1; Path=/; Secure'), '__Host-a=1');
  assert.equal(header('__Host-a=1; Path=/'), undefined);
  assert.equal(header('__Host-a=1; Path=/a; Secure'), undefined);
  assert.equal(header('__Host-a=1; Secure', 'https://app.example.com/a/b/c'), undefined);
  assert.equal(header('__Host-a=1; Path=/; Secure; Domain=example.com'), undefined);
  assert.equal(header('__host-a=1; Path=/'), undefined);
  assert.equal(header('__Secure-a=1; Path=/'), undefined);
});

test('cookies end by Max-Age, by Expires and by deletion', () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const jar = new CookieJar(() => nowMs);
  jar.store(APP, ['a=1; Path=/; Max-Age=10', 'b=2; Path=/; Expires=Thu, 01 Jan 2026 00:00:20 GMT', 'c=3; Path=/']);
  assert.equal(jar.header(APP), 'a=1; b=2; c=3');
  nowMs += 10_000;
  assert.equal(jar.header(APP), 'b=2; c=3');
  nowMs += 10_000;
  assert.equal(jar.header(APP), 'c=3');
  jar.store(APP, 'c=; Path=/; Max-Age=0');
  assert.equal(jar.header(APP), undefined);
});

test('cookies of one name with different paths or domains are separate, the longest path first', () => {
  const jar = new CookieJar();
  jar.store(APP, ['a=1; Path=/', 'a=2; Path=/a', 'a=3; Path=/; Domain=example.com', 'a=4; Path=/']);
  assert.equal(jar.header(APP), 'a=2; a=4; a=3');
  assert.equal(jar.header('https://app.example.com/ab'), 'a=4; a=3');
});

test('a copy is independent', () => {
  const jar = new CookieJar();
  jar.store(APP, 'a=1; Path=/; HttpOnly; SameSite=Strict');
  const copy = jar.copy();
  jar.clear();
  assert.equal(jar.header(APP), undefined);
  assert.deepEqual([copy.get(APP, 'a')?.isHttpOnly, copy.get(APP, 'a')?.sameSite], [true, 'strict']);
});
