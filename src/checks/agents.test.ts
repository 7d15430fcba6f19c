import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agents } from './agents.ts';
import type { Facts } from './facts.ts';

test('lists what agents report as warnings on one line, whatever they wrote', () => {
  const tunnel_sessions = [
    { id: 'ts_1', ip: '192.0.2.7', metadata: '', problems: ['container web: rejected: it would be public'] },
    { id: 'ts_2', ip: '192.0.2.8', metadata: `m\u001b[2J${'x'.repeat(4_000)}`, problems: ['a\n\u202eb\u0000'] },
  ];
  const found = [...agents.run({ tunnel_sessions } as unknown as Facts)];
  assert.deepEqual(
    found.map((finding) => [finding?.level, finding?.message, finding?.about]),
    [
      ['warning', 'agent 192.0.2.7: container web: rejected: it would be public', { id: 'ts_1' }],
      ['warning', `agent m [2J${'x'.repeat(55)} (192.0.2.8): a b`, { id: 'ts_2' }],
    ],
  );
});
