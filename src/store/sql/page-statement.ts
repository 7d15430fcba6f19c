import type { PageQuery } from '../store.ts';
import { type SqlValue, type Statement, statement } from './statement.ts';

export interface Condition {
  readonly sql: string;
  readonly param: SqlValue;
}

/** A page by descending id below `beforeId`: concurrent inserts and deletes neither repeat nor hide rows. */
export function pageStatement(
  select: string,
  conditions: readonly Condition[],
  { beforeId, limit }: PageQuery,
): Statement {
  const all = beforeId === null ? conditions : [...conditions, { sql: 'id < ?', param: beforeId }];
  return statement(`${select}${whereSql(all)} ORDER BY id DESC LIMIT ?`, [...all.map(({ param }) => param), limit]);
}

export function whereSql(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
}
