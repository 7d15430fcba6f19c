import type { JsonObject, JsonValue } from '../lib/json.ts';
import { TimeSlice } from '../lib/slices/time-slice.ts';
import type { OperationResult } from '../resources/operation.ts';

/** Shorter lists are serialized in one turn, with a Content-Length. */
const MIN_STREAMED = 200;
/** A write to the socket costs more than the characters. */
const CHARACTERS_PER_PART = 65_536;

/** A body with one list that may be long, such as the results of 50,000 operations: it is serialized while it is sent. */
export function longAnswer(body: JsonObject, listName: string): OperationResult {
  const list = body[listName] as readonly JsonValue[];
  return list.length < MIN_STREAMED ? { body } : { body, parts: partsOf(body, listName, list) };
}

async function* partsOf(body: JsonObject, listName: string, list: readonly JsonValue[]): AsyncGenerator<string> {
  const others = Object.entries(body).filter(([name]) => name !== listName);
  const slice = new TimeSlice();
  let part = `${JSON.stringify(Object.fromEntries(others)).slice(0, -1)},${JSON.stringify(listName)}:[`;
  for (const [at, item] of list.entries()) {
    part += `${at === 0 ? '' : ','}${JSON.stringify(item)}`;
    if (slice.isOver) await slice.next();
    if (part.length < CHARACTERS_PER_PART) continue;
    yield part;
    part = '';
  }
  yield `${part}]}`;
}
