import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isHostOrBelow, publicPorts } from './host-name.ts';

for (const [host, isBelow] of [
  ['id.example.com', true],
  ['a.id.example.com', true],
  ['b.a.id.example.com', true],
  ['*.id.example.com', true],
  ['*.example.com', false],
  ['example.com', false],
  ['xid.example.com', false],
  ['id.example.com.evil.example', false],
] as const) {
  test(`${host} is ${isBelow ? '' : 'not '}id.example.com or below it`, () =>
    assert.equal(isHostOrBelow(host, 'id.example.com'), isBelow));
}

suite('publicPorts', () => {
  for (const [listening, mapped, expected] of [
    [[7443], [], [7443, 443]],
    [[7443, 443], [], [443, 7443]],
    [[8443, 9443], [], [8443, 9443, 443]],
    [[0], [], [443]],
    [[], [], [443]],
    // A mapping hides the listeners behind it.
    [[7443], [8443], [8443, 443]],
    [[7443], [443], [443]],
    [[443], [8443, 9443], [8443, 9443, 443]],
    // The list serves both listeners.
    [[7443], [80, 443], [443]],
    [[7443], [80, 8443], [8443, 443]],
    [[7443], [80], [7443, 443]],
  ] as const) {
    test(`listening on ${listening.join(', ') || 'nothing'}, mapped ${mapped.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(publicPorts({ listening, mapped }), expected);
    });
  }
});
