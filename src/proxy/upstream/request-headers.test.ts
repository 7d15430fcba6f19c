import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { http1RequestHead, http2RequestHeaders, UnsafeRequestError } from './request-headers.ts';
import type { UpstreamRequest } from './upstream.ts';

const requestWith = (...standing: readonly HeaderList[]): UpstreamRequest => ({
  method: 'GET',
  target: '/',
  authority: 'site.example',
  headers: ['accept', '*/*'],
  standing,
  body: { framing: 'none' },
  switchTo: null,
});
const USER = ['postern-auth-user-id', 'au_1', 'postern-auth-user-name', 'Ann'];
const CERTIFICATE = ['client-cert', ':AA==:'];

test('sends standing headers over both protocols, each list complete', () => {
  const request = requestWith(USER, [], CERTIFICATE);
  assert.equal(
    http1RequestHead(request),
    'GET / HTTP/1.1\r\nhost: site.example\r\naccept: */*\r\npostern-auth-user-id: au_1\r\npostern-auth-user-name: Ann\r\nclient-cert: :AA==:\r\n\r\n',
  );
  assert.deepEqual(http2RequestHeaders(request, []).slice(8), ['accept', '*/*', ...USER, ...CERTIFICATE]);
});

for (const [what, list] of [
  ['a line feed in a value', ['postern-auth-user-name', 'Ann\nx: y']],
  ['a character that latin1 cuts to a line feed', ['postern-auth-user-name', 'Ann\u010ax: y']],
  ['a name that is not a token', ['bad name', 'x']],
  ['framing', ['content-length', '3']],
] as const)
  test(`rejects ${what}, the second time like the first`, () => {
    for (const _again of [1, 2]) {
      assert.throws(() => http1RequestHead(requestWith(list)), UnsafeRequestError);
      assert.throws(() => http2RequestHeaders(requestWith(list), []), UnsafeRequestError);
    }
  });
