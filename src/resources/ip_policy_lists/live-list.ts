import Type, { type TProperties } from 'typebox';
import { rfc3339 } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ListState } from '../../lists/list-state.ts';
import type { LiveFields } from '../resource.ts';
import type { ListPorts } from './list-ports.ts';

const orNull = (schema: Type.TSchema, description: string): Type.TSchema =>
  Type.Union([schema, Type.Null()], { description });

/** State of the addresses in use, on the node that answers. */
export const listStateFields = {
  status: Type.Enum(['current', 'stale', 'missing'], {
    description:
      'State of the list on the node that answers: "current"; "stale", when the last attempt to read it failed and the former entries stay in use; "missing", when it was never loaded.',
  }),
  entries: Type.Integer({
    description: 'How many addresses and ranges are in use; for countries, those of all countries.',
  }),
  skipped_lines: Type.Integer({ description: 'Lines of the list that are neither entries nor comments.' }),
  loaded_at: orNull(
    Type.String({ format: 'date-time' }),
    'When the entries in use were read; null if the list was never loaded.',
  ),
  checked_at: orNull(
    Type.String({ format: 'date-time' }),
    'When the source was last read without an error, also if it was unchanged; null if not since the start.',
  ),
  error: orNull(Type.String(), 'Why the last attempt failed, without the content of the list; null if it succeeded.'),
} satisfies TProperties;

export const liveList: LiveFields<ListPorts> = {
  schema: listStateFields,
  read: (records, { addressLists }) =>
    Promise.resolve(new Map(records.map(({ id }) => [id, shownState(addressLists.state(id))]))),
};

export function shownState(state: ListState): JsonObject {
  const time = (ms: number | null): string | null => (ms === null ? null : rfc3339(ms));
  return {
    status: state.status,
    entries: state.entries,
    skipped_lines: state.skippedLines,
    loaded_at: time(state.loadedAtMs),
    checked_at: time(state.checkedAtMs),
    error: state.error,
  };
}
