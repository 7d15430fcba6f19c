import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOfflineDatabase, type StoreLocation } from '../../src/store/offline-database.ts';
import type { ArtifactRow } from '../../src/store/sql/identity-store.ts';
import { type ProgramArgs, type ProgramName, startProgram } from '../../src/store/sql/programs.ts';
import type { SealedWriteSet } from '../../src/store/sql/seal.ts';
import { statement } from '../../src/store/sql/statement.ts';
import type { Store } from '../../src/store/store.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { destinationPut, event, subscriptionPut } from './conformance/lane-world.ts';
import { newLogin } from './conformance/new-login.ts';
import { committed, put, refersTo } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, usePostgres } from './engines.ts';
import { explained } from './query-plans.ts';

usePostgres();

const WHOLE_TABLE_PLANS = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'];

type Samples = { readonly [Name in ProgramName]: readonly ProgramArgs<Name>[] };

const TIME = { nowMs: 5, isDatabaseTime: false };
const PAGE = { beforeId: 'm', limit: 10 };
const FIRST_PAGE = { beforeId: null, limit: 10 };
const LANE = { subscriptionId: 'esb_1', destinationId: 'ed_1' };
const LEASE = { kind: 'tunnel', id: 'tn_1', parent: 'ts_1', credentialId: 'cr_1', bootId: 'b' } as const;

