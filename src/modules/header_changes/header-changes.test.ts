import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestHeaders } from '../request_headers/request-headers.ts';
import { responseHeaders } from '../response_headers/response-headers.ts';

type Headers = Readonly<Record<string, string>>;

function problems(module: typeof requestHeaders, add: Headers, remove: readonly string[] = []): readonly string[] {
  const found = module.check?.({ enabled: true, add, remove } as never, { settings: {} as never }) ?? [];
  return found.map(({ path, message }) => `${path} ${message}`);
}

test('names that the edge or another module sets are refused, in any case', () => {
  for (const module of [requestHeaders, responseHeaders]) {
    for (const name of [
      ...[
        'Connection',
        'te',
        'transfer-encoding',
        'upgrade',
        'trailer',
        'keep-alive',
        'proxy-connection',
        'http2-settings',
      ],
      ...[
        'content-length',
        'Content-Encoding',
        'expect',
        'postern-request-id',
        'Postern-Auth-User-Email',
        'client-cert',
      ],
      ...['client-cert-chain', 'proxy-authorization', 'sec-websocket-key', 'ngrok-auth-user-id'],
      ...['x_user', 'x.user', 'x user', '', 'x:user', 'x\r\ny', 'é', ':authority', 'x'.repeat(300)],
    ]) {
      assert.match(problems(module, { [name]: 'x' })[0] ?? '', /^\/add /, `add ${name}`);
      assert.match(problems(module, {}, [name])[0] ?? '', /^\/remove /, `remove ${name}`);
    }
  }
});

test('a request keeps its user agent and its host, and what the edge says about the client is not added', () => {
  for (const name of ['user-agent', 'X-Forwarded-For', 'x-forwarded-anything', 'forwarded', 'x-real-ip'])
    assert.equal(problems(requestHeaders, { [name]: 'x' }).length, 1, name);
  assert.match(problems(requestHeaders, { 'x-real-ip': 'x' })[0] ?? '', /in X-Forwarded-For, .* Let the service read/);
  assert.equal(problems(requestHeaders, {}, ['user-agent']).length, 1);
  assert.deepEqual(problems(requestHeaders, {}, ['x-forwarded-for', 'X-Forwarded-Host']), []);
  assert.match(problems(requestHeaders, {}, ['Host'])[0] ?? '', /add "host" to replace it/);
  assert.deepEqual(problems(requestHeaders, { HOST: 'a.example' }, ['host']), []);
  assert.deepEqual(problems(responseHeaders, { 'user-agent': 'x', 'x-real-ip': 'x' }, ['host']), []);
});

test('values are header text, names are given once, and unknown variables are refused', () => {
  for (const value of ['a\r\nb: c', 'a\nb', '\0', ' a', 'a ', '€', '\u2028', `\${nothing}`, `\${`]) {
    assert.match(problems(requestHeaders, { 'x-a': value })[0] ?? '', /^\/add has a value for "x-a"/, value);
  }
  assert.match(problems(requestHeaders, { 'x-a': '1', 'X-A': '2' })[0] ?? '', /has "X-A" twice/);
  assert.match(problems(requestHeaders, {}, ['x-a', 'X-A'])[0] ?? '', /has "X-A" twice/);
  assert.deepEqual(problems(requestHeaders, { 'x-a': '', 'x-b': 'é\tx', 'x-c': `\${conn.client_ip}` }), []);
});
