import type { Static, TSchema } from 'typebox';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { JsonObject } from '../../../kit/json.ts';
import { RepeatedWarnings } from '../../../kit/repeated-warnings.ts';
import type { EndpointModules } from '../../protocol/messages.ts';

/**
 * A node announces the sessions and tunnels that it can reach over a connection of its own. Two nodes with connections
 * of the same session both announce it, with the same home and epoch; the highest epoch is right.
 */
export interface AnnouncedSession {
  readonly id: string;
  readonly credentialId: string;
  /** The node that decides about the session, and that gets its control messages. */
  readonly homeNodeId: string;
  readonly epoch: number;
  /** Set by the home: the other nodes with a connection of the agent. A node that is not listed is no holder. */
  readonly holders?: readonly string[];
  /** The document that `GET /tunnel_sessions` shows. */
  readonly doc: JsonObject;
}

export interface AnnouncedTunnel {
  readonly id: string;
  readonly sessionId: string;
  readonly epoch: number;
  /** The document that `GET /tunnels` shows. */
  readonly doc: JsonObject;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly forwardsTo: string;
  /** For a tunnel with a public address, published on every node. */
  readonly endpoint: AnnouncedEndpoint | null;
}

export interface AnnouncedEndpoint {
  readonly id: string;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls';
  readonly host: string | null;
  readonly port: number | null;
  /** May contain secrets: modules travel over peer links only and are never logged. */
  readonly modules: EndpointModules;
  /** The document that `GET /endpoints` shows. */
  readonly doc: JsonObject;
}

/** The gateway announces what this node reaches. Calls are cheap; followers get the changes in order. */
export interface Announcer {
  putSession(session: AnnouncedSession): void;
  removeSession(id: string): void;
  putTunnel(tunnel: AnnouncedTunnel): void;
  removeTunnel(id: string): void;
}

/** The announcements of linked nodes. */
export interface RemoteDirectory {
  /** Null unless a linked node announces the session. `holders` are node ids, the home first. */
  session(id: string): { readonly session: AnnouncedSession; readonly holders: readonly string[] } | null;
  sessions(): Iterable<AnnouncedSession>;
  tunnelsOf(sessionId: string): readonly AnnouncedTunnel[];
  /** The session that has this name on another node: `tls app.example.com`. */
  nameHolder(key: string): { readonly sessionId: string; readonly nodeId: string } | null;
  /** The home no longer announces a session. The home may still be alive. */
  onHomeLost(listener: (session: AnnouncedSession, tunnels: readonly AnnouncedTunnel[]) => void): () => void;
}

/** A node's statement about one session: the node can reach the agent, and the session has these tunnels. */
export interface Claim {
  readonly by: Announcement;
  session: AnnouncedSession;
  readonly tunnels: Map<string, AnnouncedTunnel>;
}

/**
 * Everything that one node announces in one feed. A feed that is opened again makes a new announcement, which replaces
 * the old announcement once the new one is complete.
 */
export class Announcement {
  readonly nodeId: string;
  /** Whether this is the announcement of this node itself. */
  readonly isOwn: boolean;
  readonly claims = new Map<string, Claim>();
  tunnelCount = 0;
  /** False: the link is lost, or a newer announcement counts. Its claims do not count, even if still indexed. */
  isUp = true;

  constructor(nodeId: string, isOwn = false) {
    this.nodeId = nodeId;
    this.isOwn = isOwn;
  }
}

export const DIRECTORY_FEED = 'directory';
export const FEED_VERSION = 1;
const MAX_LINE_LENGTH = 262_144;
/** One node announces at most this many tunnels, and this many sessions. */
export const MAX_ANNOUNCED_TUNNELS = 100_000;

const id = Type.String({ minLength: 1, maxLength: 64 });
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const doc = Type.Record(Type.String(), Type.Unknown());
const seq = Type.Optional(count);

