import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { upstreamAddressProblem } from '../../kit/net/listen-address.ts';
import type { BackendSnapshot, TargetPorts } from '../backend.ts';
import { staticBackend } from './static.ts';

suite('static backend', () => {
  test('accepts a host or an address with a port', () => {
    for (const address of ['shop:1', '10.0.0.5:3000', '[2001:db8::1]:65535', 'a.example.com:443']) {
      assert.equal(upstreamAddressProblem(address), null, address);
    }
  });

  test('rejects what is not host:port', () => {
    const wrong = [
      'shop',
      'shop:0',
      'shop:65536',
      'shop:080',
      '10.0.0.256:80',
      '2130706433:80',
      '0x7f000001:80',
      '::1:80',
      '[shop]:80',
      '[fe80::1%eth0]:80',
    ];
    for (const address of [...wrong, 'http://shop:80', 'shop:80/', ' shop:80', '']) {
      const config = { address, tls: { enabled: false } };
      assert.equal(staticBackend.check?.(config as never).length, 1, address);
    }
  });

  test('knows addresses of one service in other spellings', () => {
    const same = (one: string, other: string): boolean | undefined =>
      staticBackend.maySendToSame?.({ address: one } as never, { address: other } as never);
    for (const [one, other] of [
      ['Shop.example:80', 'shop.EXAMPLE:80'],
      ['10.0.0.5:80', '[::ffff:10.0.0.5]:80'],
      ['[2001:db8::1]:80', '[2001:DB8:0:0::0:1]:80'],
      ['127.0.0.1:80', 'localhost:80'],
      ['[::1]:80', 'app.localhost:80'],
      ['0.0.0.0:80', '127.0.0.1:80'],
    ] as const)
      assert.equal(same(one, other), true, `${one} ${other}`);
    for (const [one, other] of [
      ['shop:80', 'shop:81'],
      ['10.0.0.5:80', '10.0.0.6:80'],
      ['localhost:80', 'mylocalhost:80'],
    ] as const)
      assert.equal(same(one, other), false, `${one} ${other}`);
  });

  test('sends to its address, with TLS only where that is enabled', () => {
    const opened: unknown[] = [];
    const upstream = {};
    const ports = {
      upstreamFor: (...at: unknown[]) => {
        opened.push(at);
        return upstream;
      },
    } as unknown as TargetPorts<object>;
    for (const enabled of [false, true]) {
      const config = { address: 'shop:80', tls: { enabled } };
      const backend = { config } as unknown as BackendSnapshot<never>;
      assert.deepEqual(staticBackend.targets(backend, ports), [{ kind: 'upstream', upstream, name: 'shop:80' }]);
      // The pool is released under the key under which it was opened.
      assert.deepEqual(staticBackend.upstreamAddresses?.(config as never), [{ address: 'shop:80', isTls: enabled }]);
    }
    assert.deepEqual(opened, [
      ['shop:80', false],
      ['shop:80', true],
    ]);
  });
});
