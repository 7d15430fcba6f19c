import Type from 'typebox';
import { routedRecordKinds, routeRecordKinds } from '../../../edges/record-kinds.ts';
import { rfc3339 } from '../../../kit/clock.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import type { LoginSession, Store } from '../../../store/store.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface LoginLimits {
  readonly maximum_duration: number;
  readonly inactivity_timeout: number;
}

export interface AppSessionPorts extends Pick<SharedPorts, 'clock' | 'ref' | 'uri'> {
  readonly store: Pick<Store, 'logins'>;
  /** Limits of logins on a route as they apply now, in seconds; null when the route has no login module. */
  readonly loginLimits: (routeId: string) => LoginLimits | null;
}

const PATH = '/app/sessions';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "as_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  public_url: Type.String({
    description: 'URL at which the person logged in.',
    examples: ['https://shop.example.com'],
  }),
  browser_session: Type.Object(
    {
      user_agent: Type.Object(
        {
          raw: Type.String({
            description: 'The User-Agent header.',
            examples: ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'],
          }),
        },
        { description: 'The program with which the person logged in.' },
      ),
      ip_address: Type.String({ description: 'Client address of the person.', examples: ['203.0.113.7'] }),
    },
    { description: 'The browser at the time of the login.' },
  ),
  application_user: reference({ kinds: ['app_user'] }, { ...refSchema, description: 'The person.' }),
  created_at: timestamp('When the person logged in.'),
  last_active: timestamp('When the session was last used.'),
  expires_at: Type.Union([timestamp('When the session expires.'), Type.Null()], {
    description: 'When the session expires; null if it has no limit.',
    examples: ['2026-11-02T09:30:00.000Z'],
  }),
  maximum_duration: Type.Integer({
    minimum: 0,
    description: 'Seconds after which the person must log in again even if active. 0: no limit.',
    examples: [2_592_000],
  }),
  inactivity_timeout: Type.Integer({
    minimum: 0,
    description: 'Seconds of inactivity after which the person must log in again. 0: no limit.',
    examples: [604_800],
  }),
  edge: reference({ kinds: routedRecordKinds }, Type.Union([refSchema, Type.Null()], { description: 'The edge.' })),
  route: reference({ kinds: routeRecordKinds }, Type.Union([refSchema, Type.Null()], { description: 'The route.' })),
});

const notFound = (id: string): Error => notOnline('login session', PATH, id);

/** Active logins. */
export const appSessions: LiveResource<AppSessionPorts> = {
  type: 'live',
  name: 'app_sessions',
  kind: 'app_session',
  idPrefix: 'as',
  path: PATH,
  listKey: 'application_sessions',
  title: 'a login session',
  description: "A person's login session on a route with a login module.",
  operations: [
    ...liveReads<LoginSession, AppSessionPorts>({
      resource: 'app_sessions',
      idPrefix: 'as',
      path: PATH,
      listKey: 'application_sessions',
      title: 'a login session',
      plural: 'login sessions',
      schema,
      list: (query, _request, { store, clock }) => store.logins.listSessions({ ...query, nowMs: clock.nowMs() }),
      get: async (id, { store, clock }) => {
        const session = await store.logins.getSession(id);
        return session === null || isExpired(session, clock.nowMs()) ? null : session;
      },
      render: (sessions, { isLegacyClient }, ports) =>
        sessions.map((session) => (isLegacyClient ? legacyForm(render(session, ports)) : render(session, ports))),
      notFound,
    }),
    {
      resource: 'app_sessions',
      verb: 'delete',
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'End a login session immediately',
      description: 'The next request with its cookie requires a new login.',
      success: { status: 204, schema: null, description: 'The session has ended.' },
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: async (request, { store }) => {
        const id = request.params['id'] as string;
        if (!(await store.logins.deleteSession(id))) throw notFound(id);
        return { body: null };
      },
    },
  ],
};

function isExpired(session: LoginSession, nowMs: number): boolean {
  return session.expiresAtMs !== 0 && session.expiresAtMs <= nowMs;
}

function render(session: LoginSession, ports: AppSessionPorts): JsonObject {
  const { doc, edgeId } = session;
  const routeId = doc['route_id'] as string | undefined;
  return {
    ...ports.ref(session.id),
    public_url: doc['public_url'] ?? '',
    browser_session: { user_agent: { raw: doc['user_agent'] ?? '' }, ip_address: doc['ip_address'] ?? '' },
    application_user: { ...ports.ref(session.userId) },
    created_at: doc['created_at'] ?? '',
    last_active: rfc3339(session.lastActiveMs),
    expires_at: session.expiresAtMs === 0 ? null : rfc3339(session.expiresAtMs),
    ...limitsOf(session, ports),
    edge: { ...ports.ref(edgeId) },
    route: routeId === undefined ? null : { ...ports.ref(routeId, edgeId) },
  };
}

const UNKNOWN_BROWSER = { browser_name: '', browser_version: '', device_type: '', os_name: '', os_version: '' };

/** Clients of the retired service need text for the time and for the parts of the user agent. */
function legacyForm(session: JsonObject): JsonObject {
  const { user_agent: userAgent, ...browser } = session['browser_session'] as JsonObject;
  return {
    ...session,
    browser_session: { ...browser, user_agent: { ...UNKNOWN_BROWSER, ...(userAgent as JsonObject) } },
    expires_at: session['expires_at'] ?? '',
  };
}

/**
 * The limits in force on the route now; those of the login where the route is not configured here, as on an agent's
 * endpoint.
 */
function limitsOf({ doc }: LoginSession, { loginLimits }: AppSessionPorts): JsonObject {
  const current = loginLimits((doc['route_id'] as string | undefined) ?? '');
  if (current !== null) return { ...current };
  return isJsonObject(doc['limits']) ? doc['limits'] : { maximum_duration: 0, inactivity_timeout: 0 };
}
