import {
  bigintColumn,
  index,
  type Migration,
  nullableBigint,
  nullableText,
  schemaAfter,
  table,
  textColumn,
} from './schema.ts';

/** Appended to, never edited: stores out there have run these. A test holds the published ones to their fingerprints. */
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
      // Each ends in the id, so that a filtered page is read in its order and no further than its length.
      index('deliveries', ['subscription_id', 'id']),
      index('deliveries', ['destination_id', 'id']),
      index('deliveries', ['state', 'id']),
    ],
  },
];

export const currentSchema = schemaAfter(migrations);
