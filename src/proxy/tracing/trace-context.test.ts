import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatTraceparent, traceParentOf, writeTraceContext } from './trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const VALID = `00-${TRACE}-${SPAN}-01`;

function stateOf(...states: readonly string[]): string | null | undefined {
  return traceParentOf(['traceparent', VALID, ...states.flatMap((state) => ['tracestate', state])])?.state;
}

suite('traceparent', () => {
  for (const given of [VALID, `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-ff`, `01-${TRACE}-${SPAN}-01-more`]) {
    test(`continues the trace of ${given}`, () => {
      assert.deepEqual(traceParentOf(['a', 'b', 'traceparent', given]), { traceId: TRACE, spanId: SPAN, state: null });
    });
  }

  for (const given of [
    '',
    'x',
    VALID.toUpperCase(),
    ` ${VALID}`,
    `${VALID},${VALID}`,
    `${VALID}-more`,
    `01-${TRACE}-${SPAN}-01more`,
    `ff-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}0-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-0g`,
    `00-${TRACE}-${SPAN}-01`.replaceAll('-', '_'),
    `${VALID}\u0000`,
  ]) {
    test(`ignores ${JSON.stringify(given)}`, () => {
      assert.equal(traceParentOf(['traceparent', given, 'tracestate', 'a=b']), null);
    });
  }

  test('ignores a repeated header, and a tracestate alone', () => {
    assert.equal(traceParentOf(['traceparent', VALID, 'traceparent', VALID]), null);
    assert.equal(traceParentOf(['tracestate', 'a=b']), null);
  });
});

suite('tracestate', () => {
  test('is passed on, also from several lines', () => {
    assert.equal(
      stateOf('rojo=00f067aa0ba902b7', ' congo=t61rcWkgMzE ,, fw529a3039@dt=FfAkKz '),
      ['rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,fw529a3039@dt=FfAkKz'].join(),
    );
  });

  test('is dropped as a whole when it is malformed, and the trace is continued', () => {
    for (const given of [
      'a',
      '=b',
      'A=b',
      'a=b,a=c',
      'a=b=c',
      'a=é',
      'a=\u0001',
      `${'a'.repeat(257)}=b`,
      `a=${'b'.repeat(257)}`,
    ])
      assert.equal(stateOf(given), null, given);
    assert.equal(stateOf(Array.from({ length: 33 }, (_, at) => `k${at}=v`).join()), null);
    assert.equal(stateOf(','.repeat(8000)), null);
    assert.equal(stateOf(' '), null);
  });

  test('loses members at its end when it is longer than 512 characters', () => {
    const members = Array.from({ length: 8 }, (_, at) => `k${at}=${'v'.repeat(97)}`);
    assert.equal(stateOf(members.join()), members.slice(0, 5).join());
  });
});

test('what the client sent is replaced', () => {
  const headers = ['a', '1', 'traceparent', 'x', 'tracestate', 'y', 'b', '2', 'traceparent', 'z'];
  writeTraceContext(headers, formatTraceparent(TRACE, SPAN, false), 'a=b');
  assert.deepEqual(headers, ['a', '1', 'b', '2', 'traceparent', `00-${TRACE}-${SPAN}-00`, 'tracestate', 'a=b']);
});
