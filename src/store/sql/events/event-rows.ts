import type { PageQuery } from '../../store.ts';
import type { SealedEvent } from '../sealing/sealed-write-set.ts';
import { pageStatement } from '../statements/page-statement.ts';
import { insertRows, integer, type Program, queryOne, type Row, type SqlValue, text } from '../statements/statement.ts';

const EVENT_COLUMNS = 'id, type, created_at_ms, payload';

function eventOf(row: Row): SealedEvent {
  return {
    id: text(row, 'id'),
    type: text(row, 'type'),
    createdAtMs: integer(row, 'created_at_ms'),
    payload: text(row, 'payload'),
  };
}

export function* listEvents(query: PageQuery): Program<SealedEvent[]> {
  const rows = yield pageStatement(`SELECT ${EVENT_COLUMNS} FROM events`, [], query);
  return rows.map(eventOf);
}

export function* getEvent(id: string): Program<SealedEvent | null> {
  const row = yield* queryOne(`SELECT ${EVENT_COLUMNS} FROM events WHERE id = ?`, [id]);
  return row === null ? null : eventOf(row);
}

export function* countEvents(): Program<number> {
  const row = yield* queryOne('SELECT count(*) AS total FROM events');
  return row === null ? 0 : integer(row, 'total');
}

/** As `eventRows` creates them. */
export function* insertEvents(rows: readonly (readonly SqlValue[])[]): Program<void> {
  yield* insertRows('events', ['id', 'type', 'revision', 'position', 'created_at_ms', 'payload'], rows);
}

/** Revision 0 marks events without a configuration change. */
export function eventRows(events: readonly SealedEvent[], revision: number): SqlValue[][] {
  return events.map(({ id, type, createdAtMs, payload }, at) => [id, type, revision, at, createdAtMs, payload]);
}
