import { type Program, queryOne, statement } from '../statements/statement.ts';

/** True for the first caller only, across all processes: the primary key decides. */
export function* claimLoginOnce(key: string, expiresAtMs: number): Program<boolean> {
  const claimed = yield* queryOne(
    'INSERT INTO login_claims (key, expires_at_ms) VALUES (?, ?) ON CONFLICT (key) DO NOTHING RETURNING key',
    [key, expiresAtMs],
  );
  return claimed !== null;
}

export function* pruneLoginClaims(nowMs: number): Program<void> {
  yield statement('DELETE FROM login_claims WHERE expires_at_ms <= ?', [nowMs]);
}
