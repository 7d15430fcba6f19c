import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MemberWorld } from './support/member-world.ts';

const HOUR_MS = 3_600_000;

async function three(t: TestContext) {
  const world = MemberWorld.open(t);
  const [a, b, c] = [await world.join('a'), await world.join('b'), await world.join('c')];
  return { world, a, b, c };
}

suite('membership', { concurrency: true }, () => {
  test('every node sees the others, with what they say about themselves', async (t) => {
    const { world, a, b } = await three(t);
    assert.equal(a.seen, 'a ready, b ready, c ready');
    const problem = { code: 'tested', message: 'port 20001 is in use', advice: 'look', about: { id: 'nd_c' } };
    b.membership.setProblem('port', problem);
    await b.membership.setStatus('draining');
    await world.beat();
    assert.equal(a.seen, 'a ready, b draining, c ready');
    const row = a.membership.get('nd_b');
    assert.deepEqual([row?.problems, row?.peerAddress, row?.agents, row?.tunnels], [[problem], '127.0.0.1:2', 1, 2]);
    b.membership.setProblem('port', null);
    await world.pass(800);
    assert.deepEqual(a.membership.get('nd_b')?.problems, []);
  });

  test('a change is announced once', async (t) => {
    const { world, a, b, c } = await three(t);
    let changes = 0;
    a.membership.onChange(() => {
      changes += 1;
    });
    await world.pass(2_000);
    assert.equal(changes, 0);
    b.isStopped = true;
    await world.pass(2_000);
    assert.deepEqual([changes, a.seen], [1, 'a ready, b lost, c ready']);
    await c.membership.leave();
    c.isStopped = true;
    assert.deepEqual([changes, a.seen], [2, 'a ready, b lost']);
    await world.pass(600_000);
    assert.equal(a.seen, 'a ready', 'a lost node is listed for ten minutes');
  });

  test('a paused node serves nothing until what it owned is compared with the store', async (t) => {
    const { world, a } = await three(t);
    const compared = Promise.withResolvers<void>();
    let expiries = 0;
    a.membership.onLeaseExpired(() => {
      expiries += 1;
      return compared.promise;
    });
    a.isStopped = true;
    await world.pass(1_600);
    assert.equal(a.mayServe, false, 'at once, before anything else runs');
    assert.equal(a.membership.rightLeftMs(), 0);
    a.isStopped = false;
    await world.beat();
    assert.deepEqual([a.mayServe, expiries], [false, 1]);
    await world.pass(800);
    assert.deepEqual([a.mayServe, expiries], [false, 1]);
    compared.resolve();
    await turn();
    assert.equal(a.mayServe, true);
  });

  test('a comparison that fails is repeated, and nothing is served until it succeeds', async (t) => {
    const { world, a } = await three(t);
    let attempts = 0;
    a.membership.onLeaseExpired(async () => {
      attempts += 1;
      if (attempts < 3) throw new Error('the database is away again');
    });
    world.skip(1_600);
    await world.beat();
    assert.equal(a.mayServe, false);
    await world.pass(400);
    await turn();
    assert.equal(a.mayServe, false);
    await world.pass(400);
    await turn();
    assert.deepEqual([a.mayServe, attempts], [true, 3]);
  });

  test('an expiry whose report was lost is found with the next answer', async (t) => {
    const { world, a } = await three(t);
    let expiries = 0;
    a.membership.onLeaseExpired(() => {
      expiries += 1;
    });
    for (const other of world.members) other.cutFrom.add(a);
    world.skip(1_600);
    a.isAnswerLost = true;
    await world.beat();
    a.isAnswerLost = false;
    world.skip(100);
    await a.membership.beat();
    await turn();
    assert.equal(expiries, 1, 'the database no longer reports it');
    assert.equal(a.mayServe, true);
  });

  test('a node without the database renews through any peer that has it', async (t) => {
    const { world, a, b, c } = await three(t);
    a.hasDatabase = false;
    b.hasDatabase = false;
    await world.pass(10_000);
    assert.deepEqual([a.mayServe, b.mayServe, c.mayServe], [true, true, true]);
    assert.equal(c.seen, 'a ready, b ready, c ready');
    assert.equal(a.seen, 'a ready, b ready, c ready', 'it reads the nodes through the peer');
    a.cutFrom.add(c);
    await world.pass(1_600);
    assert.deepEqual([a.mayServe, b.mayServe], [false, true], 'its peer b has no database either');
    assert.equal(c.seen, 'a lost, b ready, c ready');
  });

  test('without the database all nodes go on while all are linked', async (t) => {
    const { world, a, b, c } = await three(t);
    const all = [a, b, c];
    for (const each of all) each.hasDatabase = false;
    for (let round = 0; round < 20; round += 1) {
      await world.pass(400);
      assert.deepEqual(
        all.map(({ mayServe }) => mayServe),
        [true, true, true],
        `round ${round}`,
      );
      for (const { membership } of all) assert.ok(membership.rightLeftMs() > 0 && membership.rightLeftMs() <= 1_450);
    }
    assert.equal(a.seen, 'a ready, b ready, c ready');
    // Back again: the comparison takes its time, and nobody else can have taken anything over.
    const compared = Promise.withResolvers<void>();
    const doubts: boolean[] = [];
    for (const each of all) {
      each.hasDatabase = true;
      each.membership.onLeaseExpired((isDoubtful) => {
        doubts.push(isDoubtful);
        return compared.promise;
      });
    }
    for (let round = 0; round < 10; round += 1) {
      await world.pass(400);
      assert.deepEqual(
        all.map(({ mayServe }) => mayServe),
        [true, true, true],
        `round ${round} after it came back`,
      );
    }
    assert.deepEqual(doubts, [false, false, false]);
    compared.resolve();
    await world.pass(2_000);
    assert.deepEqual(
      all.map(({ mayServe }) => mayServe),
      [true, true, true],
    );
  });

  for (const linkedMs of [0, 60_000]) {
    const outcome = linkedMs > 0 ? 'goes on without it if they were linked' : 'stops if others may have taken over';
    test(`a node that lost the database before the others ${outcome}`, async (t) => {
      const { world, a, b, c } = await three(t);
      a.hasDatabase = false;
      for (const each of [b, c]) Object.assign(each, { answersCalls: false, linkedMs });
      await world.pass(2_000);
      assert.equal(a.mayServe, false, 'the others have the database');
      for (const each of [b, c]) Object.assign(each, { answersCalls: true, hasDatabase: false });
      await world.pass(4_000);
      assert.deepEqual([a.mayServe, b.mayServe, c.mayServe], [linkedMs > 0, true, true]);
    });
  }

  test('a node that did not compare its names serves none without the database', async (t) => {
    const { world, a, b, c } = await three(t);
    const compared = Promise.withResolvers<void>();
    a.membership.onLeaseExpired(() => compared.promise);
    a.isStopped = true;
    await world.pass(2_000);
    a.isStopped = false;
    await world.pass(400);
    assert.equal(a.mayServe, false, 'others may have its names');
    for (const each of [a, b, c]) each.hasDatabase = false;
    await world.pass(4_000);
    assert.deepEqual([a.mayServe, b.mayServe, c.mayServe], [false, true, true]);
  });

  test('a node that finds another one that came meanwhile compares before it serves', async (t) => {
    const world = MemberWorld.open(t);
    const a = await world.join('a');
    const compared = Promise.withResolvers<void>();
    a.membership.onLeaseExpired(() => compared.promise);
    a.hasDatabase = false;
    await world.pass(2_000);
    a.isStopped = true;
    a.cutFrom.add(await world.join('b'));
    a.isStopped = false;
    await world.pass(2_000);
    assert.equal(a.mayServe, true, 'it knows of no other node');
    a.hasDatabase = true;
    await world.pass(400);
    assert.equal(a.mayServe, false);
    compared.resolve();
    await turn();
    assert.equal(a.mayServe, true);
  });

  test('a node that is cut off from another one stops when its lease ends', async (t) => {
    const { world, a, b, c } = await three(t);
    a.hasDatabase = false;
    b.hasDatabase = false;
    a.cutFrom.add(c);
    b.cutFrom.add(c);
    await world.pass(1_200);
    assert.deepEqual([a.mayServe, b.mayServe], [true, true], 'the leases are valid');
    await world.pass(400);
    assert.deepEqual([a.mayServe, b.mayServe, c.mayServe], [false, false, true]);
    assert.equal(c.seen, 'a lost, b lost, c ready');
    assert.equal(a.seen, 'a ready, b ready, c lost', 'links show who is there');
    a.cutFrom.clear();
    b.cutFrom.clear();
    await world.pass(400);
    assert.deepEqual([a.mayServe, b.mayServe], [false, false], 'c may have taken over meanwhile');
    c.hasDatabase = false;
    await world.pass(2_000);
    assert.deepEqual([a.mayServe, b.mayServe], [false, false], 'also when it has lost the database since then');
    c.hasDatabase = true;
    a.hasDatabase = true;
    await world.pass(400);
    await turn();
    assert.deepEqual([a.mayServe, b.mayServe], [true, false]);
  });

  test('a node that does not answer may have the database', async (t) => {
    const { world, a, b, c } = await three(t);
    for (const each of [a, b, c]) each.hasDatabase = false;
    await world.pass(4_000);
    c.answersCalls = false;
    await world.pass(800);
    assert.equal(a.mayServe, true);
    await world.pass(800);
    assert.equal(a.mayServe, false);
  });

  test('a paused node trusts no report from before the pause', async (t) => {
    const { world, a, b, c } = await three(t);
    for (const each of [a, b, c]) each.hasDatabase = false;
    await world.pass(4_000);
    assert.equal(a.mayServe, true);
    world.skip(10_000);
    assert.equal(a.mayServe, false);
  });

  test('a node that says farewell is not missed', async (t) => {
    const { world, a, b, c } = await three(t);
    for (const each of [a, b, c]) each.hasDatabase = false;
    await world.pass(2_000);
    await c.membership.leave();
    c.isStopped = true;
    await world.pass(4_000);
    assert.deepEqual([a.mayServe, b.mayServe, a.seen], [true, true, 'a ready, b ready']);
  });

  test('a lone node goes on without the database, but not after a pause', async (t) => {
    const world = MemberWorld.open(t);
    const a = await world.join('a');
    a.hasDatabase = false;
    await world.pass(60_000);
    assert.equal(a.mayServe, true);
    a.hasDatabase = true;
    await world.pass(400);
    await turn();
    world.skip(10_000);
    assert.equal(a.mayServe, false, 'another node may have come meanwhile');
    await world.beat();
    await turn();
    assert.equal(a.mayServe, true);
  });

  test('shared time is that of the database, and the own clock changes nothing', async (t) => {
    const { world, a } = await three(t);
    for (const jumpMs of [HOUR_MS, -HOUR_MS]) {
      const nowMs = Date.now();
      t.mock.method(Date, 'now', () => nowMs + jumpMs);
      await world.pass(2_000);
      assert.deepEqual([a.membership.nowMs(), a.mayServe, a.seen], [world.nowMs, true, 'a ready, b ready, c ready']);
      t.mock.restoreAll();
    }
    a.hasDatabase = false;
    world.skip(300);
    assert.equal(a.membership.nowMs(), world.nowMs, 'time passes without the database');
  });

  test('a node that differs in something that must be equal cannot join', async (t) => {
    const world = MemberWorld.open(t);
    const first = await world.join('first', { domain: 'one.example', secret_key_id: 'k1' });
    await assert.rejects(world.join('other', { domain: 'two.example', secret_key_id: 'k1' }), {
      code: 'ERR_POSTERN_NODE_DIFFERS',
      message: /domain is two\.example here and one\.example on the other nodes: set domain alike/,
    });
    await assert.rejects(world.join('stranger', { domain: 'one.example', secret_key_id: 'k2' }), /secret_key_id is k2/);
    await world.beat();
    assert.equal(first.seen, 'first ready', 'they left no trace');
    const rotating = await world.join('rotating', { domain: 'one.example', secret_key_id: 'k2,k1' });
    assert.equal(rotating.seen, 'first ready, rotating ready');
    assert.equal(rotating.agreed['secret_key_id'], 'k1', 'it uses the key that the others have');
    await first.membership.leave();
    await rotating.membership.leave();
    first.isStopped = true;
    rotating.isStopped = true;
    assert.equal((await world.join('next', { domain: 'two.example' })).seen, 'next ready');
  });
});

// The timers of this clock are those of the whole process.
suite('membership with a clock', () => {
  test('a database that does not answer stops no node, at whatever moment it falls silent', async (t) => {
    // Event loops that turn every 70 ms, and heartbeats that are out of step.
    for (const startMs of [0, 70, 140, 210, 280, 350]) {
      t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
      const { world, a, b, c } = await three(t);
      const all = [a, b, c];
      for (const [at, each] of all.entries()) {
        await world.live(t.mock.timers, at === 0 ? startMs : 140);
        each.membership.start();
      }
      await world.live(t.mock.timers, 840 + startMs / 2);
      for (const each of all) each.isDatabaseSilent = true;
      for (let ms = 0; ms < 6_000; ms += 70) {
        await world.live(t.mock.timers, 70);
        assert.deepEqual(
          all.map(({ mayServe }) => mayServe),
          [true, true, true],
          `${ms} ms after it fell silent, start after ${startMs} ms`,
        );
      }
      t.mock.timers.reset();
    }
  });
});
