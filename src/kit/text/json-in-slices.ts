import { type SliceQueue, TimeSlice } from '../async/slices.ts';
import { DoubledNameError } from '../json.ts';

/** About a millisecond. */
const BYTES_PER_STEP = 65_536;

/**
 * `JSON.parse` in slices: 64 MiB of it would take the event loop for a second. `parseText` parses a part, and may
 * reject more than JSON does. Throws a RangeError if the value is nested too deeply, has too many values, or a text
 * that is too long to be parsed in one turn.
 */
export async function parseJsonInSlices(
  queue: SliceQueue,
  bytes: Uint8Array,
  parseText: (text: string) => unknown,
): Promise<unknown> {
  const assembly = new JsonAssembly(bytes, parseText);
  const slice = new TimeSlice(queue);
  for (let at = 0; at < bytes.length; at += BYTES_PER_STEP) {
    assembly.scan(Math.min(at + BYTES_PER_STEP, bytes.length));
    if (slice.isOver) await slice.next();
  }
  return assembly.result();
}

/** An array or object whose end was not scanned yet. */
class OpenContainer {
  readonly start: number;
  readonly isArray: boolean;
  /** The container's first part was parsed: it will be put together from parts. */
  isDivided = false;
  /** The container waits for the value of a divided container inside it. */
  isHolding = false;
  /** That value was the last thing in it: a comma or its end must follow. */
  isAfterHeld = false;
  /** Everything before it was parsed. */
  partStart: number;
  lastComma: number;
  commas = 0;
  readonly value: unknown[] | Record<string, unknown>;
  #heldKey = '';

  constructor(start: number, isArray: boolean) {
    this.start = start;
    this.isArray = isArray;
    this.partStart = start + 1;
    this.lastComma = start;
    this.value = isArray ? [] : {};
  }

  append(part: unknown): void {
    if (Array.isArray(this.value)) for (const each of part as unknown[]) this.value.push(each);
    else {
      for (const name of Object.keys(part as object)) this.#refuseDoubled(name);
      Object.assign(this.value, part);
    }
  }

  startPart(at: number): void {
    this.partStart = at;
    this.isAfterHeld = false;
  }

  hold(key: string): void {
    this.isHolding = true;
    this.#heldKey = key;
  }

