import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { after } from 'node:test';
import { connect } from 'node:tls';
import type { HopWorld } from '../hop/hop-world.ts';
import { type LinkedNode, newNodeId } from '../support/link-world.ts';

export interface Rogue {
  readonly id: string;
  readonly session: ClientHttp2Session;
  readonly channel: ClientHttp2Stream;
  readonly received: () => Buffer;
}

/** A program with a certificate of the authority that opens a channel and writes what it wants. */
export async function rogueTo(world: HopWorld, node: LinkedNode): Promise<Rogue> {
  const id = newNodeId();
  world.links.installation.put(id);
  const { certificatePem: cert, privateKeyPem: key } = await world.links.authority.mint(id, Date.now());
  const identity = { cert, key, ca: world.links.authority.caPem, checkServerIdentity: () => undefined };
  const socket = connect({ host: '127.0.0.1', port: node.port, ALPNProtocols: ['postern-peer/1'], ...identity });
  socket.on('error', () => {});
  after(() => socket.destroy());
  await once(socket, 'secureConnect');
  const session = connectHttp2('https://node', { createConnection: () => socket });
  session.on('error', () => {});
  const pings = setInterval(() => session.destroyed || session.ping(() => {}), 500);
  session.once('close', () => clearInterval(pings));
  const channel = openChannel(session);
  const chunks: Buffer[] = [];
  channel.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [answer] = await once(channel, 'response');
  assert.equal(answer[':status'], 200);
  return { id, session, channel, received: () => Buffer.concat(chunks) };
}

export function openChannel(session: ClientHttp2Session): ClientHttp2Stream {
  const wanted = { ':method': 'POST', ':path': '/channel/1', ':authority': 'node' };
  return session.request(wanted, { endStream: false }).on('error', () => {});
}
