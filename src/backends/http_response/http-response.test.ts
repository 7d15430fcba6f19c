import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BackendSnapshot } from '../backend.ts';
import { httpResponseTargets, responseHeadersProblem } from './http-response.ts';

const backend = (config: { body: string; headers: Record<string, string>; status_code: number }) =>
  ({ config }) as BackendSnapshot<typeof config>;

suite('http_response backend', () => {
  test('answers with its status, headers in lower case and body', () => {
    const made = httpResponseTargets(backend({ body: 'hi', headers: { 'Content-Type': 'text/x' }, status_code: 503 }));
    const headers = ['content-type', 'text/x'];
    assert.deepEqual(made, [
      { kind: 'response', name: 'http_response', status: 503, headers, body: Buffer.from('hi') },
    ]);
  });

  test('gives a body without a type one, and an empty body none', () => {
    const headersOf = (body: string) => {
      const [target] = httpResponseTargets(backend({ body, headers: {}, status_code: 200 }));
      return target?.kind === 'response' ? target.headers : null;
    };
    assert.deepEqual(headersOf('hi'), ['content-type', 'text/plain; charset=utf-8']);
    assert.deepEqual(headersOf(''), []);
  });

  test('makes the answer once per version, so that what is made of it can be kept', () => {
    const version = backend({ body: 'hi', headers: {}, status_code: 200 });
    assert.equal(httpResponseTargets(version), httpResponseTargets(version));
  });

  test('rejects headers that frame the response or claim to be ours', () => {
    const names = [
      'Connection',
      'content-length',
      'keep-alive',
      'proxy-connection',
      'te',
      'trailer',
      'transfer-encoding',
      'http2-settings',
    ];
    for (const name of [...names, 'upgrade', 'Postern-Error-Code']) {
      assert.match(responseHeadersProblem({ [name]: 'x' }) ?? '', /the edge sets it/, name);
    }
  });

  test('rejects names and values that are not header text', () => {
    for (const headers of [
      { 'a b': '' },
      { '': '' },
      { a: 'x\r\nb: y' },
      { a: ' x' },
      { a: '€' },
      { a: '1', A: '2' },
    ]) {
      assert.notEqual(responseHeadersProblem(headers as Record<string, string>), null, JSON.stringify(headers));
    }
    assert.equal(responseHeadersProblem({ a: 'x\ty é' }), null);
  });
});