/** Arguments for every program of the store; the type rejects a program without arguments. */
const SAMPLES: Samples = {
  applyWriteSet: [
    [writeSet({ deletes: [{ kind: 'edge', id: 'e1' }] })],
    [writeSet({ deletes: ['e2', 'e3', 'e4'].map((id) => ({ kind: 'edge', id })), puts: [sealedPut('edge', 'e2')] })],
    [writeSet({ puts: [sealedPut('edge', 'e5')], expect: [{ kind: 'edge', id: 'e5', revision: 'absent' }] })],
    [writeSet({ puts: [{ ...sealedPut('backend', 'b1'), isAcyclic: true }], keepAtLeastOne: ['hostport'] })],
    [writeSet({ touches: [{ kind: 'edge', id: 'e6' }], events: [sealedEvent('ev_a')] })],
    [writeSet({ deletes: [{ kind: 'event_subscription', id: 'esb_2' }] })],
    [writeSet({ puts: [{ ...sealedPut('event_destination', 'ed_1'), armedAsOf: 5 }] })],
    [writeSet({ puts: [sealedPut('event_destination', 'ed_1'), sealedPut('event_subscription', 'esb_1')] })],
    [writeSet({ endsPeople: [{ issuer: 'i', accountId: 'ua_1' }] })],
    [writeSet({ idempotency: { scope: 's', bodyHash: 'h', kind: 'edge', id: 'e1', createdAtMs: 1 } })],
  ],
  readCommit: [[]],
  probeWrite: [[]],
  readRevision: [[]],
  readChangesSince: [[3]],
  readRecordPage: [
    [null, 10],
    [{ kind: 'edge', id: 'e1' }, 10],
  ],
  readIdempotency: [['s']],
  prune: [[TIME, 5]],
  listEvents: [[FIRST_PAGE], [PAGE]],
  getEvent: [['ev_a']],
  countEvents: [[]],
  putLeases: [[[{ ...LEASE, expiresAtMs: 5, doc: '{}' }], TIME]],
  renewLeases: [['b', 10, TIME]],
  removeLeases: [[[LEASE, { kind: 'tunnel', id: 'tn_2' }]]],
  removeLeasesByCredential: [['cr_1']],
  removeLeasesOfOtherBoots: [['b']],
  getLease: [['tunnel', 'tn_1', TIME]],
  listLeases: [
    ['tunnel', FIRST_PAGE, TIME],
    ['tunnel', PAGE, TIME],
  ],
  recordLogin: [[loginRow('as_5', null)], [loginRow('as_6', 'key-of-as_1')]],
  findLoginsByKey: [['key-of-as_1']],
  getLoginUser: [['au_1']],
  getLoginSession: [['as_1']],
  listLoginUsers: [[FIRST_PAGE], [PAGE]],
  listLoginSessions: [[{ ...FIRST_PAGE, nowMs: 1 }], [{ ...PAGE, nowMs: 1 }]],
  listLoginEdgeIds: [[]],
  touchLogins: [[[{ id: 'as_2', lastActiveMs: 20, expiresAtMs: 30 }]]],
  claimLoginOnce: [['state:1', 5]],
  claimLoginRefresh: [['as_2', TIME, 5]],
  releaseLoginRefresh: [['as_2']],
  replaceLoginTokens: [['as_2', 1, { doc: '{}', secrets: null }]],
  deleteLoginSession: [['as_2']],
  deleteLoginUser: [['au_9']],
  endLoginsByKey: [['key-of-as_3']],
  endLoginsByProvider: [
    [{ issuer: 'i', clientId: 'c', identity: null, providerSessionId: 's', token: null }],
    [{ issuer: 'i', clientId: 'c', identity: 'u', providerSessionId: null, token: null }],
    [
      {
        issuer: 'i',
        clientId: 'c',
        identity: 'u',
        providerSessionId: 's',
        token: { key: 'logout:1', validUntilMs: 1 },
      },
    ],
  ],
  endOrphanedLogins: [['edghts_1', []]],
  pruneLogins: [[5, 3, 100]],
  readLoginChangesSince: [[1]],
  readLoginSeq: [[]],
  recordEvents: [[[sealedEvent('ev_b')]]],
  putDeliveries: [
    [
      [
        {
          ...LANE,
          id: 'evd_x',
          event: sealedEvent('ev_c'),
          state: 'dead',
          attempts: '[]',
          createdAtMs: 1,
          nextAttemptAtMs: null,
        },
      ],
    ],
  ],
  getDelivery: [['evd_x']],
  listDeliveries: [
    [{}, FIRST_PAGE],
    [{ state: 'pending' }, PAGE],
    [{ ...LANE, sinceMs: 1 }, PAGE],
    [{ destinationId: 'ed_1' }, PAGE],
  ],
  listPendingTypes: [['ed_000007']],
  readDeliverySeq: [[]],
  listReplayable: [[{ state: 'dead' }, { afterSeq: 0, upToSeq: 10, limit: 10 }]],
  replayDeliveries: [[[{ id: 'evd_x', newId: 'evd_y' }], 5]],
  readDueLanes: [[TIME, 10]],
  claimLanes: [[[LANE], { owner: 'o', nowMs: 5, untilMs: 9, maxLanes: 5, maxDeliveries: 5 }, TIME]],
  renewLanes: [['o', [LANE], 9, TIME]],
  wakeLanes: [
    [TIME, { isAlone: true }],
    [TIME, { isAlone: false }],
  ],
  settleLane: [[settlementRow(), TIME]],
  readLedger: [[]],
  readAgedParts: [[{ nowMs: 9, endedBeforeMs: 5, deadBeforeMs: 5, pendingBeforeMs: 5 }]],
  pruneDeliveries: [[{ ...LANE, state: 'dead', beforeMs: 5, nowMs: 9 }, 10]],
  pruneEventsAndLanes: [[5, 10]],
  heartbeatNode: [[{ id: 'nd_1', status: 'ready', startedAtMs: 1, doc: {} }, 5, TIME]],
  renewNodeFor: [['nd_1', 5, TIME]],
  listNodes: [[TIME]],
  agreeOnFacts: [['nd_1', { domain: 'a.example' }, TIME]],
  claimKey: [
    [{ key: 'port 1', sessionId: 'ts_1', credentialId: 'cr_1', nodeId: 'nd_1' }, TIME],
    [{ key: 'port 1', sessionId: 'ts_2', credentialId: 'cr_1', nodeId: 'nd_1' }, TIME],
  ],
  releaseClaims: [[{ sessionId: 'ts_1', nodeId: 'nd_1' }, ['port 1', 'port 2']]],
  readClaim: [['port 1']],
  listClaimsOf: [['nd_1']],
  putNodeSession: [
    [{ id: 'ts_1', nodeId: 'nd_1', credentialId: 'cr_1', doc: {} }, null, TIME],
    [{ id: 'ts_1', nodeId: 'nd_1', credentialId: 'cr_1', doc: {} }, null, TIME],
  ],
  readNodeSession: [['ts_1']],
  moveNodeSession: [
    [
      { id: 'ts_1', fromEpoch: 5, toNodeId: 'nd_2', handedOverBy: null },
      { ...TIME, nowMs: 99 },
    ],
  ],
  removeNodeSession: [['ts_1', 'nd_2']],
  listSessionsOf: [['nd_1']],
  removeNode: [['nd_1']],
  listHistory: [
    [{ beforeRevision: null, limit: 10 }],
    [{ beforeRevision: 9, limit: 10, authorId: 'ak_1' }],
    [{ beforeRevision: null, limit: 10, objectId: 'e1' }],
    [{ beforeRevision: null, limit: 10, sinceMs: 1, untilMs: 9 }],
  ],
  readHistory: [[3]],
  readHistoryFollowing: [[3, 10]],
  readHistoryItems: [[1, 0]],
  readUnlinked: [[10]],
  linkHistory: [[[{ revision: 3, chain: 'x' }]]],
  readAnchor: [[]],
  pruneHistory: [[5, 10]],
  readReleased: [[]],
  beginIdentitySession: [[artifactRow('Session', 'h1'), { kind: 'user_account', id: 'ua_1' }]],
  replaceIdentitySession: [[artifactRow('Session', 'h2')]],
  putArtifact: [
    [{ ...artifactRow('Grant', 'h3'), grantId: null, grantHash: null }],
    [artifactRow('AuthorizationCode', 'h4')],
  ],
  rememberDecision: [[{ ...artifactRow('AgentConsent', 'h5'), grantId: null, grantHash: null }]],
  findArtifact: [['Session', 'h2']],
  findIdentitySession: [['s1']],
  listArtifacts: [['Session', 'ua_1']],
  consumeArtifact: [['AuthorizationCode', 'h4', 5]],
  removeArtifact: [['AuthorizationCode', 'h4']],
  removeGrant: [['g1', 'h3', 5]],
  endIdentityApplication: [
    [
      {
        ...{ issuer: 'i', sessionUid: 's1', providerSessionId: 's', clientId: 'c', seenPayload: 'x', payload: 'y' },
        grant: { grantId: 'g1', grantHash: 'h3' },
      },
      5,
    ],
  ],
  endIdentitySession: [[{ issuer: 'i', sessionUid: 's1', providerSessionId: 's' }, 5]],
  hasDueLogouts: [[5]],
  claimIdentityLogouts: [[5, 9]],
  settleIdentityLogouts: [[['l1']]],
};

