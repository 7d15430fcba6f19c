import { setTimeout as sleep } from 'node:timers/promises';
import type { Static } from 'typebox';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { type PeerLinks, type PeerMessage, PeerRefusal } from '../../nodes/links/peer-links.ts';
import { AgentSession, BoundTunnel } from '../agent-session.ts';

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

/** A call has at most 64 KiB: three bytes per character, and the line's own quotes twice. */
const CHUNK_CHARACTERS = 20_000;
/** More than this waits only for a node that does not read. */
const MAX_WAITING_CHARACTERS = 8_388_608;
const CALL_WITHIN_MS = 1_500;
const AGAIN_MS = 50;
/** A node that is not linked for this long has lost its connections, or is gone. */
const GIVE_UP_AFTER_MS = 10_000;

interface OutboxParts {
  readonly links: Pick<PeerLinks, 'get' | 'call' | 'relay'>;
  readonly nodeId: string;
  readonly method: string;
  /** Lines were dropped: the caller must settle their subjects in another way. */
  onDropped(): void;
}

/**
 * Lines to another node: in order, each once, confirmed by the other node after it has carried them out. They travel in
 * numbered calls, because a call whose answer is lost may have been carried out.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #text = '';
  /** Above the numbers of earlier outboxes: the other node ignores numbers that it has seen. A call takes over 1 µs. */
  #number = Math.floor(performance.now() * 1_000);
  #isStart = true;
  #isSending = false;
  #pushed = 0;
  #confirmed = 0;
  #dropped = 0;
  /** Callers of `confirmed`. `upTo` counts characters from the first push. */
  readonly #waiting = new Set<{ readonly upTo: number; settle(isConfirmed: boolean): void }>();

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#confirmed === this.#pushed;
  }

  push(line: JsonObject): void {
    const text = `${JSON.stringify(line)}\n`;
    if (this.#text.length + text.length > MAX_WAITING_CHARACTERS) {
      this.drop();
      return;
    }
    this.#text += text;
    this.#pushed += text.length;
    if (!this.#isSending) void this.#send();
  }

  /** False: the lines were dropped, or the other node did not confirm them in time. */
  confirmed(timeoutMs: number): Promise<boolean> {
    if (this.isEmpty) return Promise.resolve(true);
    return new Promise((resolve) => {
      const one = {
        upTo: this.#pushed,
        settle: (isConfirmed: boolean) => {
          clearTimeout(timer);
          this.#waiting.delete(one);
          resolve(isConfirmed);
        },
      };
      const timer = setTimeout(() => one.settle(false), timeoutMs);
      this.#waiting.add(one);
    });
  }

  /** The other node is gone, or has lost track. */
  drop(): void {
    this.#text = '';
    this.#isStart = true;
    this.#confirmed = this.#pushed;
    this.#dropped += 1;
    for (const one of [...this.#waiting]) one.settle(false);
    this.#parts.onDropped();
  }

  async #send(): Promise<void> {
    const { links, nodeId, method } = this.#parts;
    this.#isSending = true;
    while (this.#text !== '') {
      const dropped = this.#dropped;
      this.#number += 1;
      const text = this.#text.slice(0, CHUNK_CHARACTERS);
      const message = { number: this.#number, start: this.#isStart, text };
      let isSent = false;
      let linkedAtMs = performance.now();
      while (!isSent && dropped === this.#dropped) {
        try {
          if (links.get(nodeId) === undefined) await links.relay(nodeId, method, message, CALL_WITHIN_MS);
          else await links.call(nodeId, method, message, CALL_WITHIN_MS);
          isSent = true;
        } catch (error) {
          if (dropped !== this.#dropped) break;
          if (links.get(nodeId) !== undefined) linkedAtMs = performance.now();
          if (error instanceof PeerRefusal || performance.now() - linkedAtMs > GIVE_UP_AFTER_MS) this.drop();
          else await sleep(AGAIN_MS, undefined, { ref: false });
        }
      }
      if (dropped !== this.#dropped) continue;
      this.#isStart = false;
      this.#text = this.#text.slice(text.length);
      this.#confirmed += text.length;
      for (const one of [...this.#waiting]) if (one.upTo <= this.#confirmed) one.settle(true);
    }
    this.#isSending = false;
  }
}

/** A line is a control message of an agent, at most 64 KiB, or a node's message about a session. */
const MAX_LINE_CHARACTERS = 262_144;

interface Sender {
  number: number;
  text: string;
}

/** The other end of `Outbox`: lines of each node in order, each once. */
export class Inbox {
  readonly #senders = new Map<string, Sender>();
  readonly #onLine: (line: JsonObject, nodeId: string) => void;

  constructor(onLine: (line: JsonObject, nodeId: string) => void) {
    this.#onLine = onLine;
  }

  receive({ number, start, text }: PeerMessage, nodeId: string): void {
    if (typeof number !== 'number' || typeof text !== 'string') {
      throw new PeerRefusal('peer_message', 'a message has a wrong field');
    }
    const sender = this.#senders.get(nodeId) ?? { number: 0, text: '' };
    this.#senders.set(nodeId, sender);
    // The message was carried out before, and the answer was lost.
    if (number <= sender.number) return;
    // The sender starts over with whole lines after it dropped some.
    if (start === true) sender.text = '';
    else if (number !== sender.number + 1) throw new PeerRefusal('peer_message', 'a message is missing');
    sender.number = number;
    const lines = (sender.text + text).split('\n');
    sender.text = lines.pop() ?? '';
    if (sender.text.length > MAX_LINE_CHARACTERS) {
      sender.text = '';
      throw new PeerRefusal('peer_message', 'a line is too long');
    }
    for (const line of lines) this.#line(line, nodeId);
  }

  forgetGone(isGone: (nodeId: string) => boolean): void {
    for (const nodeId of [...this.#senders.keys()]) if (isGone(nodeId)) this.#senders.delete(nodeId);
  }

  #line(line: string, nodeId: string): void {
    try {
      const value: unknown = JSON.parse(line);
      if (isJsonObject(value)) this.#onLine(value, nodeId);
    } catch (error) {
      // One wrong line of one node must not end the sessions of other nodes.
      reportBug(error, { part: 'session messages', node: nodeId });
    }
  }
}
