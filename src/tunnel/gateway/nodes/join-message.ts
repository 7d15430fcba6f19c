import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { type PeerLinks, type PeerMessage, PeerRefusal } from '../../nodes/links/peer-links.ts';
import type { GatewayMessage } from '../../protocol/messages.ts';
import type { SessionClaim } from '../admission.ts';
import type { RemoteSessionConnection } from '../agent-session.ts';

const join = Type.Object({
  session: Type.String(),
  connection: Type.Integer(),
  address: Type.String(),
  how: Type.Enum(['join', 'resume']),
  credential: Type.String(),
  secret: Type.String(),
  agent_version: Type.String(),
  os: Type.String(),
  metadata: Type.String(),
  remote_management: Type.Boolean(),
});

const rejoin = Type.Object({
  session: Type.String(),
  connections: Type.Array(Type.Object({ number: Type.Integer(), address: Type.String() })),
});

const checkJoin = Compile(join);
const checkRejoin = Compile(rejoin);

export function joinMessage(
  { sessionId, number, remoteAddress }: Omit<RemoteConnectionFacts, 'nodeId'>,
  { how, credentialId, secret, hello }: SessionClaim,
): JsonObject {
  const { agent_version, os, metadata, remote_management } = hello;
  return {
    session: sessionId,
    connection: number,
    address: remoteAddress,
    how,
    credential: credentialId,
    secret,
    agent_version,
    os,
    metadata,
    remote_management,
  };
}

export function decodeJoin(
  message: PeerMessage,
  nodeId: string,
): { readonly facts: RemoteConnectionFacts; readonly claim: SessionClaim } {
  if (!checkJoin.Check(message)) throw malformed();
  const { session, connection, address, how, credential, secret, ...hello } = message;
  return {
    facts: { nodeId, number: connection, remoteAddress: address, sessionId: session },
    claim: { how, credentialId: credential, secret, hello },
  };
}

export function decodeRejoin(message: PeerMessage): {
  readonly sessionId: string;
  readonly connections: readonly { readonly number: number; readonly remoteAddress: string }[];
} {
  if (!checkRejoin.Check(message)) throw malformed();
  const connections = message.connections.map(({ number, address }) => ({ number, remoteAddress: address }));
  return { sessionId: message.session, connections };
}

export function stringsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

function malformed(): PeerRefusal {
  return new PeerRefusal('peer_message', 'a message has a wrong or missing field');
}

export interface RemoteConnectionFacts {
  readonly nodeId: string;
  readonly number: number;
  readonly remoteAddress: string;
  readonly sessionId: string;
}

interface RemoteConnectionParts {
  readonly links: Pick<PeerLinks, 'call'>;
  push(line: JsonObject): void;
  onClosed(connection: RemoteConnection): void;
}

/** An agent's connection on another node, seen by the session's home: messages travel over the peer link. */
export class RemoteConnection implements RemoteSessionConnection {
  readonly nodeId: string;
  readonly number: number;
  readonly remoteAddress: string;
  readonly #sessionId: string;
  readonly #parts: RemoteConnectionParts;
  #isClosed = false;

  constructor({ nodeId, number, remoteAddress, sessionId }: RemoteConnectionFacts, parts: RemoteConnectionParts) {
    this.nodeId = nodeId;
    this.number = number;
    this.remoteAddress = remoteAddress;
    this.#sessionId = sessionId;
    this.#parts = parts;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(message: GatewayMessage): void {
    this.#push({ do: 'send', message: message as unknown as JsonObject });
  }

  refuse(code: string, message: string, retry: boolean): void {
    this.#push({ do: 'refuse', code, reason: message, retry });
    this.lost();
  }

  fail(reason: string): void {
    this.#push({ do: 'fail', reason });
    this.lost();
  }

  close(): void {
    this.#push({ do: 'close' });
    this.lost();
  }

  async isAlive(withinMs: number): Promise<boolean> {
    const message = { connection: this.number, within_ms: withinMs };
    const answer = await this.#parts.links.call(this.nodeId, 'session.alive', message, withinMs).catch(() => null);
    return answer?.['alive'] === true;
  }

  /** The connection no longer exists on the other node, or that node is gone. */
  lost(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#parts.onClosed(this);
  }

  #push(line: JsonObject): void {
    if (!this.#isClosed) this.#parts.push({ session: this.#sessionId, connection: this.number, ...line });
  }
}