/** Each with its reason: all other programs find their rows by an index. */
const MAY_SCAN: Readonly<Partial<Record<ProgramName, readonly string[]>>> = {
  // A first page, or the first row: in primary key order, no further than the page.
  readCommit: ['commits'],
  prune: ['commits', 'leases', 'nodes'],
  readRecordPage: ['records'],
  listEvents: ['events'],
  listHistory: ['history'],
  listLoginUsers: ['app_users'],
  listLoginSessions: ['app_sessions'],
  // There are as many lanes as pairs of subscription and destination, and these need all of them.
  applyWriteSet: ['event_lanes'],
  listDeliveries: ['event_lanes', 'event_deliveries'],
  listPendingTypes: ['event_lanes'],
  listReplayable: ['event_lanes'],
  readDueLanes: ['event_lanes'],
  wakeLanes: ['event_lanes'],
  readLedger: ['event_lanes'],
  readAgedParts: ['event_lanes'],
  pruneEventsAndLanes: ['event_lanes'],
  // At the start of a process. (`prune` also reads all of them: an index on their end would be written every few
  // seconds.)
  removeLeasesOfOtherBoots: ['leases'],
  listLoginEdgeIds: ['app_sessions'],
  // There are as many rows as nodes that started in the last ten minutes, and an index would be written with every
  // heartbeat; and as many values to agree on as a node has settings that must be equal.
  heartbeatNode: ['nodes'],
  renewNodeFor: ['nodes'],
  listNodes: ['nodes'],
  agreeOnFacts: ['nodes', 'node_agreements'],
  // One row; and every ten minutes, over the primary key.
  readAnchor: ['history_anchor'],
  readUnlinked: ['history_anchor'],
  pruneHistory: ['history', 'history_anchor'],
  // The logouts that wait for an application: few, and a busy one is not read again and again.
  claimIdentityLogouts: ['identity_logouts'],
  // For tests.
  countEvents: ['events'],
};

