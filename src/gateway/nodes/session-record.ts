import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { JsonObject } from '../../lib/json.ts';
import type { StoredSession } from '../../store/node-store.ts';
import { AgentSession } from '../agent-session.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const reservedTunnel = Type.Object({
  id: Type.String(),
  ref: Type.Integer(),
  endpoint_id: nullable(Type.String()),
  proto: nullable(Type.Enum(['http', 'https', 'tcp', 'tls'])),
  host: nullable(Type.String()),
  port: nullable(Type.Integer()),
  labels: nullable(Type.Record(Type.String(), Type.String())),
  started_at: Type.String(),
});

const record = Type.Object({
  secret_hash: Type.String(),
  /** Absent: the agent has the current secret. */
  former_secret_hash: Type.Optional(Type.String()),
  generation: Type.Integer({ minimum: 1 }),
  started_at: Type.String(),
  agent_version: Type.String(),
  os: Type.String(),
  metadata: Type.String(),
  remote_management: Type.Boolean(),
  tunnels: Type.Array(reservedTunnel),
});

/** A tunnel in the store: enough to bind it with the same ids and name again. No modules: these may contain secrets. */
export type ReservedTunnel = Static<typeof reservedTunnel>;

const check = Compile(record);

/** The record that lets another node resume the session. */
export function sessionRecord(session: AgentSession): JsonObject {
  const { hello } = session;
  return {
    secret_hash: session.secretHash,
    ...(session.formerSecretHash !== null && { former_secret_hash: session.formerSecretHash }),
    generation: session.generation,
    started_at: session.startedAt,
    agent_version: hello.agent_version,
    os: hello.os,
    metadata: hello.metadata,
    remote_management: hello.remote_management,
    tunnels: [
      ...session.reserved.values(),
      ...[...session.tunnels.values()].map((tunnel) => ({
        id: tunnel.id,
        ref: tunnel.ref,
        endpoint_id: tunnel.endpointId,
        proto: tunnel.proto,
        host: tunnel.host,
        port: tunnel.port,
        labels: tunnel.labels,
        started_at: tunnel.startedAt,
      })),
    ],
  };
}

/** Null: another version wrote the record, and this version does not understand it. */
export function sessionOfRecord({ id, credentialId, epoch, doc }: StoredSession): AgentSession | null {
  if (!check.Check(doc)) return null;
  const { agent_version, os, metadata, remote_management } = doc;
  const hello = { agent_version, os, metadata, remote_management };
  const session = new AgentSession({ id, credentialId, startedAt: doc.started_at, hello });
  session.epoch = epoch;
  session.generation = doc.generation;
  session.setSecretHashes(doc.secret_hash, doc.former_secret_hash ?? null);
  for (const tunnel of doc.tunnels) session.reserved.set(tunnel.id, tunnel);
  return session;
}