const session = Type.Object({
  id,
  credentialId: id,
  homeNodeId: id,
  epoch: count,
  holders: Type.Optional(Type.Array(id, { maxItems: 256 })),
  doc,
});
const endpoint = Type.Object({
  id,
  proto: Type.Enum(['http', 'https', 'tcp', 'tls']),
  host: Type.Union([Type.String({ minLength: 1, maxLength: 253 }), Type.Null()]),
  port: Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()]),
  modules: Type.Record(Type.String(), Type.Unknown()),
  doc,
});
const tunnel = Type.Object({
  id,
  sessionId: id,
  epoch: count,
  doc,
  labels: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
  forwardsTo: Type.String({ maxLength: 2048 }),
  endpoint: Type.Union([endpoint, Type.Null()]),
});

/** A snapshot starts; changes that follow are counted from `seq`. */
const begin = Type.Object({ t: Type.Literal('begin'), v: Type.Integer({ minimum: 1 }), seq: count });
const end = Type.Object({ t: Type.Literal('end') });
/** A line without `seq` is an item of the snapshot, a line with `seq` is a change. */
const sessionLine = Type.Object({ t: Type.Literal('session'), seq, session });
const tunnelLine = Type.Object({ t: Type.Literal('tunnel'), seq, tunnel });
const noSession = Type.Object({ t: Type.Literal('no_session'), seq: count, id });
const noTunnel = Type.Object({ t: Type.Literal('no_tunnel'), seq: count, id, sessionId: id });

export type FeedLine =
  | Static<typeof begin>
  | Static<typeof end>
  | { readonly t: 'session'; readonly seq?: number; readonly session: AnnouncedSession }
  | { readonly t: 'tunnel'; readonly seq?: number; readonly tunnel: AnnouncedTunnel }
  | Static<typeof noSession>
  | Static<typeof noTunnel>;

/** `ignored`: a type of line that a newer node may know. The line's number counts. */
export type DecodedLine =
  | { readonly ok: true; readonly line: FeedLine }
  | { readonly ok: true; readonly ignored: string; readonly seq: number | undefined }
  | { readonly ok: false; readonly reason: string };

const decoders = new Map<string, { Check(value: unknown): boolean }>(
  Object.entries<TSchema>({
    begin,
    end,
    session: sessionLine,
    tunnel: tunnelLine,
    no_session: noSession,
    no_tunnel: noTunnel,
  }).map(([name, schema]) => [name, Compile(schema)]),
);

/** Unknown fields are ignored: either node can be newer. A reason never quotes the line: lines may hold secrets. */
export function decodeLine(text: string): DecodedLine {
  if (text.length > MAX_LINE_LENGTH) return { ok: false, reason: 'a line is too long' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'a line is not JSON' };
  }
  if (typeof value !== 'object' || value === null || !('t' in value) || typeof value.t !== 'string') {
    return { ok: false, reason: 'a line is not an object with a type' };
  }
  const decoder = decoders.get(value.t);
  if (decoder === undefined) {
    const number = 'seq' in value && typeof value.seq === 'number' ? value.seq : undefined;
    return { ok: true, ignored: value.t, seq: number };
  }
  if (!decoder.Check(value)) return { ok: false, reason: `a line of type ${value.t} has a wrong or missing field` };
  const line = value as FeedLine;
  const problem = line.t === 'tunnel' ? tunnelProblem(line.tunnel) : null;
  return problem === null ? { ok: true, line } : { ok: false, reason: problem };
}

function tunnelProblem({ endpoint: published, labels }: AnnouncedTunnel): string | null {
  if ((published === null) === (labels === null)) return 'a tunnel has either an endpoint or labels';
  if (published === null) return null;
  const isPort = published.proto === 'tcp';
  if (isPort !== (published.port !== null) || isPort !== (published.host === null)) {
    return 'an endpoint of tcp has a port, every other one a host';
  }
  return null;
}

/** Announcements that were refused. `facts` are ids, names and numbers, never a whole announcement. */
export interface RefusalLog {
  refused(nodeId: string, reason: string, facts: Readonly<Record<string, string | number>>): void;
}

export class LoggedRefusals implements RefusalLog {
  readonly #log: RepeatedWarnings;

  constructor(log: { warn(fields: object, message: string): void }) {
    this.#log = new RepeatedWarnings(log, 'refused an announcement of another node');
  }

  refused(nodeId: string, reason: string, facts: Readonly<Record<string, string | number>>): void {
    this.#log.warn({ peer_id: nodeId, why: reason, ...facts }, `${nodeId} ${reason}`);
  }
}
