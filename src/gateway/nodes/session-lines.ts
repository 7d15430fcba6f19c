import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { AgentSession } from '../agent-session.ts';
import { BoundTunnel } from '../bound-tunnel.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const sessionLine = Type.Object({
  session: Type.String(),
  credential_id: Type.String(),
  started_at: Type.String(),
  epoch: Type.Integer(),
  secret_hash: Type.String(),
  former_secret_hash: Type.Optional(Type.String()),
  generation: Type.Integer(),
  agent_version: Type.String(),
  os: Type.String(),
  metadata: Type.String(),
  remote_management: Type.Boolean(),
  problems: Type.Optional(Type.Array(Type.String())),
});

const tunnelLine = Type.Object({
  id: Type.String(),
  ref: Type.Integer(),
  started_at: Type.String(),
  endpoint_id: nullable(Type.String()),
  proto: nullable(Type.Enum(['http', 'https', 'tcp', 'tls'])),
  host: nullable(Type.String()),
  labels: nullable(Type.Record(Type.String(), Type.String())),
  metadata: Type.String(),
  forwards_to: Type.String(),
  modules: Type.Record(Type.String(), Type.Unknown()),
  public_url: nullable(Type.String()),
  hostport: nullable(Type.String()),
});

type TunnelLine = Static<typeof tunnelLine>;

const checkSession = Compile(sessionLine);
const checkTunnel = Compile(tunnelLine);

/** A session as its home describes it to a node that has a connection of the agent. */
export function sessionFields(session: AgentSession): JsonObject {
  const { hello } = session;
  return {
    session: session.id,
    credential_id: session.credentialId,
    started_at: session.startedAt,
    epoch: session.epoch,
    secret_hash: session.secretHash,
    ...(session.formerSecretHash !== null && { former_secret_hash: session.formerSecretHash }),
    generation: session.generation,
    agent_version: hello.agent_version,
    os: hello.os,
    metadata: hello.metadata,
    remote_management: hello.remote_management,
    ...(session.problems.length > 0 && { problems: [...session.problems] }),
  };
}

/** A new copy of the session, or the known copy with new values. Null: the line is wrong. */
export function copiedSession(line: JsonObject, known: AgentSession | undefined): AgentSession | null {
  if (!checkSession.Check(line)) return null;
  const { agent_version, os, metadata, remote_management } = line;
  const hello = { agent_version, os, metadata, remote_management };
  const session =
    known ??
    new AgentSession({ id: line.session, credentialId: line.credential_id, startedAt: line.started_at, hello });
  session.hello = hello;
  session.epoch = line.epoch;
  session.generation = line.generation;
  session.problems = line.problems ?? [];
  session.setSecretHashes(line.secret_hash, line.former_secret_hash ?? null);
  return session;
}

export function tunnelFields(tunnel: BoundTunnel): JsonObject {
  return {
    id: tunnel.id,
    ref: tunnel.ref,
    started_at: tunnel.startedAt,
    endpoint_id: tunnel.endpointId,
    proto: tunnel.proto,
    host: tunnel.host,
    labels: tunnel.labels,
    metadata: tunnel.metadata,
    forwards_to: tunnel.forwardsTo,
    modules: tunnel.modules as JsonObject,
    public_url: tunnel.publicUrl,
    hostport: tunnel.hostport,
  };
}

/** Null: the line is wrong. */
export function copiedTunnel(session: AgentSession, line: JsonValue | undefined): BoundTunnel | null {
  if (!checkTunnel.Check(line)) return null;
  const fields: TunnelLine = line;
  const known = session.tunnels.get(fields.id);
  const tunnel =
    known ??
    new BoundTunnel(session, {
      id: fields.id,
      startedAt: fields.started_at,
      endpointId: fields.endpoint_id,
      host: fields.host,
      bind: {
        t: 'bind',
        ref: fields.ref,
        metadata: fields.metadata,
        forwards_to: fields.forwards_to,
        modules: fields.modules,
        ...(fields.proto !== null && { proto: fields.proto }),
        ...(fields.labels !== null && { labels: fields.labels }),
      },
    });
  tunnel.ref = fields.ref;
  tunnel.metadata = fields.metadata;
  tunnel.forwardsTo = fields.forwards_to;
  tunnel.publicUrl = fields.public_url;
  tunnel.hostport = fields.hostport;
  return tunnel;
}
