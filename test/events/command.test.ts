import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli } from '../../src/app/main/cli.ts';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { EventWorld } from './support/event-world.ts';

/** Resolves when it waits for events; later ones are new to it. `ended` has the printed lines. */
async function startTail(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ said: string; ended: Promise<string[]> }> {
  const lines: string[] = [];
  const waits = Promise.withResolvers<string>();
  const code = runCli(['events', 'tail', ...args], {
    env,
    isTerminal: false,
    print: (line) => lines.push(line),
    warn: (line) => waits.resolve(line),
  });
  return {
    said: await waits.promise,
    ended: code.then((exit) => {
      assert.equal(exit, 0);
      return lines;
    }),
  };
}

test('tail shows each new event once, filtered by type', async (t) => {
  const world = await EventWorld.open(t);
  const env = operatorEnv(world.world);
  await world.lane(['ip_policy_created.v0', 'ip_policy_deleted.v0']);
  await world.lane(['ip_policy_created.v0']);
  const [old] = await world.policies(1);
  const all = await startTail(['--count', '3'], env);
  const filtered = await startTail(['--type', 'backend_*,ip_policy_deleted', '--count', '1', '--json'], env);
  const ids = await world.policies(2);
  await world.api('DELETE', `/ip_policies/${old}`);
  const lines = await all.ended;
  assert.deepEqual(
    lines.map((line) => line.split('  ').slice(1)).map(([type, who, what]) => [type, who?.slice(0, 3), what]),
    [
      ['ip_policy_created.v0', 'ak_', ids[0]],
      ['ip_policy_created.v0', 'ak_', ids[1]],
      ['ip_policy_deleted.v0', 'ak_', old],
    ],
  );
  const [only = ''] = await filtered.ended;
  assert.equal(JSON.parse(only).object.id, old);
});

test('tail rejects a type that does not exist, which it would wait for without end', async (t) => {
  const world = await EventWorld.open(t);
  const env = operatorEnv(world.world);
  const { code, stderr } = await runCommand(['events', 'tail', '--type', 'ip_policy_created,ip_polcy_deleted'], {
    env,
  });
  assert.equal(code, 2);
  assert.match(
    stderr,
    /there is no event type "ip_polcy_deleted"\. Did you mean "ip_policy_deleted".*event-types list/,
  );
});

test('tail explains what is missing when no subscription can queue an event', async (t) => {
  const world = await EventWorld.open(t);
  const env = operatorEnv(world.world);
  const without = await startTail(['--count', '1'], env);
  assert.match(without.said, /no event subscription exists.*event-subscriptions create/);
  await world.api('POST', '/event_subscriptions', { sources: [{ type: 'ip_policy_created.v0' }] });
  const aimless = await startTail(['--count', '1'], env);
  assert.match(aimless.said, /no event subscription has a destination.*--destination-ids/);
  await world.lane(['ip_policy_created.v0']);
  const ready = await startTail(['--count', '1'], env);
  assert.equal(ready.said, 'postern: waiting for events');
  await world.policies(1);
  for (const { ended } of [without, aimless, ready]) assert.equal((await ended).length, 1);
});

test('replay queues the selected deliveries again, and reports how many', async (t) => {
  const world = await EventWorld.open(t);
  const env = operatorEnv(world.world);
  const lane = await world.lane(['ip_policy_created.v0']);
  await world.policies(2);
  await world.settled(lane, { delivered: 2 });
  const none = await runCommand(['events', 'replay'], { env });
  assert.deepEqual([none.code, none.stdout], [0, '0 deliveries queued again\n']);
  const all = await runCommand(['events', 'replay', '--state', 'delivered'], { env });
  assert.deepEqual([all.code, all.stdout], [0, '2 deliveries queued again\n']);
  await world.settled(lane, { delivered: 4 });
  const [newest] = await world.deliveries(lane);
  const one = await runCommand(['events', 'replay', newest.id], { env });
  assert.match(one.stdout, new RegExp(`^${newest.id} is queued again as evd_\\w{27}\n$`));
  await world.settled(lane, { delivered: 5 });
  const unknown = await runCommand(['events', 'replay', 'evd_none'], { env });
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /is not an id/);
  assert.equal((await runCommand(['events', 'replay', newest.id, '--state', 'dead'], { env })).code, 2);
  assert.equal((await runCommand(['events', 'tial'], { env })).code, 2);
});
