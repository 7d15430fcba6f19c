import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { suite, test } from 'node:test';
import { reporting } from '../../../kit/guarded-listeners.ts';
import { Channel } from './channel.ts';

suite('the channel of a handover', () => {
  test('gives each waiter the message that it waits for, in any order', async () => {
    const end = new EventEmitter();
    const channel = new Channel(end, reporting('test'));
    const [agents, serving] = [channel.next('agents_here'), channel.next('serving')];
    end.emit('message', { t: 'accepting_agents' });
    await new Promise(setImmediate);
    end.emit('message', { t: 'serving' });
    assert.deepEqual(await serving, { t: 'serving' });
    end.emit('message', { t: 'agents_here', missing: 0 });
    assert.deepEqual(await agents, { t: 'agents_here', missing: 0 });
    assert.deepEqual(await channel.next('accepting_agents'), { t: 'accepting_agents' });
  });

  test('reports a failure to everybody who waits, and afterwards', async () => {
    const end = new EventEmitter();
    const channel = new Channel(end, reporting('test'));
    const waiting = [channel.next('agents_here', 'failed'), channel.next('serving', 'failed')];
    const failed = { t: 'failed', message: 'no disk' };
    end.emit('message', failed);
    assert.deepEqual(await Promise.all(waiting), [failed, failed]);
    assert.deepEqual(await channel.next('serving', 'failed'), failed);
  });

  test('ignores what is no message, and does not keep a flood', async () => {
    const end = new EventEmitter();
    const channel = new Channel(end, reporting('test'));
    for (const other of [null, undefined, 'text', 7, [], {}, { t: 1 }]) end.emit('message', other);
    end.emit('message', { t: 'serving' });
    assert.deepEqual(await channel.next('serving'), { t: 'serving' });
    for (let count = 0; count < 1000; count += 1) end.emit('message', { t: 'agents_here', missing: count });
    end.emit('disconnect');
    let kept = 0;
    while ((await channel.next('agents_here')) !== null) kept += 1;
    assert.equal(kept, 64);
  });

  test('ends every wait when the other process is gone', async () => {
    const end = new EventEmitter();
    const channel = new Channel(end, reporting('test'));
    const waiting = [channel.next('serving'), channel.next('offer')];
    end.emit('disconnect');
    assert.deepEqual(await Promise.all(waiting), [null, null]);
    await channel.closed;
  });
});
