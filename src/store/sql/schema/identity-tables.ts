import { bigintColumn, index, type Migration, nullableText, table, textColumn } from './schema.ts';

/** Live state of Postern's own OpenID provider: version 2 of the schema. */
export const identityTables: Migration['steps'] = [
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
