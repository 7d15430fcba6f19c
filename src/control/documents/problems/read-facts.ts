import { routedRecordKinds, routeRecordKinds } from '../../../edges/record-kinds.ts';
import type { TimeSlice } from '../../../kit/async/slices.ts';
import { rfc3339 } from '../../../kit/clock.ts';
import { isStoreOutage } from '../../../kit/error-text.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { moduleRecordKey } from '../../../modules/module-config.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { StoredRecord } from '../../../store/store.ts';
import {
  type CheckedAgent,
  type CheckedAlert,
  type CheckedAuthority,
  type CheckedCertificate,
  type CheckedDestination,
  type CheckedEdge,
  type CheckedList,
  type CheckedManagedCertificate,
  type CheckedRoute,
  checkedEdge,
  checkedRoute,
  type Facts,
  type LoginTrouble,
  type PeerStatus,
  type UnpreparedModule,
} from '../../findings/facts.ts';
import { PASSKEY_KIND, passkeyOf, USER_ACCOUNT_KIND } from '../../identity/people-records.ts';
import type { ListedNode, OnlinePort, SharedPorts } from '../../resources/ports.ts';

/** What this server knows. */
export interface KnownHere extends Pick<SharedPorts, 'ref' | 'clock'> {
  readonly nodes: () => readonly ListedNode[];
  readonly replica: Pick<Replica, 'revision' | 'all' | 'get' | 'page' | 'pageOfParent'>;
  readonly config: Facts['config'];
  /** As the API shows it; null if it is not under management. */
  managedCertificate(record: StoredRecord): CheckedManagedCertificate | null;
  /** State of an authority's revocation list. */
  crlFields(record: StoredRecord): Pick<CheckedAuthority, 'crl_status' | 'crl_next_update' | 'crl_error'>;
  /** State of an IP policy list. */
  listFields(id: string): Pick<CheckedList, 'status' | 'entries' | 'skipped_lines' | 'error'>;
  peers(): readonly PeerStatus[];
  storeProblem(): Facts['storeProblem'];
  /** Fixed addresses of a backend and of those that it consists of. */
  readonly upstreamsOf: (backendId: string) => readonly string[];
  readonly isOwnApi: Facts['isOwnApi'];
  readonly whyForbidden: Facts['whyForbidden'];
  readonly online: Pick<OnlinePort, 'list'>;
  /** Alerts that are raised and not dismissed. */
  readonly alerts: () => readonly CheckedAlert[];
  /** What is wrong with logins, by route. */
  readonly loginTroubles: (slice: TimeSlice) => Promise<ReadonlyMap<string, readonly LoginTrouble[]>>;
  /** What directories make of records, by kind: it throws for one that they treat as absent. */
  readonly directories: ReadonlyMap<string, (record: StoredRecord) => unknown>;
  /** Modules that reject all traffic, with the ids of their edges and routes. */
  readonly unprepared: () => Iterable<UnpreparedModule & { readonly ownerId: string }>;
}

/** Agents that were read: a large installation has more than one report can show. */
const MAX_AGENTS = 2_000;
const AGENTS_PER_PAGE = 200;

const ALL_CHILDREN = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

/** The facts of the whole installation, from memory. */
export async function readFacts(known: KnownHere, slice: TimeSlice): Promise<Facts> {
  const { replica, config, clock } = known;
  const nowMs = clock.nowMs();
  const unreadable = new Map<string, string>();
  const read: ReadRecords = async <Item>(kind: string, form: (record: StoredRecord) => Item | null) => {
    const items: Item[] = [];
    for (const record of replica.all(kind)) {
      try {
        const item = form(record);
        if (item !== null) items.push(item);
      } catch {
        unreadable.set(record.id, record.kind);
      }
      if (slice.isOver) await slice.next();
    }
    return items;
  };
  for (const [kind, form] of known.directories) {
    await read(kind, (record) => {
      form(record);
      return null;
    });
  }
  const unprepared = await unpreparedByOwner(known, slice);
  const logins = await known.loginTroubles(slice);
  const facts: Omit<Facts, 'unreadable'> = {
    ...{ nowMs, config, peers: known.peers(), storeProblem: known.storeProblem() },
    nodes: known.nodes().map((node) => ({ ...node, last_seen_at: rfc3339(node.lastSeenAtMs) })),
    edges: await readEdges(read, known),
    ...{ isOwnApi: known.isOwnApi, whyForbidden: known.whyForbidden },
    unprepared: (ownerId) => unprepared.get(ownerId) ?? [],
    logins: (routeId) => logins.get(routeId) ?? [],
    alerts: known.alerts(),
    tunnel_sessions: await reportingAgents(known.online, slice),
    tls_certificates: await read('tls_certificate', shownAs<CheckedCertificate>),
    managed_certificates: await read('managed_certificate', (record) => known.managedCertificate(record)),
    certificate_authorities: await read('certificate_authority', (record) => ({
      ...{ crl_mode: 'off', crl_url: '' },
      ...shownAs<CheckedAuthority>(record),
      ...known.crlFields(record),
    })),
    ip_policy_lists: await read('ip_policy_list', (record) => ({
      ...shownAs<CheckedList>(record),
      ...known.listFields(record.id),
    })),
    event_destinations: await read('event_destination', (record) => ({
      ...{ description: '' },
      ...shownAs<CheckedDestination>(record),
    })),
    user_accounts: await read(USER_ACCOUNT_KIND, ({ id, doc }) => ({
      ...{ id, email: doc['email'] as string },
      passkeyHosts: replica.pageOfParent(PASSKEY_KIND, id, ALL_CHILDREN).map((passkey) => passkeyOf(passkey).host),
    })),
  };
  return { ...facts, unreadable: Array.from(unreadable, ([id, kind]) => ({ id, kind })) };
}