for (const engine of ENGINES) {
  test(`no statement of ${engine} reads a whole table, except for the listed ones`, async (t) => {
    const location = await emptyLocation(t, engine);
    if (engine === 'postgres') await gatherNoStatistics(location);
    const store = await openAt(location);
    await fill(store);
    await store.close();
    const database = openOfflineDatabase(location, 'write');
    t.after(() => database.close());
    const found = new Set<string>();
    await database.transaction('write', async (run) => {
      // PostgreSQL would read such small tables whole: the question is whether an index can serve the statement at all.
      if (engine === 'postgres') for (const plan of WHOLE_TABLE_PLANS) await run(once(`SET LOCAL ${plan} = off`));
      for (const name of Object.keys(SAMPLES) as ProgramName[]) {
        for (const args of SAMPLES[name]) {
          const program = explained(database.dialect, startProgram({ name, args }), ({ table, sql }) => {
            if (!(MAY_SCAN[name] ?? []).includes(table)) found.add(`${name} reads all of ${table}: ${sql}`);
          });
          await run(program);
        }
      }
    });
    assert.deepEqual([...found], []);
  });
}

/**
 * With statistics PostgreSQL knows how small the tables are, and reads them in any order: autovacuum may come at any
 * time.
 */
async function gatherNoStatistics(location: StoreLocation): Promise<void> {
  await (await openAt(location)).close();
  const database = openOfflineDatabase(location, 'write');
  const each = "EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name)";
  const all = 'SELECT tablename FROM pg_tables WHERE schemaname = current_schema()';
  await database.transaction('write', async (run) => {
    await run(once(`DO $$ DECLARE name text; BEGIN FOR name IN ${all} LOOP ${each}; END LOOP; END $$`));
  });
  await database.close();
}

function* once(sql: string) {
  yield statement(sql);
}

/** Enough rows that a planner without statistics has to choose. */
async function fill(store: Store): Promise<void> {
  await committed(store, {
    puts: Array.from({ length: 30 }, (_, at) => put('backend', `b${at}`)),
  });
  await committed(store, {
    puts: Array.from({ length: 30 }, (_, at) => [
      put('edge', `e${at}`, { uniqueKeys: [{ scope: 'hostport', key: `h${at}` }] }),
      put('route', `r${at}`, { parent: `e${at}`, references: [refersTo({ kind: 'backend', id: `b${at}` })] }),
    ]).flat(),
  });
  await committed(store, {
    puts: [destinationPut('ed_1'), ...['esb_1', 'esb_2'].map((id) => subscriptionPut(id, ['x.v0'], ['ed_1']))],
  });
  for (let at = 0; at < 5; at += 1) await committed(store, { events: [event()] });
  for (let at = 1; at <= 4; at += 1) await feedLogin(store, `as_${at}`);
}

function writeSet(given: Partial<SealedWriteSet>): SealedWriteSet {
  const none = {
    expect: [],
    puts: [],
    deletes: [],
    touches: [],
    concerns: [],
    remembers: [],
    keepAtLeastOne: [],
    events: [],
    idempotency: null,
    endsPeople: [],
  };
  return {
    nowMs: 5,
    isDatabaseTime: false,
    confirmWithinMs: null,
    settles: null,
    expectRevision: null,
    isDryRun: false,
    note: null,
    ...none,
    ...given,
  };
}

function artifactRow(model: string, idHash: string): ArtifactRow {
  const ids = { accountId: 'ua_1', grantId: 'g1', grantHash: 'h3', sessionUid: 's1' };
  return { model, idHash, ...ids, clientId: 'c', providerSessionId: 's', payload: 'x', expiresAtMs: 9 };
}

function sealedPut(kind: string, id: string) {
  const doc = JSON.stringify({ status: 'active', sources: [], destination_ids: [] });
  const uniqueKeys = [{ scope: 'x', key: `${kind}-${id}` }];
  const references = [refersTo({ kind: 'backend', id: 'b9' })];
  return {
    kind,
    id,
    parent: null,
    uniqueKeys,
    references,
    doc,
    secrets: null,
    isAcyclic: false,
    armedAsOf: null,
    isRevocation: false,
  };
}

function sealedEvent(id: string) {
  return { id, type: 'x.v0', createdAtMs: 5, payload: '{}' };
}

function loginRow(id: string, previousKeyHash: string | null) {
  const login = newLogin(id);
  const session = { ...login.session, doc: '{}', secrets: null };
  return { ...login, session, previousKeyHash, replaces: previousKeyHash === null ? [] : ['as_1'] };
}

function settlementRow() {
  const health = { failures: 0, failingCount: 0, failingSinceMs: null, nextAttemptAtMs: 0, isHeld: false };
  const claim = { ...LANE, owner: 'o', fence: 1, wakes: 0, nowMs: 6, untilMs: 9, maxDeliveries: 5 };
  return { ...claim, ...health, outcomes: [{ id: 'evd_x', state: 'delivered' as const, attempts: '[]', refusals: 0 }] };
}