  attachHeld(value: unknown, end: number): void {
    if (Array.isArray(this.value)) this.value.push(value);
    else {
      // As the API's parser rejects them inside a part: they must not reach an object.
      if (
        this.#heldKey === '__proto__' ||
        (this.#heldKey === 'constructor' && Object.hasOwn(value as object, 'prototype'))
      )
        throw new SyntaxError('a name is not allowed');
      this.#refuseDoubled(this.#heldKey);
      this.value[this.#heldKey] = value;
    }
    this.isHolding = false;
    this.isAfterHeld = true;
    this.partStart = end;
    this.lastComma = end - 1;
  }

  /** Parts of one object are parsed apart. */
  #refuseDoubled(name: string): void {
    if (Object.hasOwn(this.value, name)) throw new DoubledNameError(name);
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
/** A container that is longer than this is assembled from parts. */
const PART_BYTES = 32_768;
/** A text or number cannot be divided. No other request may have a body of more than 1 MiB either. */
const MAX_VALUE_BYTES = 1_048_576 + PART_BYTES;
/** Far more than any document has. */
const MAX_DEPTH = 128;
/** 64 MiB of "{}," would become 1.7 GB. */
const MAX_VALUES = 4_000_000;
/** An object with 7 million names grew for 6 s in one turn. */
const MAX_MEMBERS = 50_000;

/**
 * Parses JSON while it is scanned. It only looks for the commas and brackets at which a long container can be divided;
 * `parseText` judges everything in between.
 */
class JsonAssembly {
  readonly #bytes: Uint8Array;
  readonly #parseText: (text: string) => unknown;
  /** A mark would otherwise be removed from the start of every part. */
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #open: OpenContainer[] = [];
  #at = 0;
  #isInText = false;
  #values = 0;
  #isDone = false;
  #result: unknown;

  constructor(bytes: Uint8Array, parseText: (text: string) => unknown) {
    this.#bytes = bytes;
    this.#parseText = parseText;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.#at = 3;
  }

  scan(end: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    while (at < end) {
      const byte = bytes[at] as number;
      if (this.#isInText) {
        if (byte === BACKSLASH) at += 1;
        else if (byte === QUOTE) this.#isInText = false;
      } else if (byte === ARRAY || byte === OBJECT) this.#begin(at, byte === ARRAY);
      else if (byte === ARRAY_END || byte === OBJECT_END) this.#end(at, byte === ARRAY_END);
      else if (byte === COMMA) this.#comma(at);
      else if (this.#open.length === 0) requireSpace(byte);
      else if (byte === QUOTE) this.#isInText = true;
      at += 1;
    }
    this.#at = at;
    const undivided = this.#open.find(({ isHolding }) => !isHolding);
    if (undivided !== undefined && at - undivided.partStart > MAX_VALUE_BYTES)
      throw new RangeError('the body has a single value of more than 1 MiB (1048576 bytes)');
  }

  result(): unknown {
    if (this.#isDone) return this.#result;
    throw new SyntaxError('the value is not complete');
  }

  #begin(at: number, isArray: boolean): void {
    if (this.#isDone) throw new SyntaxError('more than one value');
    if (this.#open.length === MAX_DEPTH) throw new RangeError(`the body is nested more than ${MAX_DEPTH} levels deep`);
    this.#countValue();
    this.#open.push(new OpenContainer(at, isArray));
  }

  #comma(at: number): void {
    const top = this.#open.at(-1);
    if (top === undefined) throw new SyntaxError('a comma outside of any container');
    this.#countValue();
    top.commas += 1;
    if (!top.isArray && top.commas >= MAX_MEMBERS)
      throw new RangeError(`the body has an object with more than ${MAX_MEMBERS} fields`);
    if (top.isAfterHeld) {
      this.#requireBlank(top.partStart, at);
      top.startPart(at + 1);
    } else if (at - top.partStart > PART_BYTES) {
      this.#divide();
      top.append(this.#part(top, top.partStart, at));
      top.startPart(at + 1);
    }
    top.lastComma = at;
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new RangeError(`the body has more than ${MAX_VALUES} values`);
  }

  #end(at: number, isArray: boolean): void {
    const top = this.#open.pop();
    if (top === undefined || top.isArray !== isArray) throw new SyntaxError('a bracket does not match');
    const parent = this.#open.at(-1);
    if (!top.isDivided) {
      if (parent !== undefined) return;
      this.#finish(this.#parseText(this.#text(top.start, at + 1)));
      return;
    }
    if (top.isAfterHeld) this.#requireBlank(top.partStart, at);
    else top.append(this.#part(top, top.partStart, at));
    if (parent === undefined) this.#finish(top.value);
    else parent.attachHeld(top.value, at + 1);
  }

  #finish(value: unknown): void {
    this.#isDone = true;
    this.#result = value;
  }

  /** The innermost container is too long: all around it are divided too, and wait for it. */
  #divide(): void {
    for (let at = this.#open.length - 1; at >= 0; at -= 1) {
      const container = this.#open[at] as OpenContainer;
      const child = this.#open[at + 1];
      if (container.isHolding) return;
      container.isDivided = true;
      if (child === undefined) continue;
      if (container.isAfterHeld) throw new SyntaxError('a comma is missing');
      const { partStart, lastComma } = container;
      if (lastComma >= partStart) container.append(this.#part(container, partStart, lastComma));
      const before = Math.max(partStart, lastComma + 1);
      if (container.isArray) this.#requireBlank(before, child.start);
      container.hold(container.isArray ? '' : this.#key(before, child.start));
    }
  }

  #part({ isArray }: OpenContainer, start: number, end: number): unknown {
    const text = this.#text(start, end);
    if (text.trim() === '') throw new SyntaxError('a value is missing');
    return this.#parseText(isArray ? `[${text}]` : `{${text}}`);
  }

  #key(start: number, end: number): string {
    const [key, ...more] = Object.keys(this.#parseText(`{${this.#text(start, end)}null}`) as object);
    if (key === undefined || more.length > 0) throw new SyntaxError('a name is missing');
    return key;
  }

  #requireBlank(start: number, end: number): void {
    if (!/^[ \t\n\r]*$/.test(this.#text(start, end))) throw new SyntaxError('a comma is missing');
  }

  #text(start: number, end: number): string {
    return this.#utf8.decode(this.#bytes.subarray(start, end));
  }
}

function requireSpace(byte: number): void {
  if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
    throw new SyntaxError('text outside of an object or array');
}
