// Process of test modules: they are shared by everything in a process.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import Type from 'typebox';
import type { Verdict } from '../../../src/modules/contract/decides.ts';
import { defineModule, enabledField, type Module } from '../../../src/modules/contract/module.ts';
import { modules } from '../../../src/modules/registry.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { begin, PROTOCOLS } from './hooked-client.ts';

const TIMES = 1_000;
const AT_ONCE = 50;

/** Counts its calls, wherever they come from: real modules keep counters, budgets and ledgers. */
function countingModule(name: string, decidesAccess: boolean, counts: { asked: number; acted: number }): Module {
  const count = (what: keyof typeof counts) => (): Verdict => {
    counts[what] += 1;
    return { isPass: true, reason: 'counted' };
  };
  return defineModule({
    name,
    on: ['requests'],
    decidesAccess,
    readsPath: false,
    title: `The ${name} module`,
    description: 'For tests.',
    config: Type.Object({ enabled: enabledField }),
    example: {},
    prepare: () => ({ ok: true, prepared: { judge: count('asked'), admit: count('acted') } }),
  });
}

async function times(task: (at: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < TIMES; at += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => task(at + index)));
  }
}

test('explanations and changes of the configuration over open streams count as no request', async () => {
  const [limit, login] = [
    { asked: 0, acted: 0 },
    { asked: 0, acted: 0 },
  ];
  const own = [countingModule('a_limit', false, limit), countingModule('a_login', true, login)];
  const world = await EdgeWorld.open({ after }, {}, { modules: [...own, ...modules] });
  const upstream = await recordingUpstream({ after });
  upstream.answer = (_request: IncomingMessage, response: ServerResponse) => void response.write('open');
  const { host, edgeId, routePath } = await world.site(await world.staticBackend(upstream.address));
  const guests = await world.route(edgeId, '/guests');
  for (const path of [routePath, guests]) for (const { name } of own) await world.api('PUT', `${path}/${name}`, {});
  await world.api('PUT', `${guests}/access`, { allow: [{ guests: true }] });
  const streams = [];
  for (const protocol of PROTOCOLS) {
    const sent = await begin(world, host, protocol);
    sent.outgoing.end();
    const { incoming, status } = await sent.answered;
    assert.equal(status, 200);
    streams.push({ incoming: incoming.on('error', () => {}).resume(), outgoing: sent.outgoing });
  }
  assert.deepEqual(
    [limit, login],
    [
      { asked: 0, acted: 2 },
      { asked: 0, acted: 2 },
    ],
  );

  await times(() => world.api('POST', '/explain', { url: `https://${host}/` }));
  assert.deepEqual(
    [limit, login],
    [
      { asked: TIMES, acted: 2 },
      { asked: TIMES, acted: 2 },
    ],
  );

  await times((at) => world.api('PUT', `${routePath}/compression`, { enabled: at % 2 === 0 }));
  assert.deepEqual(limit, { asked: TIMES, acted: 2 }, 'a limit does not even look at a stream in progress');
  assert.equal(login.acted, 2);
  assert.ok(login.asked > TIMES, 'who decides access judges streams in progress again');
  for (const { incoming } of streams) assert.equal(incoming.destroyed, false);

  // A path of a module of its own meets who decides access, and no limit.
  const before = { ...login };
  assert.notEqual((await world.ask(host, '/.postern/guest')).status, 404);
  assert.deepEqual(limit, { asked: TIMES, acted: 2 });
  assert.deepEqual([login.acted, login.asked > before.asked], [2, true]);
  for (const { outgoing, incoming } of streams) {
    outgoing.destroy();
    incoming.destroy();
  }
});
