import assert from 'node:assert/strict';
import type { ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { SharedPlaces } from '../../../kit/net/shared-places.ts';
import type { Carried } from '../../../proxy/upstream/upstream.ts';
import { OutgoingChannel } from './outgoing-channel.ts';

const carried: Carried = {
  ...{ onInformational: () => {}, onBodyWanted: () => {}, onResponse: () => null, onData: () => true, onEnd: () => {} },
  ...{ onDrain: () => {}, onBodyProblem: () => {}, onClose: () => {} },
  contain: (error) => {
    throw error;
  },
};

suite('a channel that ends', () => {
  test('sends what its last exchange has written', async () => {
    const written: Buffer[] = [];
    const stream = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        written.push(chunk);
        done();
      },
    });
    let isReleased = false;
    const channel = new OutgoingChannel(stream as unknown as ClientHttp2Stream, {
      onBroken: (why) => assert.fail(why),
      onAccepted: () => {},
      onClosed: () => {},
      places: new SharedPlaces(1_000),
      onReleased: () => {
        isReleased = true;
        channel.end();
      },
    });
    const place = channel.open([':method', 'GET'], { hasBody: false, mayHaveTrailers: false }, carried);
    place.release(true);
    await turn();
    assert.equal(isReleased, true);
    const bytes = Buffer.concat(written);
    // The request, and a reset with CANCEL.
    assert.equal(bytes.readUInt8(3), 1);
    assert.equal(bytes.readUInt32BE(bytes.length - 4), 8);
    assert.equal(bytes.readUInt8(bytes.length - 11), 6);
  });
});

suite('a channel that is broken', () => {
  test('tells its owner once, in a later turn, and survives an owner with a bug', async () => {
    const stream = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
    const problems: string[] = [];
    new OutgoingChannel(stream as unknown as ClientHttp2Stream, {
      onBroken: (why) => {
        problems.push(why);
        throw new Error('a bug of the owner');
      },
      onAccepted: () => {},
      onClosed: () => {},
      places: new SharedPlaces(1_000),
      onReleased: () => {},
    });
    const request = Buffer.alloc(12);
    request.writeUIntBE(2, 0, 3);
    request.writeUInt8(1, 3);
    stream.push(request);
    stream.push(request);
    assert.deepEqual(problems, []);
    await turn();
    await turn();
    assert.deepEqual(problems, ['a request from the node with the agent']);
  });
});
