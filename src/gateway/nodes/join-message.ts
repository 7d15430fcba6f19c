import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type PeerMessage, PeerRefusal } from '../../nodes/links/peer-links.ts';
import type { SessionClaim } from '../home-admission.ts';
import type { RemoteConnectionFacts } from './remote-connection.ts';

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
