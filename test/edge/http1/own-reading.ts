import type { Socket } from 'node:net';
import { Http1Client } from '../../../src/proxy/edge/http/http1-client.ts';
import type { IncomingRequest } from '../../../src/proxy/edge/http/incoming-request.ts';
import { SmallPieces } from '../../../src/proxy/edge/http/small-pieces.ts';
import { type AcceptedRequest, forwardable, LIMITS, type Reading, RULES, send } from './reading.ts';

/** What the edge makes of the bytes. */
export async function ownReading(pieces: readonly Buffer[]): Promise<Reading> {
  const reading: Reading = { accepted: [], isRefused: false };
  const handle = (_facts: unknown, { reading: head, writer, source, trailers }: IncomingRequest): void => {
    if (!head.ok) {
      reading.isRefused = true;
      writer.answer(400, [], Buffer.from('refused'));
      return;
    }
    const isSwitch = head.head.switchTo !== null;
    const state = isSwitch ? 'switched' : source === null ? 'whole' : 'open';
    const accepted: AcceptedRequest = { head: head.head, body: '', trailers: [], state };
    reading.accepted.push(accepted);
    if (isSwitch) return;
    // Otherwise nobody knows whether a body follows, and the connection ends.
    if (head.head.expectsContinue) writer.informational(100, []);
    const answer = (): void => writer.answer(200, [], Buffer.from('accepted'));
    writer.onGone = (problem) => {
      if (problem === undefined) return;
      accepted.state = 'broken';
      reading.isRefused = true;
      answer();
    };
    if (source === null) {
      answer();
      return;
    }
    source.on('data', (chunk: Buffer) => {
      accepted.body += chunk.toString('latin1');
    });
    source.on('end', () => {
      accepted.state = 'whole';
      accepted.trailers = forwardable(trailers(), head.head.method);
      answer();
    });
  };
  await send(pieces, (stream) => {
    const socket = Object.assign(stream, { destroySoon: () => stream.destroy(), bytesRead: 1 }) as unknown as Socket;
    const facts = {
      ...{ serverName: 'a', edgeId: 'e', tlsGeneration: '', tlsVersion: '', clientAuthorities: [] },
      ...{ remoteAddress: '127.0.0.1', isFromProxy: false, clientCertificate: null },
    };
    new Http1Client(socket, facts, {
      ...{ scheme: 'https', limits: LIMITS, rules: RULES, drain: { isDraining: false }, keepAlive: '' },
      turns: { run: (task) => task() },
      smallPieces: new SmallPieces(),
      maxHeadBytes: LIMITS.maxHeaderBytes + 3200,
      handle,
    }).open();
  });
  return reading;
}
