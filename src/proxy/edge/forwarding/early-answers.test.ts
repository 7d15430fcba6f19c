import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RecordedRequest } from '../../telemetry/requests/recorded-request.ts';
import { EarlyAnswers } from './early-answers.ts';

const CONNECTION = { edgeId: 'edghts_1', remoteAddress: '192.0.2.1' } as never;
const UNPARSED = { reading: { ok: false } } as never;
const ANSWER = { id: 'rq_1', status: 503, code: 'ERR_POSTERN_EDGE_OVERLOADED', bytesOut: 3 } as const;

function opened(): { readonly answers: EarlyAnswers; readonly kept: RecordedRequest[] } {
  const kept: RecordedRequest[] = [];
  const answers = new EarlyAnswers({
    history: { record: (request) => void kept.push(request) },
    recording: { headers: [], keepsQuery: false },
    addresses: { of: () => assert.fail('the head could not be parsed') },
    clock: { nowMs: () => 1 },
  });
  return { answers, kept };
}

suite('answers before a route is looked for', () => {
  test('a flood of one kind leaves room for the others', () => {
    const { answers, kept } = opened();
    for (let count = 0; count < 250; count += 1) answers.overloaded(CONNECTION, UNPARSED, ANSWER, 'requests');
    assert.equal(kept.length, 100);
    answers.redirected(CONNECTION, UNPARSED, { ...ANSWER, status: 308, code: null }, 'edghts_2');
    assert.deepEqual([kept.at(-1)?.answeredBy, kept.at(-1)?.edgeId], ['edge:redirect_to_https', 'edghts_2']);
    for (let count = 0; count < 250; count += 1) answers.challenged(CONNECTION, UNPARSED, { ...ANSWER, code: null });
    assert.equal(kept.length, 201);
  });

  test('a request that could not be parsed shows nothing of what it claims', () => {
    const { answers, kept } = opened();
    answers.overloaded(CONNECTION, UNPARSED, ANSWER, 'address_requests');
    const [{ method, host, path, clientAddress, refusedBy, decidingRule } = assert.fail()] = kept;
    assert.deepEqual([method, host, path, clientAddress], [null, null, null, '192.0.2.1']);
    assert.deepEqual([refusedBy, decidingRule], ['edge:edge_overloaded', 'edge_address_share']);
  });

  test('a challenge passes, and names no edge', () => {
    const { answers, kept } = opened();
    answers.challenged(CONNECTION, UNPARSED, { ...ANSWER, status: 200, code: null });
    const [{ status, edgeId, refusedBy, passes } = assert.fail()] = kept;
    assert.deepEqual([status, edgeId, refusedBy, passes], [200, null, null, ['edge', { reason: 'acme_challenge' }]]);
  });
});
