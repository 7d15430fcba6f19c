import {
  bigintColumn,
  counter,
  index,
  type Migration,
  nullableBigint,
  nullableText,
  schemaAfter,
  table,
  textColumn,
} from './schema.ts';

/** The tables of 0.1.0: version 1 of the schema. */
const firstTables: Migration['steps'] = [
  table('meta', [textColumn('name'), textColumn('value')], ['name']),
  table('counter', [textColumn('name'), bigintColumn('value')], ['name']),
  counter('revision'),
  counter('changes_floor'),

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
  index('events', ['created_at_ms']),
  table(
    'idempotency',
    [textColumn('scope'), textColumn('body_hash'), textColumn('kind'), textColumn('id'), bigintColumn('created_at_ms')],
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
  // For the search for expired logins, once a minute and under the writers' lock.
  index('app_sessions', ['last_active_ms']),
  index('app_sessions', ['expires_at_ms']),
  table(
    'app_session_changes',
    [bigintColumn('seq'), textColumn('session_id'), textColumn('key_hash'), textColumn('op')],
    ['seq'],
  ),
  counter('app_session_seq'),
  counter('app_session_changes_floor'),
  // One-time values: states of logins in progress, logout tokens.
  table('login_claims', [textColumn('key'), bigintColumn('expires_at_ms')], ['key']),
  index('login_claims', ['expires_at_ms']),

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
  index('event_deliveries', ['subscription_id', 'destination_id', 'state', 'seq']),
  index('event_deliveries', ['event_id']),
  index('event_deliveries', ['seq'], { isUnique: true }),
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
  counter('delivery_seq'),

  // One row per transaction: its id proves to a process that the database still contains what the process has seen.
  table('commits', [bigintColumn('number'), textColumn('id')], ['number']),

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
    [textColumn('id'), textColumn('node_id'), textColumn('credential_id'), bigintColumn('epoch'), textColumn('doc')],
    ['id'],
  ),
  index('node_sessions', ['node_id']),
  counter('node_epoch'),

  table(
    'history',
    [
      bigintColumn('revision'),
      bigintColumn('at_ms'),
      textColumn('author'),
      textColumn('author_id'),
      textColumn('message'),
      nullableText('chain'),
      bigintColumn('items'),
    ],
    ['revision'],
  ),
  index('history', ['at_ms']),
  index('history', ['author_id', 'revision']),
  table(
    'history_items',
    [
      bigintColumn('revision'),
      bigintColumn('position'),
      textColumn('kind'),
      textColumn('id'),
      // The edge or route of a module.
      textColumn('object_id'),
      nullableText('before_parent'),
      nullableText('before_doc'),
      nullableText('before_secrets'),
      nullableText('after_parent'),
      nullableText('after_doc'),
      nullableText('after_secrets'),
    ],
    ['revision', 'position'],
  ),
  index('history_items', ['object_id', 'revision']),
  // What was pruned last.
  table('history_anchor', [bigintColumn('revision'), textColumn('chain')], ['revision']),
  // The newest entry that is linked to the one before it.
  counter('history_linked'),
];

/** Live state of Postern's own OpenID provider: version 2 of the schema. */
const identityTables: Migration['steps'] = [
  table(
    'identity_artifacts',
    [
      textColumn('model'),
      // SHA-256: who reads the database learns no cookie, code or token.
      textColumn('id_hash'),
      nullableText('account_id'),
      nullableText('grant_id'),
      nullableText('session_uid'),
      // For a grant whose application must hear of its end.
      nullableText('client_id'),
      nullableText('provider_session_id'),
      textColumn('payload'),
      bigintColumn('expires_at_ms'),
      // 0: not consumed.
      bigintColumn('consumed_at_ms'),
    ],
    ['model', 'id_hash'],
  ),
  index('identity_artifacts', ['account_id']),
  index('identity_artifacts', ['grant_id']),
  index('identity_artifacts', ['session_uid']),
  index('identity_artifacts', ['expires_at_ms']),

  // Applications that must hear that a session has ended.
  table(
    'identity_logouts',
    [
      textColumn('id'),
      textColumn('client_id'),
      textColumn('account_id'),
      textColumn('provider_session_id'),
      bigintColumn('attempts'),
      bigintColumn('due_at_ms'),
    ],
    ['id'],
  ),
  index('identity_logouts', ['due_at_ms']),
  // The logins on routes that came from one session at the identity host.
  index('app_sessions', ['provider_session_id']),
];

/**
 * Append only, never edit: existing stores have run these. A test compares the published ones with their fingerprints.
 */
export const migrations: readonly Migration[] = [
  { version: 1, steps: firstTables },
  { version: 2, compatibleFrom: 1, steps: identityTables },
];

export const currentSchema = schemaAfter(migrations);
