import { SliceQueue, TimeSlice } from '../../kit/async/slices.ts';
import type { JsonObject, JsonValue } from '../../kit/json.ts';
import type { OperationResult } from '../resources/operation.ts';

/** Shorter bodies are sent whole, with a Content-Length. */
const MAX_WHOLE_CHARACTERS = 4_194_304;
/** A write to the socket costs more than the characters. */
const CHARACTERS_PER_PART = 65_536;

interface Rest {
  readonly list: readonly JsonValue[];
  /** The first item that is not in the text so far. */
  readonly from: number;
  readonly end: string;
}

/**
 * A body with one list that may be long, such as the results of 50,000 operations, or a hundred pages of 512 KiB: it is
 * serialized in slices, and the part that is too long to wait for while it is sent.
 */
export async function longAnswer(body: JsonObject, listName: string): Promise<OperationResult> {
  const list = body[listName] as readonly JsonValue[];
  const { start, end } = textAround(body, listName);
  const slice = new TimeSlice(API_QUEUE);
  let text = start;
  for (let from = 0; from < list.length; from += 1) {
    if (text.length > MAX_WHOLE_CHARACTERS) return { body, parts: partsOf(text, { list, from, end }) };
    if (slice.isOver) await slice.next();
    text += itemText(list, from);
  }
  return { body, text: text + end };
}

async function* partsOf(begun: string, { list, from, end }: Rest): AsyncGenerator<string> {
  const slice = new TimeSlice(API_QUEUE);
  let part = begun;
  for (let at = from; at < list.length; at += 1) {
    if (part.length >= CHARACTERS_PER_PART) {
      yield part;
      part = '';
    }
    if (slice.isOver) await slice.next();
    part += itemText(list, at);
  }
  yield part + end;
}

function itemText(list: readonly JsonValue[], at: number): string {
  return `${at === 0 ? '' : ','}${JSON.stringify(list[at])}`;
}

function textAround(body: JsonObject, listName: string): { readonly start: string; readonly end: string } {
  const names = Object.keys(body);
  const at = names.indexOf(listName);
  const field = (name: string): string => `${JSON.stringify(name)}:${JSON.stringify(body[name])}`;
  const before = names.slice(0, at).map((name) => `${field(name)},`);
  const after = names.slice(at + 1).map((name) => `,${field(name)}`);
  return { start: `{${before.join('')}${JSON.stringify(listName)}:[`, end: `]${after.join('')}}` };
}

/** Long answers of the API and the console: together they take one slice per turn. */
export const API_QUEUE = new SliceQueue();
