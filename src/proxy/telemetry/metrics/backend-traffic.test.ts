import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BackendTraffic } from './backend-traffic.ts';

type Finished = Parameters<BackendTraffic['finished']>[0];

/** As the alert about failing backends gets it. */
function counted(...finished: readonly Partial<Finished>[]): readonly (readonly [number, number])[] {
  const traffic = new BackendTraffic();
  const route = { backend: { id: 'bkdst_1', kind: 'static' } } as unknown as Finished['route'];
  for (const one of finished)
    traffic.finished({ route, status: 200, errorCode: null, targetName: '127.0.0.1:3000', ...one });
  return traffic.take().map(({ failed, succeeded }) => [failed, succeeded]);
}

suite('requests by backend', () => {
  test('counts answers, and failures of the upstream', () => {
    assert.deepEqual(counted({}, { status: 502, errorCode: 'ERR_POSTERN_UPSTREAM_BROKEN' }), [[1, 1]]);
  });

  test('counts neither for a client that left before the answer, or whose body broke off', () => {
    assert.deepEqual(counted({ status: 0 }, { status: 400, errorCode: 'ERR_POSTERN_BAD_HTTP' }), []);
  });
});
