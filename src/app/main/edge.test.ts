import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { StartGate } from './edge.ts';

suite('StartGate', () => {
  test('lets connections wait until it opens, in order, except those that are gone', () => {
    const gate = new StartGate();
    const entered: number[] = [];
    const sockets = [1, 2, 3].map((number) => {
      const socket = new Socket();
      gate.pass(socket, () => entered.push(number));
      return socket;
    });
    sockets[1]?.destroy(new Error('reset by the visitor'));
    assert.equal(entered.length, 0);
    gate.open();
    assert.deepEqual(entered, [1, 3]);
    gate.pass(new Socket(), () => entered.push(4));
    assert.deepEqual(entered, [1, 3, 4]);
  });

  test('closes what waits when the server stops before it has started, and what is too much', () => {
    const gate = new StartGate();
    const entered: number[] = [];
    const sockets = Array.from({ length: 4_097 }, (_each, number) => {
      const socket = new Socket();
      gate.pass(socket, () => entered.push(number));
      return socket;
    });
    assert.deepEqual(
      sockets.flatMap(({ destroyed }, at) => (destroyed ? at : [])),
      [4_096],
    );
    gate.close();
    assert.ok(sockets.every(({ destroyed }) => destroyed));
    assert.deepEqual(entered, []);
  });
});
