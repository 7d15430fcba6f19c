import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preparePorts } from '../../../test/support/inert-ports.ts';
import { trafficRequest } from '../../../test/support/traffic-request.ts';
import { maintenance } from './maintenance.ts';

const CONFIG = { enabled: true, message: 'Back at noon.', retry_after: 60, allow_cidrs: ['203.0.113.0/24'] };

function judged(clientAddress: string, config = CONFIG) {
  const preparation = maintenance.prepare(config, preparePorts());
  assert.ok(preparation.ok);
  const request = { ...trafficRequest('GET', '/', () => undefined), clientAddress };
  return preparation.prepared.judge?.(request);
}

test('answers 503 with the text and the time, except for listed addresses', () => {
  for (const address of ['198.51.100.7', '2001:db8::1', 'nonsense']) {
    const refusal = judged(address);
    assert.ok(refusal !== undefined && 'status' in refusal && 'message' in refusal);
    assert.deepEqual([refusal.status, refusal.message, refusal.headers], [503, 'Back at noon.', ['retry-after', '60']]);
  }
  for (const address of ['203.0.113.7', '::ffff:203.0.113.7']) {
    assert.deepEqual(judged(address), { isPass: true, reason: 'let_through' });
  }
  const silent = judged('203.0.113.7', { ...CONFIG, retry_after: 0, allow_cidrs: [] });
  assert.ok(silent !== undefined && 'status' in silent && !('headers' in silent));
});
