import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { JsonObject } from '../../kit/json.ts';
import { agentEvents } from './agent-events.ts';

function world() {
  const recorded: string[] = [];
  const listed = new Set<string>();
  const events = agentEvents({
    recording: {
      isWanted: () => true,
      record: (type: string, object: JsonObject) => void recorded.push(`${type} ${JSON.stringify(object)}`),
    },
    read: (_resource, id) => Promise.resolve(listed.has(id) ? { id, os: 'linux' } : null),
    onProblem: (error) => assert.ifError(error),
  });
  return { recorded, listed, events };
}

suite('events about sessions that move between nodes', () => {
  test('the node that took a session reports its end as it was, and no second start', async () => {
    const { recorded, listed, events } = world();
    for (const id of ['ts_1', 'tn_1']) listed.add(id);
    events.sessionTaken('ts_1', ['tn_1']);
    await turn();
    listed.clear();
    events.tunnelStopped('tn_1');
    events.sessionStopped('ts_1');
    await turn();
    assert.deepEqual(recorded, [
      'tunnel_stop.v0 {"id":"tn_1","os":"linux"}',
      'agent_session_stop.v0 {"id":"ts_1","os":"linux"}',
    ]);
  });

  test('the node that gave a session away forgets it', async () => {
    const { recorded, listed, events } = world();
    listed.add('ts_1');
    events.sessionStarted('ts_1');
    await turn();
    events.sessionGiven('ts_1', []);
    events.sessionStopped('ts_1');
    await turn();
    assert.deepEqual(recorded, [
      'agent_session_start.v0 {"id":"ts_1","os":"linux"}',
      'agent_session_stop.v0 {"id":"ts_1"}',
    ]);
  });
});
