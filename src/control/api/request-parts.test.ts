import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { LargeBodies } from './request-parts.ts';

const refusal = { code: 'ERR_POSTERN_TOO_MANY_LARGE_BODIES', status: 503, headers: { 'retry-after': '10' } };

suite('large bodies', () => {
  test('admit two of one key and four in all, until they leave', () => {
    const bodies = new LargeBodies();
    const first = bodies.admit('a');
    bodies.admit('a');
    assert.throws(() => bodies.admit('a'), refusal);
    bodies.admit('b');
    bodies.admit('c');
    assert.throws(() => bodies.admit('d'), refusal);
    first.leave();
    bodies.admit('a');
    assert.throws(() => bodies.admit('d'), refusal);
  });

  test('run one at a time, in order, without those that left', async () => {
    const bodies = new LargeBodies();
    const [first, second, third] = [bodies.admit('a'), bodies.admit('b'), bodies.admit('c')];
    await first.body.turn();
    const order: string[] = [];
    void second.body.turn().then(() => order.push('second'));
    const last = third.body.turn().then(() => order.push('third'));
    second.leave();
    await Promise.resolve();
    assert.equal(order.length, 0);
    first.body.endTurn();
    await last;
    assert.equal(order.join(), 'third');
    // A body ends its turn once, however often it says so.
    first.leave();
    const fourth = bodies.admit('d');
    const waiting = fourth.body.turn().then(() => order.push('fourth'));
    await Promise.resolve();
    assert.equal(order.join(), 'third');
    third.body.endTurn();
    await waiting;
  });

  test('keep their place while they run, also when their client has gone', async () => {
    const bodies = new LargeBodies();
    const [first, second] = [bodies.admit('a'), bodies.admit('a')];
    await first.body.turn();
    let hasTurn = false;
    const turn = second.body.turn().then(() => {
      hasTurn = true;
    });
    first.leave();
    await Promise.resolve();
    assert.equal(hasTurn, false);
    assert.throws(() => bodies.admit('a'), refusal);
    first.body.endTurn();
    await turn;
    bodies.admit('a');
    assert.throws(() => bodies.admit('a'), refusal);
  });

  test('are refused if their turn does not come in time', async () => {
    const bodies = new LargeBodies(1);
    const [first, second] = [bodies.admit('a'), bodies.admit('b')];
    await first.body.turn();
    await assert.rejects(second.body.turn(), refusal);
    first.body.endTurn();
    await second.body.turn();
  });
});
