import { historyTables } from './history-tables.ts';
import {
  bigintColumn,
  counter,
  dropIndex,
  dropTable,
  index,
  type Migration,
  nullableBigint,
  nullableText,
  schemaAfter,
  table,
  textColumn,
} from './schema.ts';

/**
 * Append only, never edit: existing stores have run these. A test compares the published ones with their fingerprints.
 */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    steps: [
      table('meta', [textColumn('name'), textColumn('value')], ['name']),
      table('counter', [textColumn('name'), bigintColumn('value')], ['name']),

      table(
        'records',
        [
          textColumn('kind'),
          textColumn('id'),
          nullableText('parent'),
          bigintColumn('revision'),
          textColumn('doc'),
          nullableText('secrets'),
        ],
        ['kind', 'id'],
      ),
      index('records', ['id']),
      index('records', ['parent']),
      table(
        'unique_keys',
        [textColumn('scope'), textColumn('key'), textColumn('kind'), textColumn('id')],
        ['scope', 'key'],
      ),
      index('unique_keys', ['kind', 'id']),
      table(
        'record_references',
        [
          textColumn('from_kind'),
          textColumn('from_id'),
          bigintColumn('position'),
          textColumn('field'),
          textColumn('to_kind'),
          textColumn('to_id'),
        ],
        ['from_kind', 'from_id', 'position'],
      ),
      index('record_references', ['to_kind', 'to_id']),
      table(
        'changes',
        [bigintColumn('revision'), bigintColumn('position'), textColumn('kind'), textColumn('id'), textColumn('op')],
        ['revision', 'position'],
      ),
      table(
        'events',
        [
          textColumn('id'),
          textColumn('type'),
          bigintColumn('revision'),
          bigintColumn('position'),
          bigintColumn('created_at_ms'),
          textColumn('payload'),
        ],
        ['id'],
      ),
      index('events', ['revision', 'position']),
      table(
        'idempotency',
        [
          textColumn('scope'),
          textColumn('body_hash'),
          textColumn('kind'),
          textColumn('id'),
          bigintColumn('created_at_ms'),
        ],
        ['scope'],
      ),
      index('idempotency', ['created_at_ms']),

      table(
        'leases',
        [
          textColumn('kind'),
          textColumn('id'),
          nullableText('parent'),
          nullableText('credential_id'),
          textColumn('boot_id'),
          bigintColumn('expires_at_ms'),
          textColumn('doc'),
        ],
        ['kind', 'id'],
      ),
      index('leases', ['parent']),
      index('leases', ['credential_id']),
      index('leases', ['boot_id']),
      table('login_users', [textColumn('id'), textColumn('doc')], ['id']),
      table(
        'login_sessions',
        [
          textColumn('id'),
          textColumn('user_id'),
          textColumn('key_hash'),
          bigintColumn('last_active_ms'),
          bigintColumn('expires_at_ms'),
          textColumn('doc'),
          nullableText('secrets'),
        ],
        ['id'],
      ),
      index('login_sessions', ['user_id']),
      index('login_sessions', ['key_hash'], { isUnique: true }),
      table(
        'deliveries',
        [
          textColumn('id'),
          textColumn('subscription_id'),
          textColumn('destination_id'),
          textColumn('event'),
          textColumn('state'),
          textColumn('attempts'),
          bigintColumn('created_at_ms'),
          nullableBigint('next_attempt_at_ms'),
        ],
        ['id'],
      ),
      // Each ends in the id, so that a filtered page is read in order and no further than its length.
      index('deliveries', ['subscription_id', 'id']),
      index('deliveries', ['destination_id', 'id']),
      index('deliveries', ['state', 'id']),
    ],
  },
  {
    version: 2,
    steps: [
      // Always empty: no release before this one had logins.
      dropTable('login_users'),
      dropTable('login_sessions'),
      table('app_users', [textColumn('id'), textColumn('identity'), textColumn('doc')], ['id']),
      index('app_users', ['identity'], { isUnique: true }),
      table(
        'app_sessions',
        [
          textColumn('id'),
          textColumn('user_id'),
          textColumn('key_hash'),
          textColumn('edge_id'),
          textColumn('issuer'),
          textColumn('client_id'),
          nullableText('provider_session_id'),
          bigintColumn('last_active_ms'),
          bigintColumn('expires_at_ms'),
          bigintColumn('version'),
          bigintColumn('refresh_claim_until_ms'),
          textColumn('doc'),
          nullableText('secrets'),
        ],
        ['id'],
      ),
      index('app_sessions', ['user_id']),
      index('app_sessions', ['key_hash']),
      index('app_sessions', ['edge_id']),
      index('app_sessions', ['issuer', 'client_id', 'provider_session_id']),
      table(
        'app_session_changes',
        [bigintColumn('seq'), textColumn('session_id'), textColumn('key_hash'), textColumn('op')],
        ['seq'],
      ),
      counter('app_session_seq'),
      counter('app_session_changes_floor'),
    ],
  },
  {
    version: 3,
    steps: [
      // Always empty: no release before this one delivered events.
      dropTable('deliveries'),
      table(
        'event_deliveries',
        [
          textColumn('id'),
          bigintColumn('seq'),
          textColumn('subscription_id'),
          textColumn('destination_id'),
          textColumn('event_id'),
          textColumn('state'),
          textColumn('attempts'),
          bigintColumn('refusals'),
          bigintColumn('created_at_ms'),
          // Start of its age: when it was enqueued, or when it ended.
          bigintColumn('aged_from_ms'),
        ],
        ['id'],
      ),
      // Each ends in the id, so that a filtered page is read in order and no further than its length.
      index('event_deliveries', ['subscription_id', 'id']),
      index('event_deliveries', ['destination_id', 'id']),
      index('event_deliveries', ['state', 'id']),
      index('event_deliveries', ['subscription_id', 'destination_id', 'state', 'seq']),
      index('event_deliveries', ['state', 'aged_from_ms']),
      index('event_deliveries', ['event_id']),
      table(
        'event_lanes',
        [
          textColumn('subscription_id'),
          textColumn('destination_id'),
          bigintColumn('enqueued'),
          bigintColumn('pending'),
          bigintColumn('delivered'),
          bigintColumn('dead'),
          bigintColumn('cancelled'),
          bigintColumn('pruned'),
          bigintColumn('is_held'),
          bigintColumn('next_attempt_at_ms'),
          bigintColumn('failures'),
          bigintColumn('failing_count'),
          nullableBigint('failing_since_ms'),
          bigintColumn('wakes'),
          bigintColumn('fence'),
          textColumn('lease_owner'),
          bigintColumn('lease_until_ms'),
        ],
        ['subscription_id', 'destination_id'],
      ),
      index('events', ['created_at_ms']),
      counter('delivery_seq'),
    ],
  },
  {
    version: 4,
    steps: [
      // Each of them was written with every wanted change. Lane-by-lane reads replace them.
      dropIndex('event_deliveries', ['subscription_id', 'id']),
      dropIndex('event_deliveries', ['destination_id', 'id']),
      dropIndex('event_deliveries', ['state', 'id']),
      dropIndex('event_deliveries', ['state', 'aged_from_ms']),
      // Nothing reads events in this order any longer.
      dropIndex('events', ['revision', 'position']),
      index('event_deliveries', ['seq'], { isUnique: true }),
    ],
  },
  {
    version: 5,
    steps: [
      // Without it, the search for expired logins read every login of the store, once a minute and under the writers'
      // lock.
      index('app_sessions', ['last_active_ms']),
      index('app_sessions', ['expires_at_ms']),
    ],
  },
  {
    version: 6,
    steps: [
      // One-time values: states of logins in progress, logout tokens.
      table('login_claims', [textColumn('key'), bigintColumn('expires_at_ms')], ['key']),
      index('login_claims', ['expires_at_ms']),
    ],
  },
  {
    version: 7,
    // One row per transaction: its id proves to a process that the database still contains what the process has seen.
    steps: [table('commits', [bigintColumn('number'), textColumn('id')], ['number'])],
  },
  {
    version: 8,
    // Only adds tables: servers of schema 7 go on beside it.
    compatibleFrom: 7,
    steps: [
      // Renewed several times a second. It has no further index, so that PostgreSQL updates its rows in place.
      table(
        'nodes',
        [
          textColumn('id'),
          textColumn('status'),
          bigintColumn('started_at_ms'),
          bigintColumn('last_seen_at_ms'),
          // The lease before the last renewal: shows in the same statement whether it had ended.
          bigintColumn('lease_before_ms'),
          bigintColumn('unbroken_since_ms'),
          bigintColumn('lease_ends_at_ms'),
          bigintColumn('has_agreed'),
          textColumn('doc'),
        ],
        ['id'],
      ),
      table('node_agreements', [textColumn('name'), textColumn('value')], ['name']),
      table(
        'node_claims',
        [
          textColumn('key'),
          textColumn('session_id'),
          textColumn('credential_id'),
          textColumn('node_id'),
          bigintColumn('epoch'),
        ],
        ['key'],
      ),
      index('node_claims', ['session_id']),
      index('node_claims', ['node_id']),
      table(
        'node_sessions',
        [
          textColumn('id'),
          textColumn('node_id'),
          textColumn('credential_id'),
          bigintColumn('epoch'),
          textColumn('doc'),
        ],
        ['id'],
      ),
      index('node_sessions', ['node_id']),
      counter('node_epoch'),
    ],
  },
  // Only adds tables; what servers of an older schema write has no history.
  { version: 9, compatibleFrom: 7, steps: historyTables },
];

export const currentSchema = schemaAfter(migrations);
