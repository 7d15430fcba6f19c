import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { AnnouncedSession, AnnouncedTunnel } from './announced.ts';

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
