import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { DoubledNameError, parseUniqueJson } from '../../kit/json.ts';
import { MAX_OTHER_NODES, MAX_PROBLEM_LENGTH, MAX_PROBLEMS } from './protocol.ts';

const text = (maxLength: number) => Type.String({ maxLength });
const claim = Type.Object({ session: text(64), secret: text(64) });

/** An agent's identity: the first message of every connection. */
const hello = Type.Object({
  t: Type.Literal('hello'),
  version: Type.Integer({ minimum: 1 }),
  token: text(256),
  agent_version: text(64),
  os: text(64),
  metadata: text(4096),
  remote_management: Type.Boolean(),
  /** Takes over a session whose connections were lost. */
  resume: Type.Optional(claim),
  /** Adds a connection to a session. */
  join: Type.Optional(claim),
});

/** Instead of hello: exchanges the secret of an invitation for a credential with the token that the agent chose. */
const enroll = Type.Object({
  t: Type.Literal('enroll'),
  version: Type.Integer({ minimum: 1 }),
  secret: text(64),
  token: text(256),
  /** Host name of the agent's machine. */
  name: text(253),
});

const bind = Type.Object({
  t: Type.Literal('bind'),
  /** The agent's own number for the tunnel. */
  ref: Type.Integer({ minimum: 0 }),
  /** After a resume: the tunnel's previous id. */
  id: Type.Optional(text(64)),
  proto: Type.Optional(Type.Enum(['http', 'https', 'tcp', 'tls'])),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** Requested host, for http, https and tls. */
  domain: Type.Optional(text(253)),
  /** Requested port, for tcp. */
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  metadata: text(4096),
  forwards_to: text(2048),
  /** The modules of an ephemeral endpoint, by name. The server decodes each by the module's own form. */
  modules: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

const unbind = Type.Object({ t: Type.Literal('unbind'), ref: Type.Integer({ minimum: 0 }) });
/** A clean end: nothing of the session is kept. */
const bye = Type.Object({ t: Type.Literal('bye') });
const done = Type.Object({
  t: Type.Literal('done'),
  id: Type.Integer({ minimum: 0 }),
  ok: Type.Boolean(),
  message: text(1024),
});

/** What is wrong on the agent's machine. Replaces what the session reported before. */
const problems = Type.Object({
  t: Type.Literal('problems'),
  problems: Type.Array(text(MAX_PROBLEM_LENGTH), { maxItems: MAX_PROBLEMS }),
});

/** Other servers of the same installation that accept agents. */
const otherNodes = Type.Array(
  Type.Object({
    id: text(64),
    name: text(256),
    /** `host:port` to dial for this node. Null: a balancer in front of all nodes chooses. */
    address: Type.Union([text(264), Type.Null()]),
  }),
  { maxItems: MAX_OTHER_NODES },
);

const welcome = Type.Object({
  t: Type.Literal('welcome'),
  session: text(64),
  /** Proof for a resume or join; null on a connection that joined. */
  secret: Type.Union([text(64), Type.Null()]),
  generation: Type.Integer({ minimum: 1 }),
  region: text(64),
  connections: Type.Integer({ minimum: 1, maximum: 16 }),
  resumed: Type.Boolean(),
  /** The server that has this connection. */
  node: Type.Optional(Type.Object({ id: text(64), name: text(256) })),
  nodes: Type.Optional(otherNodes),
});
/** The other nodes have changed. */
const nodes = Type.Object({ t: Type.Literal('nodes'), nodes: otherNodes });
/** The token is valid from now on. */
const enrolled = Type.Object({
  t: Type.Literal('enrolled'),
  credential: text(64),
  acl: Type.Array(text(520), { maxItems: 1_000 }),
});
const refused = Type.Object({
  t: Type.Literal('refused'),
  code: text(128),
  message: text(2048),
  /** Whether the same request may succeed later. */
  retry: Type.Boolean(),
});
const bound = Type.Object({
  t: Type.Literal('bound'),
  ref: Type.Integer({ minimum: 0 }),
  id: text(64),
  public_url: Type.Optional(text(2048)),
  proto: Type.Optional(Type.Enum(['http', 'https', 'tcp', 'tls'])),
  region: text(64),
});
const unbound = Type.Object({
  t: Type.Literal('unbound'),
  ref: Type.Integer({ minimum: 0 }),
  code: text(128),
  message: text(2048),
  retry: Type.Boolean(),
});
const command = Type.Object({
  t: Type.Literal('command'),
  id: Type.Integer({ minimum: 0 }),
  command: Type.Enum(['stop', 'restart', 'update']),
});
const drain = Type.Object({
  t: Type.Literal('drain'),
  /** How long the server may still send requests on this connection after the last one has ended. */
  quiet_ms: Type.Optional(Type.Integer({ minimum: 0 })),
});

export type Hello = Static<typeof hello>;
export type Enroll = Static<typeof enroll>;
export type Enrolled = Static<typeof enrolled>;
export type Bind = Static<typeof bind>;
export type { EndpointModules } from '../../proxy/edge/tunnels/endpoints.ts';
export type Welcome = Static<typeof welcome>;
export type OtherNode = Static<typeof otherNodes>[number];
export type Refused = Static<typeof refused>;
export type Bound = Static<typeof bound>;
export type Unbound = Static<typeof unbound>;
export type Command = Static<typeof command>;
export type Done = Static<typeof done>;
export type AgentMessage =
  | Hello
  | Enroll
  | Bind
  | Static<typeof unbind>
  | Static<typeof bye>
  | Done
  | Static<typeof problems>;
export type GatewayMessage =
  | Welcome
  | Enrolled
  | Refused
  | Bound
  | Unbound
  | Command
  | Static<typeof drain>
  | Static<typeof nodes>;

/** `ignored`: a type that a newer peer may know. */
export type Decoded<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: true; readonly ignored: string }
  | { readonly ok: false; readonly reason: string };

type Decoder = { Check(value: unknown): boolean };

const agentDecoders = decoders({ hello, enroll, bind, unbind, bye, done, problems });
const gatewayDecoders = decoders({ welcome, enrolled, refused, bound, unbound, command, drain, nodes });

/** Unknown fields are ignored, so that either end can be newer than the other. */
export function decodeAgentMessage(line: string): Decoded<AgentMessage> {
  return decode(line, agentDecoders);
}

export function decodeGatewayMessage(line: string): Decoded<GatewayMessage> {
  return decode(line, gatewayDecoders);
}

function decoders(schemas: Readonly<Record<string, TSchema>>): ReadonlyMap<string, Decoder> {
  return new Map(Object.entries(schemas).map(([name, schema]) => [name, Compile(schema)]));
}

function decode<Message>(line: string, known: ReadonlyMap<string, Decoder>): Decoded<Message> {
  let value: unknown;
  try {
    value = parseUniqueJson(line);
  } catch (error) {
    const reason =
      error instanceof DoubledNameError ? 'a control message has a name twice' : 'a control message is not JSON';
    return { ok: false, reason };
  }
  if (typeof value !== 'object' || value === null || !('t' in value) || typeof value.t !== 'string') {
    return { ok: false, reason: 'a control message is not an object with a type' };
  }
  const decoder = known.get(value.t);
  if (decoder === undefined) return { ok: true, ignored: value.t };
  if (!decoder.Check(value))
    return { ok: false, reason: `a control message of type ${value.t} has a wrong or missing field` };
  return { ok: true, message: value as Message };
}
