import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isIpv6Only, isLoopbackHost, type ListenAddress, overlapping, parseListenAddress } from './listen-address.ts';

suite('isLoopbackHost', () => {
  test('counts loopback addresses in every spelling, with and without the brackets of a URL', () => {
    const addresses = ['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1'];
    for (const host of [...addresses, '[::1]', '[::ffff:7f00:1]', new URL('http://[::ffff:127.0.0.1]/').hostname]) {
      assert.equal(isLoopbackHost(host), true, host);
    }
  });

  test('counts localhost and names under it', () => {
    for (const host of ['localhost', 'LOCALHOST', 'shop.localhost']) assert.equal(isLoopbackHost(host), true, host);
  });

  test('does not count what may be another machine', () => {
    const others = ['0.0.0.0', '::', '128.0.0.1', '::ffff:10.0.0.1', '::127.0.0.1', '2001:db8::1', '[2001:db8::1]'];
    const names = ['localhost.example.com', 'notlocalhost', '127.0.0.1.example.com', 'example.com', '', '[localhost'];
    for (const host of [...others, ...names]) assert.equal(isLoopbackHost(host), false, host);
  });
});

function addresses(...texts: readonly string[]): readonly ListenAddress[] {
  return texts.map((text) => parseListenAddress(text) ?? assert.fail(text));
}

suite('several listen addresses', () => {
  test('leaves IPv4 to another address with the same port only', () => {
    const cases: readonly (readonly [readonly string[], boolean])[] = [
      [['[::]:443'], false],
      [['[::]:443', '0.0.0.0:443'], true],
      [['[0::0]:443', '192.0.2.1:443'], true],
      [['[::]:443', 'localhost:443'], true],
      [['[::]:443', '0.0.0.0:8443'], false],
      [['[::]:443', '[::1]:443'], false],
      [['[::1]:443', '0.0.0.0:443'], false],
    ];
    for (const [texts, expected] of cases) {
      const all = addresses(...texts);
      assert.equal(isIpv6Only(all[0] as ListenAddress, all), expected, texts.join());
    }
  });

  test('finds the address that another one includes', () => {
    const includes = (...texts: readonly string[]) => overlapping(addresses(...texts))?.map(({ host }) => host) ?? null;
    assert.deepEqual(includes('127.0.0.1:443', '0.0.0.0:443'), ['0.0.0.0', '127.0.0.1']);
    assert.deepEqual(includes('[::]:443', '[::1]:443'), ['::', '::1']);
    assert.equal(includes('0.0.0.0:443', '[::]:443'), null);
    assert.equal(includes('0.0.0.0:443', '127.0.0.1:8443', '[::1]:443'), null);
    // Each gets a free port of its own.
    assert.equal(includes('0.0.0.0:0', '127.0.0.1:0'), null);
  });
});