/** While the store is away, this node may not know the agents of the others: then nothing is said about agents. */
async function reportingAgents(online: KnownHere['online'], slice: TimeSlice): Promise<readonly CheckedAgent[]> {
  const agents: CheckedAgent[] = [];
  let beforeId: string | null = null;
  try {
    for (let count = 0; count < MAX_AGENTS; count += AGENTS_PER_PAGE) {
      const page = await online.list('tunnel_session', { beforeId, limit: AGENTS_PER_PAGE });
      for (const { id, doc } of page) {
        if (Array.isArray(doc['problems'])) agents.push({ ...(doc as unknown as CheckedAgent), id });
      }
      beforeId = page.at(-1)?.id ?? null;
      if (page.length < AGENTS_PER_PAGE) break;
      if (slice.isOver) await slice.next();
    }
  } catch (error) {
    if (!isStoreOutage(error)) throw error;
    return [];
  }
  return agents;
}

async function unpreparedByOwner(
  { unprepared }: KnownHere,
  slice: TimeSlice,
): Promise<ReadonlyMap<string, readonly UnpreparedModule[]>> {
  const byOwner = new Map<string, UnpreparedModule[]>();
  for (const { ownerId, ...module } of unprepared()) {
    byOwner.set(ownerId, [...(byOwner.get(ownerId) ?? []), module]);
    if (slice.isOver) await slice.next();
  }
  return byOwner;
}

/** A stored document has the fields of the wire. */
function shownAs<Shown>({ id, doc }: StoredRecord): Shown {
  return { ...doc, id } as unknown as Shown;
}

type KnownOfEdges = Pick<KnownHere, 'replica' | 'upstreamsOf'>;
type ModuleOn = (module: string) => JsonObject | null;

type ReadRecords = <Item>(kind: string, form: (record: StoredRecord) => Item | null) => Promise<readonly Item[]>;

/** Edges with routes; of the others, nothing can be wrong that these checks find. */
async function readEdges(read: ReadRecords, known: KnownOfEdges): Promise<readonly CheckedEdge[]> {
  const edges: CheckedEdge[] = [];
  for (const kind of routedRecordKinds) edges.push(...(await read(kind, (record) => edgeOf(record, known))));
  return edges;
}

function edgeOf({ kind, id, doc }: StoredRecord, known: KnownOfEdges): CheckedEdge {
  const { replica } = known;
  const ofEdge: ModuleOn = (module) => moduleOn(kind, id, module, replica);
  const routes = routeRecordKinds
    .flatMap((routeKind) => replica.pageOfParent(routeKind, id, ALL_CHILDREN))
    .map((route) => routeOf(route, ofEdge, known));
  const hostports = (doc['hostports'] ?? []) as readonly string[];
  return checkedEdge({ id, hostports }, ofEdge, routes);
}

function routeOf(
  { kind, id, doc }: StoredRecord,
  ofEdge: ModuleOn,
  { replica, upstreamsOf }: KnownOfEdges,
): CheckedRoute {
  const match = doc['match'] as string;
  const module: ModuleOn = (name) => moduleOn(kind, id, name, replica);
  return checkedRoute({ id, match }, { module, ofEdge, upstreamsOf });
}

function moduleOn(kind: string, ownerId: string, module: string, replica: KnownHere['replica']): JsonObject | null {
  const key = moduleRecordKey(kind, ownerId, module);
  return replica.get(key.kind, key.id)?.doc ?? null;
}
