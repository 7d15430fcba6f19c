import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import { notOnline, resourceErrors } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { Operation } from '../operation.ts';
import type { OnlineItem, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export type SessionCommand = 'stop' | 'restart' | 'update';

/** Sends commands to the process that holds an agent's session. */
export interface SessionCommands {
  /** `refused`: the agent's message. */
  send(sessionId: string, command: SessionCommand): Promise<'accepted' | 'unreachable' | { readonly refused: string }>;
}

export interface TunnelSessionPorts extends Pick<SharedPorts, 'online' | 'ref' | 'uri'> {
  readonly sessionCommands: SessionCommands;
}

const PATH = '/tunnel_sessions';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "ts_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  agent_version: Type.String({ description: 'Version of the agent.', examples: ['0.1.0'] }),
  credential: reference(
    { kinds: ['credential'] },
    Type.Union([refSchema, Type.Null()], { description: 'The credential of the agent.' }),
  ),
  ip: Type.String({ description: 'Address that the agent connected from.', examples: ['203.0.113.7'] }),
  metadata: Type.String({ description: "The agent's top-level metadata.", examples: ['build machine 3'] }),
  os: Type.String({ description: 'Operating system of the agent.', examples: ['linux'] }),
  region: Type.String({ description: 'Region that the agent connected to.', examples: ['local'] }),
  started_at: timestamp('When the session started.'),
  transport: Type.String({ description: 'Protocol between agent and server.', examples: ['postern/1'] }),
});

const notFound = (id: string): Error => notOnline('online tunnel session', PATH, id);

/** Connected agents. */
export const tunnelSessions: LiveResource<TunnelSessionPorts> = {
  type: 'live',
  name: 'tunnel_sessions',
  kind: 'tunnel_session',
  idPrefix: 'ts',
  path: PATH,
  listKey: 'tunnel_sessions',
  title: 'a tunnel session',
  description: 'The session of a connected agent.',
  operations: [
    ...liveReads<OnlineItem, TunnelSessionPorts>({
      resource: 'tunnel_sessions',
      idPrefix: 'ts',
      path: PATH,
      listKey: 'tunnel_sessions',
      title: 'a tunnel session',
      plural: 'online tunnel sessions',
      schema,
      list: (query, _request, { online }) => online.list('tunnel_session', query),
      get: (id, { online }) => online.get('tunnel_session', id),
      render: (items, { isLegacyClient }, ports) =>
        items.map(({ id, doc, credentialId }) => ({
          ...ports.ref(id),
          agent_version: doc['agent_version'] ?? '',
          credential: credentialId === null ? noCredential(isLegacyClient) : { ...ports.ref(credentialId) },
          ip: doc['ip'] ?? '',
          metadata: doc['metadata'] ?? '',
          os: doc['os'] ?? '',
          region: doc['region'] ?? '',
          started_at: doc['started_at'] ?? '',
          transport: doc['transport'] ?? '',
        })),
      notFound,
    }),
    action('stop', 'Stop an agent; it exits and does not reconnect'),
    action('restart', 'Make an agent reconnect'),
    action('update', 'Notify an agent that it should be updated; it shows the notice and continues to run'),
  ],
};

/** Clients of the retired service need a Ref. */
function noCredential(isLegacyClient: boolean): JsonObject | null {
  return isLegacyClient ? { id: '', uri: '' } : null;
}

function action(verb: SessionCommand, summary: string): Operation<TunnelSessionPorts> {
  return {
    resource: 'tunnel_sessions',
    verb,
    method: 'POST',
    path: `${PATH}/{id}/${verb}`,
    summary,
    description: 'Returns 409 if the agent was started with remote_management: false. The request body is ignored.',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    success: { status: 204, schema: null, description: 'The agent received the command.' },
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_AGENT_REFUSES', 'ERR_POSTERN_AGENT_UNREACHABLE'],
    run: async (request, { online, sessionCommands }) => {
      const id = request.params['id'] as string;
      const session = await online.get('tunnel_session', id);
      if (session === null) throw notFound(id);
      if (session.doc['remote_management'] === false) {
        throw resourceErrors.create(
          'ERR_POSTERN_AGENT_REFUSES',
          `the agent of ${id} was started with remote_management: false: ${verb} it on its machine`,
        );
      }
      const outcome = await sessionCommands.send(id, verb);
      if (typeof outcome === 'object') {
        throw resourceErrors.create(
          'ERR_POSTERN_AGENT_REFUSES',
          `the agent of ${id} rejected the command: ${outcome.refused}`,
        );
      }
      if (outcome === 'unreachable') {
        throw resourceErrors.create(
          'ERR_POSTERN_AGENT_UNREACHABLE',
          `no node that can forward the command to the agent of ${id} responds: retry, or ${verb} it on its machine`,
        );
      }
      return { body: null };
    },
  };
}
