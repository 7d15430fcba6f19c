import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import type { Store } from '../../../store/store.ts';
import { CONSOLE_SESSION_KIND, type ConsoleSession, endsAtMs, isOver, sessionOf } from '../console-session-record.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { ReadingPorts, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface ConsoleSessionPorts extends ReadingPorts, Pick<SharedPorts, 'clock' | 'ref' | 'uri'> {
  readonly store: Pick<Store, 'commit'>;
}

const PATH = '/console/sessions';
const NAMES = { name: 'console_sessions', idPrefix: 'cs', path: PATH, listKey: 'console_sessions' };
/** More than a page, so that sessions that are over do not empty it. */
const READ_AT_ONCE = 500;

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "cs_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  kind: Type.Enum(['key', 'person', 'local'], {
    description:
      'key: logged in with an API key. person: with OpenID Connect. local: with a link that a command on the machine of a node made without a key.',
  }),
  name: Type.String({
    description: 'Description or id of the API key; email address or subject of the person; local:NODE.',
  }),
  api_key: reference(
    { kinds: ['api_key'] },
    Type.Union([refSchema, Type.Null()], { description: 'The API key; null for others.' }),
  ),
  role: Type.Union([Type.String(), Type.Null()], { description: 'Role of the person; null for others.' }),
  issuer: Type.Union([Type.String(), Type.Null()], {
    description: 'Issuer at which the person logged in; null for others.',
    examples: ['https://id.example.com'],
  }),
  subject: Type.Union([Type.String(), Type.Null()], {
    description: 'Subject of the person at the issuer, at the identity host the id of the account; null for others.',
  }),
  address: Type.String({ description: 'Client address at the login.', examples: ['203.0.113.7'] }),
  user_agent: Type.String({ description: 'User-Agent header at the login.' }),
  created_at: timestamp('When the session began.'),
  last_used_at: timestamp('When the session was last used, within five minutes.'),
  expires_at: timestamp('When the session ends if it is not used again.'),
});

const notFound = (id: string): Error => notOnline('console session', PATH, id);

function live(id: string, { documents, clock }: ConsoleSessionPorts): ConsoleSession | null {
  const record = documents.reader.get(CONSOLE_SESSION_KIND, id);
  if (record === undefined) return null;
  const session = sessionOf(record);
  return isOver(session, documents.reader, clock.nowMs()) ? null : session;
}

/** Logins to the console. Answered from memory. */
export const consoleSessions: LiveResource<ConsoleSessionPorts> = {
  type: 'live',
  ...NAMES,
  kind: CONSOLE_SESSION_KIND,
  title: 'a console session',
  description: 'A login to the console, with an API key, with OpenID Connect or from the machine of a node.',
  operations: [
    ...liveReads<ConsoleSession, ConsoleSessionPorts>({
      ...NAMES,
      resource: NAMES.name,
      title: 'a console session',
      plural: 'console sessions',
      schema,
      list: async ({ beforeId, limit }, _request, ports) => {
        const { reader } = ports.documents;
        const nowMs = ports.clock.nowMs();
        const found: ConsoleSession[] = [];
        for (let before = beforeId; found.length < limit; ) {
          const records = reader.page(CONSOLE_SESSION_KIND, { beforeId: before, limit: READ_AT_ONCE });
          found.push(...records.map(sessionOf).filter((session) => !isOver(session, reader, nowMs)));
          if (records.length < READ_AT_ONCE) break;
          before = records.at(-1)?.id ?? null;
        }
        return found.slice(0, limit);
      },
      get: async (id, ports) => live(id, ports),
      render: (sessions, _request, ports) => sessions.map((session) => render(session, ports)),
      notFound,
    }),
    {
      resource: NAMES.name,
      verb: 'delete',
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'End a console session immediately',
      description: 'The next request with its cookie and token gets 401.',
      success: { status: 204, schema: null, description: 'The session has ended.' },
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: async (request, ports) => {
        const id = request.params['id'] as string;
        if (live(id, ports) === null) throw notFound(id);
        const ended = await ports.store.commit({ deletes: [{ kind: CONSOLE_SESSION_KIND, id }] });
        if (!ended.ok) throw notFound(id);
        return { body: null };
      },
    },
  ],
};

function render(session: ConsoleSession, ports: ConsoleSessionPorts): JsonObject {
  const { who } = session;
  return {
    ...ports.ref(session.id),
    kind: who.kind,
    name: who.name,
    api_key: who.kind === 'key' ? { ...ports.ref(who.apiKeyId) } : null,
    role: who.kind === 'person' ? who.role : null,
    issuer: who.kind === 'person' ? who.issuer : null,
    subject: who.kind === 'person' ? who.subject : null,
    address: session.address,
    user_agent: session.userAgent,
    created_at: rfc3339(session.createdAtMs),
    last_used_at: rfc3339(session.lastUsedAtMs),
    expires_at: rfc3339(endsAtMs(session)),
  };
}
