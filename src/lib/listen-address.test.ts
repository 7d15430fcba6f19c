import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isLoopbackHost } from './listen-address.ts';

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
