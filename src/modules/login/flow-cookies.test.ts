import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlowCookies } from './flow-cookies.ts';

function counted() {
  const calls = { opened: 0 };
  const flows = new FlowCookies({
    seal: (_purpose, text) => Buffer.from(text).toString('base64url'),
    open: () => {
      calls.opened += 1;
      return null;
    },
    randomText: () => 'a'.repeat(43),
  });
  return { calls, flows };
}

test('forged cookies of logins in progress are opened a few times only', () => {
  const { calls, flows } = counted();
  const state = flows.newState(0);
  const named = (name: string): string => `__Host-postern-flow-${name}=pstn1.f.${'x'.repeat(40)}`;
  const same = Array.from({ length: 150 }, () => named(state.slice(0, 16))).join('; ');
  assert.equal(flows.find([same], state), null);
  assert.ok(calls.opened <= 2, `${calls.opened} opened`);
  calls.opened = 0;
  const many = Array.from({ length: 150 }, (_, at) => named(`${at}`)).join('; ');
  const cleared = flows.start([many], { state, startedAtMs: 1 } as never);
  assert.ok(calls.opened <= 16, `${calls.opened} opened`);
  assert.equal(cleared.length, 151, 'the forged ones are cleared');
});
